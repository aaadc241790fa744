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

/* perf_summarise - of `count` numbers, at least one. False: out of memory. */
bool
perf_summarise(const double *numbers, uint32_t count, perf_summary *summary);

#endif /* PERF_SAMPLES_H */
