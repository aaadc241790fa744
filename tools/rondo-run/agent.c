/* agent.c - makes the agent's command line from its template and starts it. */
#include "agent.h"

#include "program.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char placeholder[] = "{host}";

/* The words of a command line as they are cut from the template. */
typedef struct word_cutter {
    char **words;
    size_t count;
    char *to; /* where the next byte goes */
    bool named;
} word_cutter;

/* One word, up to a blank outside quotes; returns where it ends, null without end
 * quote. */
static const char *
cut_word(word_cutter *cutter, const char *from, const char *host)
{
    char quote = '\0';
    cutter->words[cutter->count++] = cutter->to;
    for (; *from != '\0'; from++) {
        if (quote == '\0' && (*from == ' ' || *from == '\t')) {
            break;
        }
        if (quote == '\0' && (*from == '\'' || *from == '"')) {
            quote = *from;
        } else if (quote != '\0' && *from == quote) {
            quote = '\0';
        } else if (strncmp(from, placeholder, sizeof(placeholder) - 1) == 0) {
            cutter->to = stpcpy(cutter->to, host);
            cutter->named = true;
            from += sizeof(placeholder) - 2;
        } else {
            *cutter->to++ = *from;
        }
    }
    *cutter->to++ = '\0';
    return quote == '\0' ? from : NULL;
}

char **
run_agent_words(const char *template, const char *host, const char *remote,
                run_reason *reason)
{
    static char on_host[] = "--on-host";
    const size_t length = strlen(template);
    const size_t places = length + 4;
    /* Each {host} is 6 bytes long and becomes the host; then come ends and remote. */
    const size_t bytes = 2 * length + (length / 6 + 1) * strlen(host) + strlen(remote);
    char **words = calloc(1, places * sizeof(char *) + bytes + 2);
    if (words == NULL) {
        snprintf(reason->text, sizeof(reason->text), "out of memory");
        return NULL;
    }
    word_cutter cutter = {.words = words, .to = (char *)(words + places)};
    const char *from = template;
    while (from != NULL && *(from += strspn(from, " \t")) != '\0') {
        from = cut_word(&cutter, from, host);
    }
    if (from == NULL || !cutter.named) {
        snprintf(reason->text, sizeof(reason->text), "--agent '%.400s' %s", template,
                 from == NULL ? "has a quote without its end"
                              : "does not say where {host} goes");
        free(words);
        return NULL;
    }
    words[cutter.count++] = strcpy(cutter.to, remote);
    words[cutter.count++] = on_host;
    return words;
}

int
run_agent_remote(const run_options *options, char *path, size_t path_size,
                 run_reason *reason)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._+-@%:,";
    int length = -1;
    if (options->remote != NULL) {
        length = snprintf(path, path_size, "%s", options->remote);
    } else {
        char folder[PATH_MAX];
        if (run_own_folder(folder, sizeof(folder))) {
            length = snprintf(path, path_size, "%s/rondo-run", folder);
        }
    }
    if (length <= 0 || (size_t)length >= path_size ||
        path[strspn(path, plain)] != '\0') {
        snprintf(reason->text, sizeof(reason->text),
                 "the path of rondo-run on the hosts, '%.600s', has bytes that a shell "
                 "there may read differently: --remote-path can name another",
                 path);
        return RUN_EXIT_USAGE;
    }
    return 0;
}

/* Our variables but the secret: the agent has no use for it. */
static char **
own_variables(void)
{
    size_t count = 0;
    size_t kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **variables = calloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count && variables != NULL; i++) {
        if (strncmp(environ[i], "RONDO_SECRET=", 13) != 0) {
            variables[kept++] = environ[i];
        }
    }
    return variables;
}

/* Our end of a pipe and the agent's; 0 or an errno. */
static int
open_pipe(int *reader, int *writer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    *reader = ends[0];
    *writer = ends[1];
    return 0;
}

static void
close_if_open(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

int
run_agent_start(char **words, const sigset_t *mask, run_agent *agent)
{
    char path[PATH_MAX];
    run_reason unused = {""};
    *agent = (run_agent){.input = -1, .output = -1, .errors = -1};
    if (run_program_find(words[0], path, sizeof(path), &unused) != 0) {
        return ENOENT;
    }
    run_start start = {.path = path,
                       .arguments = words,
                       .variables = own_variables(),
                       .input = -1,
                       .output = -1,
                       .errors = -1,
                       .stays = true,
                       .mask = *mask};
    int error = start.variables == NULL ? ENOMEM : 0;
    error = error != 0 ? error : open_pipe(&start.input, &agent->input);
    error = error != 0 ? error : open_pipe(&agent->output, &start.output);
    error = error != 0 ? error : open_pipe(&agent->errors, &start.errors);
    if (error == 0 && (fcntl(agent->output, F_SETFL, O_NONBLOCK) != 0 ||
                       fcntl(agent->errors, F_SETFL, O_NONBLOCK) != 0 ||
                       getrlimit(RLIMIT_NOFILE, &start.descriptors) != 0)) {
        error = errno;
    }
    if (error == 0) {
        error = run_spawn(&start, &agent->pid);
    }
    free(start.variables);
    close_if_open(start.input);
    close_if_open(start.output);
    close_if_open(start.errors);
    if (error != 0) {
        close_if_open(agent->input);
        close_if_open(agent->output);
        close_if_open(agent->errors);
    }
    return error;
}
