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

/* A name that is set to something, here or by a setting. */
static bool
is_given(const run_options *options, const char *name)
{
    for (size_t i = 0; i < options->setting_count; i++) {
        if (same_name(name, options->settings[i])) {
            return true;
        }
    }
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

int
run_secret_add(run_options *options, run_secret *secret)
{
    unsigned char bytes[SECRET_BYTES];
    if (is_given(options, "RONDO_SECRET") || is_given(options, "RONDO_SECRET_FILE")) {
        return 0;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        perror("rondo-run: no random bytes for the job's secret");
        return RUN_EXIT_FAILURE;
    }
    char *setting = secret->setting;
    const size_t setting_size = sizeof(secret->setting);
    size_t length = (size_t)snprintf(setting, setting_size, "RONDO_SECRET=");
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(setting + length, setting_size - length, "%02x", bytes[i]);
        length += 2;
    }
    options->settings[options->setting_count++] = setting;
    return 0;
}

static bool
is_exported(const run_options *options, const char *variable)
{
    if (strncmp(variable, "RONDO_", 6) == 0) {
        return !same_name("RONDO_LAUNCHER", variable);
    }
    for (size_t i = 0; i < options->export_count; i++) {
        if (same_name(options->exports[i], variable)) {
            return true;
        }
    }
    return false;
}

int
run_settings_gather(run_options *options)
{
    for (size_t i = 0; i < options->export_count; i++) {
        if (getenv(options->exports[i]) == NULL) {
            fprintf(stderr, "rondo-run: --export: %s is not set here\n",
                    options->exports[i]);
            return RUN_EXIT_USAGE;
        }
    }
    size_t inherited = 0;
    while (environ[inherited] != NULL) {
        inherited++;
    }
    /* Room for a secret and an interface as well. */
    char **settings = calloc(inherited + options->setting_count + 4, sizeof(char *));
    if (settings == NULL) {
        fputs("rondo-run: out of memory\n", stderr);
        return RUN_EXIT_FAILURE;
    }
    size_t count = 0;
    for (size_t i = 0; i < inherited; i++) {
        if (is_exported(options, environ[i])) {
            settings[count++] = environ[i];
        }
    }
    options->gathered = count;
    for (size_t i = 0; i < options->setting_count; i++) {
        settings[count++] = options->settings[i];
    }
    free(options->settings);
    options->settings = settings;
    options->setting_count = count;
    return 0;
}

static void
write_texts(run_environment *e, const run_options *options, const run_place *place)
{
    snprintf(e->rank, sizeof(e->rank), "RANK=");
    snprintf(e->local_rank, sizeof(e->local_rank), "LOCAL_RANK=");
    snprintf(e->world_size, sizeof(e->world_size), "WORLD_SIZE=%u", place->world);
    snprintf(e->local_world_size, sizeof(e->local_world_size), "LOCAL_WORLD_SIZE=%u",
             options->nranks);
    snprintf(e->group, sizeof(e->group), "GROUP_RANK=%u", place->group);
    snprintf(e->port, sizeof(e->port), "MASTER_PORT=%u", place->port);
    snprintf(e->master, sizeof(e->master), "MASTER_ADDR=%s", place->master);
    e->first = place->first;
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
run_environment_make(const run_options *options, const run_place *place,
                     run_environment *environment)
{
    static char launcher[] = "RONDO_LAUNCHER=rondo-run";
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
    write_texts(e, options, place);
    size_t count = inherit(e);
    char *const own[] = {
        e->world_size, e->local_world_size, e->group, e->port, launcher, e->master};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        put(e->variables, &count, own[i]);
    }
    for (size_t i = 0; i < options->setting_count; i++) {
        put(e->variables, &count, options->settings[i]);
    }
    return 0;
}

char **
run_environment_for_rank(run_environment *environment, uint32_t local)
{
    run_environment *e = environment;
    snprintf(e->rank, sizeof(e->rank), "RANK=%u", e->first + local);
    snprintf(e->local_rank, sizeof(e->local_rank), "LOCAL_RANK=%u", local);
    return e->variables;
}
