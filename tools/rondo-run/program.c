/* program.c - looks for the program beside rondo-run, then in PATH. */
#include "program.h"

#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or the reason why it cannot be executed. */
static int
executable_error(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return errno;
    }
    if (S_ISDIR(facts.st_mode)) {
        return EISDIR;
    }
    return access(path, X_OK) == 0 ? 0 : errno;
}

static bool
join(const char *folder, size_t folder_length, const char *name, char *path,
     size_t path_size)
{
    /* An empty entry of PATH means the current folder. */
    const char *base = folder_length == 0 ? "." : folder;
    const int base_length = folder_length == 0 ? 1 : (int)folder_length;
    const int length = snprintf(path, path_size, "%.*s/%s", base_length, base, name);
    return length > 0 && (size_t)length < path_size;
}

bool
run_own_folder(char *folder, size_t folder_size)
{
    const ssize_t length = readlink("/proc/self/exe", folder, folder_size - 1);
    if (length <= 0) {
        return false;
    }
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

/* 0 when found; ENOENT, or the reason a file of that name could not be executed. */
static int
search_path_variable(const char *name, char *path, size_t path_size)
{
    const char *rest = getenv("PATH");
    int reason = ENOENT;
    while (rest != NULL) {
        const char *colon = strchr(rest, ':');
        const size_t length = colon != NULL ? (size_t)(colon - rest) : strlen(rest);
        if (join(rest, length, name, path, path_size)) {
            const int error = executable_error(path);
            if (error == 0) {
                return 0;
            }
            if (error == EACCES) {
                reason = error;
            }
        }
        rest = colon != NULL ? colon + 1 : NULL;
    }
    return reason;
}

static int
refuse(const char *name, int error, run_reason *reason)
{
    snprintf(reason->text, sizeof(reason->text), "cannot execute '%.600s': %s", name,
             strerror(error));
    return error == ENOENT || error == ENOTDIR ? RUN_EXIT_NOT_FOUND
                                               : RUN_EXIT_CANNOT_EXECUTE;
}

int
run_program_find(const char *name, char *path, size_t path_size, run_reason *reason)
{
    if (strchr(name, '/') != NULL) {
        if (strlen(name) >= path_size) {
            return refuse(name, ENAMETOOLONG, reason);
        }
        strcpy(path, name);
        const int error = executable_error(path);
        return error == 0 ? 0 : refuse(name, error, reason);
    }
    char folder[PATH_MAX] = "";
    if (run_own_folder(folder, sizeof(folder)) &&
        join(folder, strlen(folder), name, path, path_size) &&
        executable_error(path) == 0) {
        return 0;
    }
    const int error = search_path_variable(name, path, path_size);
    if (error == ENOENT) {
        snprintf(reason->text, sizeof(reason->text),
                 "cannot find '%.400s' in %.400s or in PATH", name, folder);
        return RUN_EXIT_NOT_FOUND;
    }
    return error == 0 ? 0 : refuse(name, error, reason);
}
