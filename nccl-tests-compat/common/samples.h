/* samples.h - what is said about a list of times. */
#ifndef PERF_SAMPLES_H
#define PERF_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct perf_summary {
    double least;
    double most;
    double mean;
    double p50;
    double p95;
    double p99;
    double deviation;
    double variation; /* deviation / mean, in percent */
} perf_summary;

/* Seconds of each iteration: of the slowest rank, of the slowest in each process. */
typedef struct perf_samples {
    uint32_t count;
    uint32_t skipped; /* left out of the summary */
    uint32_t processes;
    const double *slowest; /* `count` */
    const double *rows;    /* `count` for each process */
} perf_samples;

/* perf_summarise - of `count` numbers, at least one. False: out of memory. */
bool
perf_summarise(const double *numbers, uint32_t count, perf_summary *summary);

#endif /* PERF_SAMPLES_H */
