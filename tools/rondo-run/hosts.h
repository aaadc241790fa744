/* hosts.h - the hosts of a job, as the file of --hosts names them. */
#ifndef RONDO_RUN_HOSTS_H
#define RONDO_RUN_HOSTS_H

#include "options.h"

#define RUN_HOSTS_MAX 1024

typedef struct run_host {
    char name[256];     /* as the agent is given it: "node1", "me@node1" */
    char interface[64]; /* RONDO_INTERFACE there; "": not said */
    uint32_t slots;
    uint32_t line;   /* of the file */
    uint32_t first;  /* its first rank */
    uint32_t nranks; /* how many it has */
} run_host;

typedef struct run_hosts {
    const char *path;
    run_host *hosts;
    uint32_t count;
} run_hosts;

/*
 * run_hosts_read - the hosts of `path`: a host a line, then optional slots=N and
 * interface=NAMES; # begins a comment.
 *
 * Returns 0, or the exit code with which to end (said already).
 */
int
run_hosts_read(const char *path, run_hosts *hosts);

/*
 * run_hosts_fill - give each host its ranks, in order: as many as it has slots, or
 * `options->per_host`. Hosts that get none are dropped. A number of ranks that was not
 * given becomes as many as there is room for.
 *
 * Returns 0, or the exit code with which to end (said already).
 */
int
run_hosts_fill(run_hosts *hosts, run_options *options);

/* run_host_label - its name for people and for the network: without "me@". */
const char *
run_host_label(const run_host *host);

#endif /* RONDO_RUN_HOSTS_H */
