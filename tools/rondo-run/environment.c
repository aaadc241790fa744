/* environment.c - rondo-run's own variables, --env, and what was there before. */
#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Enough that nobody guesses it while the job runs, and it fits a hash's key. */
#define SECRET_BYTES 32

static bool
is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

static int
make_secret(char *setting, size_t setting_size)
{
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        perror("rondo-run: no random bytes for the job's secret");
        return RUN_EXIT_FAILURE;
    }
    size_t length = (size_t)snprintf(setting, setting_size, "RONDO_SECRET=");
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(setting + length, setting_size - length, "%02x", bytes[i]);
        length += 2;
    }
    return 0;
}

static bool
same_name(const char *left, const char *right)
{
    const size_t length = strcspn(left, "=");
    return strncmp(left, right, length) == 0 &&
           (right[length] == '=' || right[length] == '\0');
}

/* A later setting of a name replaces the earlier one. */
static void
put(char **variables, size_t *count, char *setting)
{
    for (size_t i = 0; i < *count; i++) {
        if (same_name(setting, variables[i])) {
            variables[i] = setting;
            return;
        }
    }
    variables[(*count)++] = setting;
}

/* TORCHELASTIC_USE_AGENT_STORE says that MASTER_PORT is torchrun's; ours is not. */
static bool
is_foreign(const char *setting)
{
    return same_name("TORCHELASTIC_USE_AGENT_STORE", setting);
}

static void
write_texts(run_environment *e, uint32_t nranks, uint32_t port)
{
    snprintf(e->rank, sizeof(e->rank), "RANK=");
    snprintf(e->local_rank, sizeof(e->local_rank), "LOCAL_RANK=");
    snprintf(e->world_size, sizeof(e->world_size), "WORLD_SIZE=%u", nranks);
    snprintf(e->local_world_size, sizeof(e->local_world_size), "LOCAL_WORLD_SIZE=%u",
             nranks);
    snprintf(e->port, sizeof(e->port), "MASTER_PORT=%u", port);
}

/* This rank's two come first, then what was there before; returns how many. */
static size_t
inherit(run_environment *e)
{
    size_t count = 0;
    e->variables[count++] = e->rank;
    e->variables[count++] = e->local_rank;
    for (size_t i = 0; environ[i] != NULL; i++) {
        if (!is_foreign(environ[i]) && !same_name(e->rank, environ[i]) &&
            !same_name(e->local_rank, environ[i])) {
            e->variables[count++] = environ[i];
        }
    }
    return count;
}

int
run_environment_make(const run_options *options, uint32_t port,
                     run_environment *environment)
{
    static char launcher[] = "RONDO_LAUNCHER=rondo-run";
    static char address[] = "MASTER_ADDR=127.0.0.1";
    run_environment *e = environment;
    size_t inherited = 0;
    while (environ[inherited] != NULL) {
        inherited++;
    }
    e->variables = calloc(inherited + options->setting_count + 16, sizeof(char *));
    if (e->variables == NULL) {
        fputs("rondo-run: out of memory\n", stderr);
        return RUN_EXIT_FAILURE;
    }
    write_texts(e, options->nranks, port);
    size_t count = inherit(e);
    char *const own[] = {e->world_size, e->local_world_size, e->port, launcher,
                         address};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        put(e->variables, &count, own[i]);
    }
    if (!is_set("RONDO_SECRET") && !is_set("RONDO_SECRET_FILE")) {
        const int code = make_secret(e->secret, sizeof(e->secret));
        if (code != 0) {
            return code;
        }
        put(e->variables, &count, e->secret);
    }
    for (size_t i = 0; i < options->setting_count; i++) {
        put(e->variables, &count, options->settings[i]);
    }
    return 0;
}

char **
run_environment_for_rank(run_environment *environment, uint32_t rank)
{
    run_environment *e = environment;
    snprintf(e->rank, sizeof(e->rank), "RANK=%u", rank);
    snprintf(e->local_rank, sizeof(e->local_rank), "LOCAL_RANK=%u", rank);
    return e->variables;
}
