/* spawn.h - starts one rank. */
#ifndef RONDO_RUN_SPAWN_H
#define RONDO_RUN_SPAWN_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* How one rank is to be started; descriptors of -1 are left as they are. */
typedef struct run_start {
    const char *path;
    char **arguments;
    char **variables;
    int input;
    int output;
    int errors;
    bool stays;                  /* does not die with rondo-run */
    const cpu_set_t *processors; /* null: not bound */
    sigset_t mask;               /* as it was when rondo-run was started */
    struct rlimit descriptors;
} run_start;

/*
 * run_spawn - a new process in a process group of its own, which dies with rondo-run
 * unless it stays.
 *
 * Returns 0 and sets `pid`, or the errno of what failed; the process is gone then.
 */
int
run_spawn(const run_start *start, pid_t *pid);

#endif /* RONDO_RUN_SPAWN_H */
