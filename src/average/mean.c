/* mean.c - the weighted mean over all ranks. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <rondo/average.h>

#include "base/error.h"

/* What ranks compare before: each the largest one over all of them. */
typedef enum seen { LARGEST, MINUS_LEAST, REFUSED, SEEN } seen;

/* Every rank comes to the same verdict, since it looks at the same numbers. */
static rondo_status
compare(rondo_comm *comm, double weight, double *all)
{
    const bool allowed = isfinite(weight) && weight >= 0.0;
    /* A rank that is refused takes part all the same: the others wait for it. */
    const double own[SEEN] = {
        [LARGEST] = allowed ? weight : 0.0,
        [MINUS_LEAST] = allowed ? -weight : 0.0,
        [REFUSED] = allowed ? 0.0 : 1.0 + (double)rondo_comm_rank(comm),
    };
    const rondo_status status =
        rondo_all_reduce(comm, own, all, SEEN, RONDO_FP64, RONDO_MAX);

    if (status != RONDO_OK) {
        return status;
    }
    if (all[REFUSED] > 0.0) {
        return rondo_error(RONDO_ERR_ARG,
                           "the weight of rank %.0f is negative or not finite",
                           all[REFUSED] - 1.0);
    }
    if (all[LARGEST] <= 0.0) {
        return rondo_error(RONDO_ERR_ARG, "the weights of all ranks are 0");
    }
    return RONDO_OK;
}

/* A rank without weight may hold anything, also what is no number. */
static void
scale(float *values, uint64_t count, double share)
{
    if (share <= 0.0) {
        memset(values, 0, count * sizeof *values);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        values[i] = (float)(share * (double)values[i]);
    }
}

rondo_status
rondo_average(rondo_comm *comm, float *values, uint64_t count, double weight)
{
    double all[SEEN];

    if (comm == NULL || (values == NULL && count != 0)) {
        return rondo_error(RONDO_ERR_ARG, "rondo_average: a pointer is null");
    }
    rondo_status status = compare(comm, weight, all);
    if (status != RONDO_OK) {
        return status;
    }
    if (all[LARGEST] + all[MINUS_LEAST] == 0.0) {
        return rondo_all_reduce(comm, values, values, count, RONDO_FP32, RONDO_AVG);
    }
    /* Shares of the largest weight: their sum is at most the number of ranks. */
    const double share = weight / all[LARGEST];
    double sum = share;
    status = rondo_all_reduce(comm, &sum, &sum, 1, RONDO_FP64, RONDO_SUM);
    if (status != RONDO_OK) {
        return status;
    }
    if (count != 0) {
        scale(values, count, share / sum);
    }
    return rondo_all_reduce(comm, values, values, count, RONDO_FP32, RONDO_SUM);
}
