/* problem.h - why something failed: one sentence for the user, and the exit code that
 * goes with it. A function that can fail returns false and fills this in, its last
 * argument; whoever called passes it up unchanged, and main prints it. */
#ifndef TRAINER_PROBLEM_H
#define TRAINER_PROBLEM_H

#include <stdbool.h>

#define TRAINER_MUST_USE __attribute__((warn_unused_result))

/* Exit codes, part of the program's interface. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct problem {
    int exit_code;
    bool known_to_all; /* All ranks fail for this reason: one of them says it. */
    char text[1024];
} problem;

/* Both always return false, so that a caller can write `return problem_fail(...)`. */
bool
problem_fail(problem *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool
problem_usage(problem *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
