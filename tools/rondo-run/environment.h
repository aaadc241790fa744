/* environment.h - the variables each rank gets. */
#ifndef RONDO_RUN_ENVIRONMENT_H
#define RONDO_RUN_ENVIRONMENT_H

#include "options.h"

typedef struct run_environment {
    char **variables; /* null at the end; the first two are this rank's */
    char rank[32];
    char local_rank[32];
    char world_size[32];
    char local_world_size[32];
    char port[32];
    char secret[96];
} run_environment;

/*
 * run_environment_make - everything but the rank; once per job.
 *
 * Returns 0 or RUN_EXIT_FAILURE (said already).
 */
int
run_environment_make(const run_options *options, uint32_t port,
                     run_environment *environment);

/* run_environment_for_rank - the variables for `rank`; valid until the next call. */
char **
run_environment_for_rank(run_environment *environment, uint32_t rank);

#endif /* RONDO_RUN_ENVIRONMENT_H */
