/* samples.c - order statistics and the spread of a few numbers. */
#include "common/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
ascending(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Nearest rank: the least number that is no less than `percent` of all. */
static double
percentile(const double *sorted, uint32_t count, uint32_t percent)
{
    const uint64_t rank = ((uint64_t)count * percent + 99) / 100;
    return sorted[rank > 0 ? rank - 1 : 0];
}

bool
perf_summarise(const double *numbers, uint32_t count, perf_summary *summary)
{
    double *sorted = malloc(count * sizeof(double));
    if (sorted == NULL) {
        return false;
    }
    memcpy(sorted, numbers, count * sizeof(double));
    qsort(sorted, count, sizeof(double), ascending);
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += sorted[i];
    }
    const double mean = sum / count;
    double squares = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        squares += (sorted[i] - mean) * (sorted[i] - mean);
    }
    const double deviation = sqrt(squares / count);
    *summary = (perf_summary){.least = sorted[0],
                              .most = sorted[count - 1],
                              .mean = mean,
                              .p50 = percentile(sorted, count, 50),
                              .p95 = percentile(sorted, count, 95),
                              .p99 = percentile(sorted, count, 99),
                              .deviation = deviation,
                              .variation = mean > 0.0 ? deviation / mean * 100.0 : 0.0};
    free(sorted);
    return true;
}
