/* timing.h - repeats the operation and takes the time. */
#ifndef PERF_TIMING_H
#define PERF_TIMING_H

#include "common/job.h"

typedef struct perf_timing {
    double seconds;     /* of one operation */
    double cpu_seconds; /* processor time of the thread, of one operation */
} perf_timing;

/* How --walk moves through the buffers: operation k is at (k modulo steps) * bytes. */
typedef struct perf_walk {
    uint64_t bytes;
    uint64_t steps; /* 1: always the same place */
} perf_walk;

/* perf_warm_up - `times` operations, not timed. */
rondo_status
perf_warm_up(perf_thread *thread, uint32_t times);

/*
 * perf_time - the timed iterations of -n, as -m and -z want them.
 *
 * samples  Seconds of each iteration's operation, room for -n; null: not taken, and the
 *          clock is read twice in all.
 */
rondo_status
perf_time(perf_thread *thread, perf_walk walk, double *samples, perf_timing *timing);

#endif /* PERF_TIMING_H */
