/* files.h - files that ranks write beside the one that was asked for: their names. */
#ifndef TRAINER_FILES_H
#define TRAINER_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* For rank 3, ".rank3" stands before the extension. False where that is too long. */
bool
files_beside(const char *path, uint32_t rank, char result[PATH_MAX]);

/* Neither a device nor a pipe, so that other names can stand beside it. */
bool
files_plain(const char *path);

#endif
