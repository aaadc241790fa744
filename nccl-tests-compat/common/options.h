/* options.h - the command line of the *_perf programs. */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include "common/collective.h"
#include "common/sizes.h"

/* -z. */
enum {
    PERF_BLOCKING_OFF = 0,
    PERF_BLOCKING_BARRIER = 1,      /* a barrier after each operation, timed */
    PERF_BLOCKING_WAIT = 2,         /* each operation is waited for */
    PERF_BLOCKING_BARRIER_AFTER = 3 /* a barrier after each iteration, not timed */
};

/* -a: which rank's time is reported. */
enum {
    PERF_AVERAGE_RANK0 = 0,
    PERF_AVERAGE_MEAN = 1,
    PERF_AVERAGE_MIN = 2,
    PERF_AVERAGE_MAX = 3
};

typedef struct perf_options {
    uint32_t threads;            /* -t */
    uint32_t ranks_per_thread;   /* -g */
    perf_sweep sweep;            /* -b -e -i -f */
    uint32_t iterations;         /* -n */
    uint32_t warmup_iterations;  /* -w */
    uint32_t aggregated;         /* -m */
    uint32_t cycles;             /* -N; 0: for ever */
    uint32_t parallel_init;      /* -p */
    uint32_t checks;             /* -c */
    int op;                      /* -o, or PERF_ALL */
    int dtype;                   /* -d, or PERF_ALL */
    int64_t root;                /* -r, or PERF_ALL */
    uint32_t blocking;           /* -z */
    uint32_t timeout_s;          /* -T */
    uint32_t cpu_time;           /* -C */
    uint32_t timestamps;         /* -S */
    const char *output_file;     /* -J */
    uint32_t average;            /* -a */
    uint32_t registered;         /* -R */
    uint32_t memory_report;      /* -M */
    uint32_t unalign;            /* -u, elements */
    uint32_t per_iteration;      /* -I */
    uint32_t per_iteration_skip; /* -K */
    uint32_t walk;               /* --walk */
    double bandwidth_least;      /* NCCL_TESTS_MIN_BW; negative: not asked */
    const char *size_text;       /* -e as it was written, for messages */
} perf_options;

/*
 * perf_options_parse - read the command line and NCCL_TESTS_MIN_BW.
 *
 * Returns PERF_GO_ON, or the exit code with which to end now (said already).
 */
int
perf_options_parse(int argc, char **argv, const char *program, perf_options *options);

#endif /* PERF_OPTIONS_H */
