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

/* Why something cannot be: a sentence without "rondo-run: ". */
typedef struct run_reason {
    char text[1024];
} run_reason;

typedef enum run_bind { RUN_BIND_SHARE, RUN_BIND_NONE, RUN_BIND_CORE } run_bind;

typedef struct run_options {
    uint32_t nranks; /* 0 with --hosts: as many as there is room for */
    bool prefix;
    bool json;
    run_bind bind;
    uint32_t port;       /* 0: one that is free */
    uint64_t grace_ms;   /* for the rest to end by themselves */
    uint64_t timeout_ms; /* of the whole job; 0: none */
    char **settings;     /* NAME=VALUE from --env, in order */
    size_t setting_count;
    char **command; /* program and arguments, null at the end */

    const char *hosts;  /* the file of --hosts; null: this machine */
    uint32_t per_host;  /* ranks of each host; 0: as many as it has slots */
    const char *agent;  /* template of the command that reaches a host */
    const char *master; /* address of the first host; null: found out */
    const char *remote; /* path of rondo-run on the hosts; null: as here */
    uint64_t answer_ms; /* for all hosts to answer */
    char **exports;     /* names from --export */
    size_t export_count;
    size_t gathered; /* how many of the settings are our own variables */
    bool on_host;    /* started by another rondo-run through an agent */
} run_options;

/* As --bind spells them. */
extern const char *const run_bind_names[];

/* run_bind_find - the value of a name; false: there is none. */
bool
run_bind_find(const char *name, run_bind *bind);

/* run_number - a whole number in [least, most]; false: it is not. */
bool
run_number(const char *text, uint32_t least, uint32_t most, uint32_t *number);

/*
 * run_options_parse - read the command line.
 *
 * Returns RUN_GO_ON, or the exit code with which to end now (help, version, misuse;
 * said already). What is allocated stays for the life of the process.
 */
int
run_options_parse(int argc, char **argv, run_options *options);

/* The text of --help. */
extern const char run_help_text[];

#endif /* RONDO_RUN_OPTIONS_H */
