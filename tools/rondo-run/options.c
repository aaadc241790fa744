/* options.c - the command line of rondo-run. */
#include "options.h"

#include <rondo/version.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_GRACE = 256,
    OPT_PORT,
    OPT_TIMEOUT,
    OPT_ENV,
    OPT_BIND,
    OPT_JSON,
    OPT_HOSTS,
    OPT_PER_HOST,
    OPT_AGENT,
    OPT_ANSWER,
    OPT_MASTER,
    OPT_EXPORT,
    OPT_REMOTE,
    OPT_ON_HOST
};

static const struct option long_options[] = {
    {"np", required_argument, NULL, 'n'},
    {"prefix", no_argument, NULL, 'p'},
    {"grace", required_argument, NULL, OPT_GRACE},
    {"port", required_argument, NULL, OPT_PORT},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"env", required_argument, NULL, OPT_ENV},
    {"bind", required_argument, NULL, OPT_BIND},
    {"json", no_argument, NULL, OPT_JSON},
    {"hosts", required_argument, NULL, OPT_HOSTS},
    {"per-host", required_argument, NULL, OPT_PER_HOST},
    {"agent", required_argument, NULL, OPT_AGENT},
    {"answer", required_argument, NULL, OPT_ANSWER},
    {"master-addr", required_argument, NULL, OPT_MASTER},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"remote-path", required_argument, NULL, OPT_REMOTE},
    {"on-host", no_argument, NULL, OPT_ON_HOST},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

const char *const run_bind_names[] = {"share", "none", "core"};

static int
misuse(const char *what, const char *value)
{
    if (value != NULL) {
        fprintf(stderr, "rondo-run: %s, not '%s'\n", what, value);
    } else {
        fprintf(stderr, "rondo-run: %s\n", what);
    }
    fputs("rondo-run: see rondo-run --help\n", stderr);
    return RUN_EXIT_USAGE;
}

bool
run_number(const char *text, uint32_t least, uint32_t most, uint32_t *number)
{
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    char *end = NULL;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < least || value > most) {
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

/* Seconds with a fraction; a year is the most, so that nothing overflows later. */
static bool
parse_seconds(const char *text, uint64_t *milliseconds)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(seconds)) {
        return false;
    }
    if (seconds < 0.0 || seconds > 366.0 * 86400.0) {
        return false;
    }
    *milliseconds = (uint64_t)(seconds * 1000.0 + 0.5);
    return true;
}

/* What makes a rank a rank is rondo-run's to set. */
static bool
is_reserved(const char *setting, size_t name_length)
{
    static const char *const names[] = {"RANK",       "WORLD_SIZE",
                                        "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                        "GROUP_RANK", "RONDO_LAUNCHER"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == name_length &&
            strncmp(names[i], setting, name_length) == 0) {
            return true;
        }
    }
    return false;
}

static int
take_setting(char *setting, run_options *options)
{
    const char *equals = strchr(setting, '=');
    if (equals == NULL || equals == setting) {
        return misuse("--env needs NAME=VALUE", setting);
    }
    if (is_reserved(setting, (size_t)(equals - setting))) {
        return misuse("--env may not set what rondo-run sets for each rank", setting);
    }
    options->settings[options->setting_count++] = setting;
    return RUN_GO_ON;
}

bool
run_bind_find(const char *name, run_bind *bind)
{
    for (run_bind one = RUN_BIND_SHARE; one <= RUN_BIND_CORE; one++) {
        if (strcmp(run_bind_names[one], name) == 0) {
            *bind = one;
            return true;
        }
    }
    return false;
}

