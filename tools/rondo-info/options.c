/* options.c - the command line of rondo-info. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rondo/version.h>

enum { OPT_TO = 256, OPT_JSON, OPT_DUMP, OPT_LOAD };

static const struct option long_options[] = {
    {"np", required_argument, NULL, 'n'},
    {"to", required_argument, NULL, OPT_TO},
    {"json", no_argument, NULL, OPT_JSON},
    {"dump", required_argument, NULL, OPT_DUMP},
    {"load", required_argument, NULL, OPT_LOAD},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "usage: rondo-info [options]\n"
    "\n"
    "Shows what Rondo finds on this machine and what it decides from that: who polls\n"
    "and who sleeps, where ranks go, which interface is used and why each other was\n"
    "refused, and which transport serves which pair of ranks.\n"
    "\n"
    "  -n, --np N       decide for N ranks on this host (as many as can work at once)\n"
    "      --to HOST[:PORT]  try to reach HOST from each usable interface; a refused\n"
    "                   port counts as reached. PORT is MASTER_PORT, or else 22; an\n"
    "                   IPv6 address with a port is written [fd00::4]:29500\n"
    "      --json       one JSON object instead of text\n"
    "      --dump FILE  also write everything that was read into FILE: interfaces,\n"
    "                   processors (XML of hwloc), RDMA ports, quota, environment\n"
    "                   (but no secret)\n"
    "      --load FILE  decide from such a file instead of from this machine. What is\n"
    "                   set in the environment counts more than what the file says:\n"
    "                   RONDO_INTERFACE=ib0 rondo-info --load FILE asks \"what if\"\n"
    "      --help, --version\n"
    "\n"
    "Fields of --json:\n"
    "  host, origin     whose facts these are; origin is the file, or \"\"\n"
    "  machine          model, packages, nodes, cores, processors, usable (list),\n"
    "                   quota (cores or null), caches, memory\n"
    "  ranks            count, cores, spins, waits (\"poll\" or \"yield\"), binding\n"
    "  interfaces       name, address, prefix, family, mtu, speed_mbit,\n"
    "                   default_route, usable, chosen, verdict, reason; usable ones\n"
    "                   first, best first\n"
    "  rdma             name, fabric, interface, usable, reason, node, and from\n"
    "                   libibverbs state, mtu, rate_mbit, gids\n"
    "  choice           interface, devices, transports, reason: what UCX is given\n"
    "  pairs            same_host, other_host: the transport of each kind of pair\n"
    "  reach            of --to: interface, source, target, reached, ms, words\n"
    "  environment      variable, value, default, set, about: for each one there is\n"
    "  problems         sentences; empty when all is well\n"
    "\n"
    "Exit code: 0 all is well; 1 something that was asked for is missing, such as a\n"
    "usable interface with --to; 2 wrong usage, or a FILE that cannot be used.\n";

static int
misuse(const char *what, const char *value)
{
    if (value != NULL) {
        fprintf(stderr, "rondo-info: %s, not '%s'\n", what, value);
    } else {
        fprintf(stderr, "rondo-info: %s\n", what);
    }
    fputs("rondo-info: see rondo-info --help\n", stderr);
    return INFO_EXIT_USAGE;
}

static bool
parse_number(const char *text, uint32_t most, uint32_t *number)
{
    char *end = NULL;

    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < 1 || value > most) {
        return false;
    }
    *number = (uint32_t)value;
    return true;
}

/* "head", "head:22", "10.0.0.1:22", "fd00::4", "[fd00::4]", "[fd00::4]:22". */
static bool
parse_target(const char *text, info_options *options)
{
    const char *start = text;
    const char *port = strrchr(text, ':');
    size_t letters = strlen(text);

    if (text[0] == '[') {
        const char *const close = strchr(text, ']');
        if (close == NULL || (close[1] != ':' && close[1] != '\0')) {
            return false;
        }
        start = text + 1;
        letters = (size_t)(close - start);
        port = close[1] == ':' ? close + 1 : NULL;
    } else if (port != NULL && strchr(text, ':') != port) {
        port = NULL; /* more than one: an address of IPv6 */
    } else if (port != NULL) {
        letters = (size_t)(port - text);
    }
    if (letters == 0 || letters >= sizeof options->host ||
        (port != NULL && !parse_number(port + 1, 65535, &options->port))) {
        return false;
    }
    memcpy(options->host, start, letters);
    options->host[letters] = '\0';
    return true;
}

static int
take(int letter, const char *value, info_options *options)
{
    switch (letter) {
    case 'n':
        return parse_number(value, INFO_RANKS_MAX, &options->nranks)
                   ? INFO_GO_ON
                   : misuse("-n needs a number of ranks from 1 to 4096", value);
    case OPT_TO:
        return parse_target(value, options)
                   ? INFO_GO_ON
                   : misuse("--to needs HOST, HOST:PORT or [ADDRESS]:PORT", value);
    case OPT_JSON:
        options->json = true;
        return INFO_GO_ON;
    case OPT_DUMP:
        options->dump = value;
        return INFO_GO_ON;
    case OPT_LOAD:
        options->load = value;
        return INFO_GO_ON;
    case 'h':
        fputs(help_text, stdout);
        return 0;
    case 'V':
        printf("rondo-info %d.%d.%d\n", RONDO_VERSION_MAJOR, RONDO_VERSION_MINOR,
               RONDO_VERSION_PATCH);
        return 0;
    default:
        fputs("rondo-info: see rondo-info --help\n", stderr);
        return INFO_EXIT_USAGE;
    }
}

int
info_options_parse(int argc, char **argv, info_options *options)
{
    *options = (info_options){.nranks = 0};
    for (;;) {
        const int letter = getopt_long(argc, argv, "n:h", long_options, NULL);
        if (letter == -1) {
            break;
        }
        const int code = take(letter, optarg, options);
        if (code != INFO_GO_ON) {
            return code;
        }
    }
    if (optind < argc) {
        return misuse("nothing but options is expected", argv[optind]);
    }
    if (options->load != NULL && options->host[0] != '\0') {
        return misuse("--to tries from this machine, so it does not go with --load",
                      NULL);
    }
    return INFO_GO_ON;
}
