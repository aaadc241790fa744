/* environment.h - the variables each rank gets. */
#ifndef RONDO_RUN_ENVIRONMENT_H
#define RONDO_RUN_ENVIRONMENT_H

#include "options.h"

/* Which part of the job is here; all of it in a job of one host. */
typedef struct run_place {
    uint32_t first; /* the first rank that is here */
    uint32_t world; /* ranks of the whole job */
    uint32_t group; /* number of this host */
    uint32_t port;  /* MASTER_PORT */
    char master[256];
} run_place;

typedef struct run_environment {
    char **variables; /* null at the end; the first two are this rank's */
    uint32_t first;   /* rank of local rank 0 */
    char rank[32];
    char local_rank[32];
    char world_size[32];
    char local_world_size[32];
    char group[32];
    char port[32];
    char master[288];
} run_environment;

/* A secret of the job as a setting: "RONDO_SECRET=...". */
typedef struct run_secret {
    char setting[96];
} run_secret;

/* run_secret_add - a new secret among the settings, unless one is given by a setting or
 * the environment. 0 or RUN_EXIT_FAILURE (said already). */
int
run_secret_add(run_options *options, run_secret *secret);

/* run_settings_gather - for hosts other than this one: all RONDO_ variables of ours and
 * those named by --export go in front of the settings. 0 or the exit code (said). */
int
run_settings_gather(run_options *options);

/*
 * run_environment_make - everything but the rank; once per job.
 *
 * Returns 0 or RUN_EXIT_FAILURE (said already).
 */
int
run_environment_make(const run_options *options, const run_place *place,
                     run_environment *environment);

/* run_environment_for_rank - the variables for the rank that is number `local` here;
 * valid until the next call. */
char **
run_environment_for_rank(run_environment *environment, uint32_t local);

#endif /* RONDO_RUN_ENVIRONMENT_H */