/* Names, apart by commas. */
static int
take_exports(char *value, run_options *options)
{
    char *rest = NULL;
    size_t count = 0;
    if (strchr(value, '=') != NULL) {
        return misuse("--export needs names of variables", value);
    }
    /* Every name of one option has its place: see run_options_parse. */
    for (char *name = strtok_r(value, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        options->exports[options->export_count++] = name;
        count++;
    }
    return count > 0 ? RUN_GO_ON : misuse("--export needs names of variables", value);
}

static int
take_time(int letter, const char *value, run_options *options)
{
    if (letter == OPT_GRACE) {
        return parse_seconds(value, &options->grace_ms)
                   ? RUN_GO_ON
                   : misuse("--grace needs seconds, 0 or more", value);
    }
    if (letter == OPT_ANSWER) {
        return parse_seconds(value, &options->answer_ms) && options->answer_ms > 0
                   ? RUN_GO_ON
                   : misuse("--answer needs seconds, more than 0", value);
    }
    if (!parse_seconds(value, &options->timeout_ms) || options->timeout_ms == 0) {
        return misuse("--timeout needs seconds, more than 0", value);
    }
    return RUN_GO_ON;
}

/* What belongs to --hosts. */
static int
take_hosts(int letter, char *value, run_options *options)
{
    switch (letter) {
    case OPT_HOSTS:
        options->hosts = value;
        return RUN_GO_ON;
    case OPT_PER_HOST:
        return run_number(value, 1, RUN_RANKS_MAX, &options->per_host)
                   ? RUN_GO_ON
                   : misuse("--per-host needs a number of ranks from 1 to 4096", value);
    case OPT_AGENT:
        options->agent = value;
        return RUN_GO_ON;
    case OPT_MASTER:
        options->master = value;
        return value[0] != '\0' && strlen(value) < 256
                   ? RUN_GO_ON
                   : misuse("--master-addr needs a name or an address", value);
    case OPT_EXPORT:
        return take_exports(value, options);
    case OPT_REMOTE:
        options->remote = value;
        return RUN_GO_ON;
    case OPT_ON_HOST:
        options->on_host = true;
        return RUN_GO_ON;
    default:
        fputs("rondo-run: see rondo-run --help\n", stderr);
        return RUN_EXIT_USAGE;
    }
}

static int
take(int letter, char *value, run_options *options)
{
    switch (letter) {
    case 'n':
        return run_number(value, 1, RUN_RANKS_MAX, &options->nranks)
                   ? RUN_GO_ON
                   : misuse("-n needs a number of ranks from 1 to 4096", value);
    case 'p':
        options->prefix = true;
        return RUN_GO_ON;
    case OPT_JSON:
        options->json = true;
        return RUN_GO_ON;
    case OPT_GRACE:
    case OPT_TIMEOUT:
    case OPT_ANSWER:
        return take_time(letter, value, options);
    case OPT_PORT:
        return run_number(value, 1, 65535, &options->port)
                   ? RUN_GO_ON
                   : misuse("--port needs a port from 1 to 65535", value);
    case OPT_ENV:
        return take_setting(value, options);
    case OPT_BIND:
        return run_bind_find(value, &options->bind)
                   ? RUN_GO_ON
                   : misuse("--bind needs share, core or none", value);
    case 'h':
        fputs(run_help_text, stdout);
        return 0;
    case 'V':
        printf("rondo-run %d.%d.%d\n", RONDO_VERSION_MAJOR, RONDO_VERSION_MINOR,
               RONDO_VERSION_PATCH);
        return 0;
    default:
        return take_hosts(letter, value, options);
    }
}

/* What options need each other. */
static int
check_together(const run_options *options)
{
    const bool only_hosts = options->agent != NULL || options->per_host > 0 ||
                            options->export_count > 0 || options->master != NULL ||
                            options->remote != NULL;
    if (options->hosts == NULL && only_hosts) {
        return misuse("--agent, --per-host, --export, --master-addr and --remote-path "
                      "go with --hosts FILE",
                      NULL);
    }
    if (options->hosts == NULL && options->nranks == 0) {
        return misuse("-n N, the number of ranks, is missing", NULL);
    }
    return RUN_GO_ON;
}

/* Place for all settings and names there can be: one for each argument and comma. */
static bool
make_room(int argc, char **argv, run_options *options)
{
    size_t names = (size_t)argc + 1;
    for (int i = 0; i < argc; i++) {
        for (const char *comma = argv[i]; (comma = strchr(comma, ',')) != NULL;
             comma++) {
            names++;
        }
    }
    options->settings = calloc((size_t)argc + 1, sizeof(char *));
    options->exports = calloc(names, sizeof(char *));
    return options->settings != NULL && options->exports != NULL;
}

int
run_options_parse(int argc, char **argv, run_options *options)
{
    *options = (run_options){.grace_ms = 3000, .answer_ms = 60000};
    if (!make_room(argc, argv, options)) {
        fputs("rondo-run: out of memory\n", stderr);
        return RUN_EXIT_FAILURE;
    }
    /* The plus ends the options at PROGRAM: what follows belongs to it. */
    for (;;) {
        const int letter = getopt_long(argc, argv, "+n:h", long_options, NULL);
        if (letter == -1) {
            break;
        }
        const int code = take(letter, optarg, options);
        if (code != RUN_GO_ON) {
            return code;
        }
    }
    if (options->on_host) {
        return optind == argc ? RUN_GO_ON : misuse("--on-host stands alone", NULL);
    }
    const int code = check_together(options);
    if (code != RUN_GO_ON) {
        return code;
    }
    if (optind >= argc || argv[optind][0] == '\0') {
        return misuse("PROGRAM is missing", NULL);
    }
    options->command = &argv[optind];
    return RUN_GO_ON;
}
