/* files.c - the names of files that each rank writes (see files.h). */
#include "files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool
files_beside(const char *path, uint32_t rank, char result[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    /* A dot in front makes a hidden file, not an extension. */
    const char *extension = dot != NULL && dot != base ? dot : path + strlen(path);
    const int length = snprintf(result, PATH_MAX, "%.*s.rank%u%s",
                                (int)(extension - path), path, rank, extension);
    return length > 0 && length < PATH_MAX;
}

bool
files_plain(const char *path)
{
    struct stat about;
    return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}
