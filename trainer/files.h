/* files.h - files that each rank writes beside those of rank 0: their names. */
#ifndef TRAINER_FILES_H
#define TRAINER_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Rank 0's is `path`; for rank 3, ".rank3" stands before its extension. False where
 * that is too long. */
bool
files_of_rank(const char *path, uint32_t rank, char result[PATH_MAX]);

/* Neither a device nor a pipe, so that other names can stand beside it. */
bool
files_plain(const char *path);

#endif
