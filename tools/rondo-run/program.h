/* program.h - where the program to run is. */
#ifndef RONDO_RUN_PROGRAM_H
#define RONDO_RUN_PROGRAM_H

#include "options.h"

/*
 * run_program_find - the path of `name`: as it is if it has a slash, else beside
 * rondo-run, else in PATH.
 *
 * Returns 0, or the exit code with which to end, and the sentence to say.
 */
int
run_program_find(const char *name, char *path, size_t path_size, run_reason *reason);

/* run_own_folder - where rondo-run itself is; false: the system does not say. */
bool
run_own_folder(char *folder, size_t folder_size);

#endif /* RONDO_RUN_PROGRAM_H */
