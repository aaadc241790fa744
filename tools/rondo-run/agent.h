/* agent.h - the command that reaches a host, and its process. */
#ifndef RONDO_RUN_AGENT_H
#define RONDO_RUN_AGENT_H

#include "options.h"

#include <signal.h>
#include <sys/types.h>

/* Used when --agent is not given. No terminal and no questions: nobody could answer. */
#define RUN_AGENT_SSH                                                        \
    "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 " \
    "-o ServerAliveCountMax=3 {host}"

/* A running agent; our ends of its three streams. */
typedef struct run_agent {
    pid_t pid;
    int input;
    int output;
    int errors;
} run_agent;

/*
 * run_agent_words - the command line for `host`: the template's words with {host}
 * replaced, then `remote` and --on-host. Null at the end; one allocation for it all.
 *
 * Returns null when the template has no {host} or a quote without end, or there is no
 * memory; the reason says which.
 */
char **
run_agent_words(const char *template, const char *host, const char *remote,
                run_reason *reason);

/* run_agent_remote - the path of rondo-run on the hosts. Agents like ssh give it to a
 * shell, so a path that a shell would read differently is refused. 0 or the exit
 * code. */
int
run_agent_remote(const run_options *options, char *path, size_t path_size,
                 run_reason *reason);

/*
 * run_agent_start - in a process group of its own, so that Ctrl-C is ours to pass on.
 * It has our environment without the secret; it ends when its input does, so it need
 * not die with us at once. 0 or an errno.
 */
int
run_agent_start(char **words, const sigset_t *mask, run_agent *agent);

#endif /* RONDO_RUN_AGENT_H */
