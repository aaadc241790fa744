/* options.h - what the command line of rondo-run asks for. */
#ifndef RONDO_RUN_OPTIONS_H
#define RONDO_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of rondo-run itself; otherwise it returns the first failing rank's. */
#define RUN_EXIT_FAILURE        1
#define RUN_EXIT_USAGE          2
#define RUN_EXIT_TIMEOUT        124
#define RUN_EXIT_CANNOT_EXECUTE 126
#define RUN_EXIT_NOT_FOUND      127

/* run_options_parse found a command to run. */
#define RUN_GO_ON (-1)

#define RUN_RANKS_MAX 4096

typedef enum run_bind { RUN_BIND_SHARE, RUN_BIND_NONE, RUN_BIND_CORE } run_bind;

typedef struct run_options {
    uint32_t nranks;
    bool prefix;
    bool json;
    run_bind bind;
    uint32_t port;       /* 0: one that is free */
    uint64_t grace_ms;   /* for the rest to end by themselves */
    uint64_t timeout_ms; /* of the whole job; 0: none */
    char **settings;     /* NAME=VALUE from --env, in order */
    size_t setting_count;
    char **command; /* program and arguments, null at the end */
} run_options;

/*
 * run_options_parse - read the command line.
 *
 * Returns RUN_GO_ON, or the exit code with which to end now (help, version, misuse;
 * said already). `settings` is allocated once for the life of the process.
 */
int
run_options_parse(int argc, char **argv, run_options *options);

#endif /* RONDO_RUN_OPTIONS_H */
