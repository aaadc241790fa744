/* program.h - where the program to run is. */
#ifndef RONDO_RUN_PROGRAM_H
#define RONDO_RUN_PROGRAM_H

#include <stddef.h>

/*
 * run_program_find - the path of `name`: as it is if it has a slash, else beside
 * rondo-run, else in PATH.
 *
 * Returns 0, or the exit code with which to end (said already).
 */
int
run_program_find(const char *name, char *path, size_t path_size);

#endif /* RONDO_RUN_PROGRAM_H */
