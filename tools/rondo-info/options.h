/* options.h - the command line of rondo-info. */
#ifndef RONDO_INFO_OPTIONS_H
#define RONDO_INFO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define INFO_EXIT_MISSING 1
#define INFO_EXIT_USAGE   2
#define INFO_GO_ON        (-1)
#define INFO_RANKS_MAX    4096

typedef struct info_options {
    uint32_t nranks; /* 0: as many as there are cores */
    bool json;
    const char *dump;
    const char *load;
    char host[112]; /* of --to; "" without it */
    uint32_t port;  /* 0: not said */
} info_options;

/* info_options_parse - INFO_GO_ON, or the exit code: help was shown, or what is wrong
 * was said. */
int
info_options_parse(int argc, char **argv, info_options *options);

#endif /* RONDO_INFO_OPTIONS_H */
