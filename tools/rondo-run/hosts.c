/* hosts.c - reads the hosts file and deals ranks to hosts. */
#include "hosts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int __attribute__((format(printf, 3, 4)))
refuse(const char *path, uint32_t line, const char *format, ...)
{
    va_list values;
    fprintf(stderr, "rondo-run: %s:%u: ", path, line);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    return RUN_EXIT_USAGE;
}

const char *
run_host_label(const run_host *host)
{
    const char *at = strrchr(host->name, '@');
    return at != NULL ? at + 1 : host->name;
}

static bool
copy(const char *text, char *to, size_t to_size)
{
    const int length = snprintf(to, to_size, "%s", text);
    return length > 0 && (size_t)length < to_size;
}

/* One slots= or interface= of a line. */
static int
take_word(const run_hosts *hosts, const char *word, run_host *host)
{
    if (strncmp(word, "slots=", 6) == 0) {
        if (!run_number(word + 6, 1, RUN_RANKS_MAX, &host->slots)) {
            return refuse(hosts->path, host->line,
                          "slots= needs a number from 1 to %d, not '%s'", RUN_RANKS_MAX,
                          word + 6);
        }
        return 0;
    }
    if (strncmp(word, "interface=", 10) == 0) {
        if (!copy(word + 10, host->interface, sizeof(host->interface))) {
            return refuse(hosts->path, host->line,
                          "interface= needs a name of at most 63 bytes, not '%s'",
                          word + 10);
        }
        return 0;
    }
    return refuse(hosts->path, host->line,
                  "after the host come slots=N and interface=NAMES, not '%s'", word);
}

/* The name goes into the agent's command line: it must not be taken for an option. */
static int
take_name(const run_hosts *hosts, const char *name, run_host *host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-:@%+";
    if (name[0] == '-' || name[strspn(name, allowed)] != '\0') {
        return refuse(hosts->path, host->line, "'%s' is not the name of a host", name);
    }
    if (!copy(name, host->name, sizeof(host->name)) || *run_host_label(host) == '\0') {
        return refuse(hosts->path, host->line, "the name of a host has 1 to 255 bytes");
    }
    for (uint32_t i = 0; i < hosts->count; i++) {
        if (strcmp(hosts->hosts[i].name, name) == 0) {
            return refuse(hosts->path, host->line,
                          "%s is in line %u already: give it slots=N there", name,
                          hosts->hosts[i].line);
        }
    }
    return 0;
}

static int
take_line(run_hosts *hosts, char *text, uint32_t line)
{
    static const char blanks[] = " \t\r\n";
    text[strcspn(text, "#")] = '\0';
    char *rest = NULL;
    const char *word = strtok_r(text, blanks, &rest);
    if (word == NULL) {
        return 0;
    }
    if (hosts->count == RUN_HOSTS_MAX) {
        return refuse(hosts->path, line, "more than %d hosts", RUN_HOSTS_MAX);
    }
    run_host *host = &hosts->hosts[hosts->count];
    *host = (run_host){.slots = 1, .line = line};
    int code = take_name(hosts, word, host);
    word = strtok_r(NULL, blanks, &rest);
    while (code == 0 && word != NULL) {
        code = take_word(hosts, word, host);
        word = strtok_r(NULL, blanks, &rest);
    }
    hosts->count += code == 0 ? 1 : 0;
    return code;
}

int
run_hosts_read(const char *path, run_hosts *hosts)
{
    *hosts = (run_hosts){.path = path};
    hosts->hosts = calloc(RUN_HOSTS_MAX, sizeof(run_host));
    FILE *file = fopen(path, "re");
    if (file == NULL || hosts->hosts == NULL) {
        fprintf(stderr, "rondo-run: cannot read the hosts file %s: %s\n", path,
                strerror(errno));
        return RUN_EXIT_USAGE;
    }
    char *text = NULL;
    size_t size = 0;
    int code = 0;
    for (uint32_t line = 1; code == 0 && getline(&text, &size, file) >= 0; line++) {
        code = take_line(hosts, text, line);
    }
    free(text);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        fprintf(stderr, "rondo-run: cannot read the hosts file %s\n", path);
        return RUN_EXIT_USAGE;
    }
    if (code == 0 && hosts->count == 0) {
        fprintf(stderr, "rondo-run: the hosts file %s names no host\n", path);
        return RUN_EXIT_USAGE;
    }
    return code;
}

int
run_hosts_fill(run_hosts *hosts, run_options *options)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < hosts->count; i++) {
        run_host *host = &hosts->hosts[i];
        host->slots = options->per_host > 0 ? options->per_host : host->slots;
        room += host->slots;
    }
    if (options->nranks == 0) {
        options->nranks = room;
    }
    if (options->nranks > room) {
        fprintf(stderr,
                "rondo-run: %u ranks, but the hosts in %s have room for %u: see slots= "
                "and --per-host\n",
                options->nranks, hosts->path, room);
        return RUN_EXIT_USAGE;
    }
    if (options->nranks > RUN_RANKS_MAX) {
        fprintf(stderr, "rondo-run: %u ranks in %s; %d are the most\n", options->nranks,
                hosts->path, RUN_RANKS_MAX);
        return RUN_EXIT_USAGE;
    }
    uint32_t dealt = 0;
    uint32_t used = 0;
    for (; dealt < options->nranks; used++) {
        run_host *host = &hosts->hosts[used];
        const uint32_t left = options->nranks - dealt;
        host->first = dealt;
        host->nranks = host->slots < left ? host->slots : left;
        dealt += host->nranks;
    }
    hosts->count = used;
    return 0;
}
