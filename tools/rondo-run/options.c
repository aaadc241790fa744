/* options.c - the command line of rondo-run. */
#include "options.h"

#include <rondo/version.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_GRACE = 256, OPT_PORT, OPT_TIMEOUT, OPT_ENV, OPT_BIND, OPT_JSON };

static const struct option long_options[] = {
    {"np", required_argument, NULL, 'n'},
    {"prefix", no_argument, NULL, 'p'},
    {"grace", required_argument, NULL, OPT_GRACE},
    {"port", required_argument, NULL, OPT_PORT},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"env", required_argument, NULL, OPT_ENV},
    {"bind", required_argument, NULL, OPT_BIND},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "usage: rondo-run -n N [options] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Starts N ranks of PROGRAM on this machine and ends when all have ended. A "
    "PROGRAM\n"
    "without a slash is looked for beside rondo-run first, then in PATH.\n"
    "\n"
    "  -n, --np N          number of ranks, 1 to 4096\n"
    "      --prefix        begin each line of output with \"[rank] \"\n"
    "      --grace SECONDS when a rank has failed, the others have this long to end "
    "by\n"
    "                      themselves before they get SIGTERM and, 2 s later,\n"
    "                      SIGKILL (3)\n"
    "      --timeout SECONDS  end the job after this time; the exit code is then 124\n"
    "      --port PORT     MASTER_PORT (one that is free)\n"
    "      --env NAME=VALUE   set a variable for all ranks; may be repeated\n"
    "      --bind share|core|none   share: each rank its part of the cores, if there\n"
    "                      are enough; core: one core each (share)\n"
    "      --json          one line of JSON about all ranks on stderr at the end\n"
    "      --help, --version\n"
    "\n"
    "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,\n"
    "MASTER_PORT, RONDO_SECRET (random, unless RONDO_SECRET or RONDO_SECRET_FILE is\n"
    "set) and RONDO_LAUNCHER. Rank 0 keeps the standard input unless it is a "
    "terminal.\n"
    "\n"
    "Exit code: 0 if all ranks returned 0; else that of the first rank that failed, "
    "or\n"
    "128 + its signal; 2 misuse; 124 time-out; 126 PROGRAM cannot be executed; 127 it\n"
    "was not found; 1 the system refused a process or a descriptor.\n";

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

static bool
parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *number)
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
    static const char *const names[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE", "RONDO_LAUNCHER"};
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

static int
take_bind(const char *value, run_options *options)
{
    if (strcmp(value, "share") == 0) {
        options->bind = RUN_BIND_SHARE;
    } else if (strcmp(value, "none") == 0) {
        options->bind = RUN_BIND_NONE;
    } else if (strcmp(value, "core") == 0) {
        options->bind = RUN_BIND_CORE;
    } else {
        return misuse("--bind needs share, core or none", value);
    }
    return RUN_GO_ON;
}

static int
take_time(int letter, const char *value, run_options *options)
{
    if (letter == OPT_GRACE) {
        return parse_seconds(value, &options->grace_ms)
                   ? RUN_GO_ON
                   : misuse("--grace needs seconds, 0 or more", value);
    }
    if (!parse_seconds(value, &options->timeout_ms) || options->timeout_ms == 0) {
        return misuse("--timeout needs seconds, more than 0", value);
    }
    return RUN_GO_ON;
}

static int
take(int letter, char *value, run_options *options)
{
    switch (letter) {
    case 'n':
        return parse_number(value, 1, RUN_RANKS_MAX, &options->nranks)
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
        return take_time(letter, value, options);
    case OPT_PORT:
        return parse_number(value, 1, 65535, &options->port)
                   ? RUN_GO_ON
                   : misuse("--port needs a port from 1 to 65535", value);
    case OPT_ENV:
        return take_setting(value, options);
    case OPT_BIND:
        return take_bind(value, options);
    case 'h':
        fputs(help_text, stdout);
        return 0;
    case 'V':
        printf("rondo-run %d.%d.%d\n", RONDO_VERSION_MAJOR, RONDO_VERSION_MINOR,
               RONDO_VERSION_PATCH);
        return 0;
    default:
        fputs("rondo-run: see rondo-run --help\n", stderr);
        return RUN_EXIT_USAGE;
    }
}

int
run_options_parse(int argc, char **argv, run_options *options)
{
    *options = (run_options){.grace_ms = 3000};
    options->settings = calloc((size_t)argc + 1, sizeof(char *));
    if (options->settings == NULL) {
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
    if (options->nranks == 0) {
        return misuse("-n N, the number of ranks, is missing", NULL);
    }
    if (optind >= argc || argv[optind][0] == '\0') {
        return misuse("PROGRAM is missing", NULL);
    }
    options->command = &argv[optind];
    return RUN_GO_ON;
}
