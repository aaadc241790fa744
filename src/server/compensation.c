/* compensation.c - delay compensation: what a late gradient would have been, by its
 * first-order change since the worker pulled (Zheng et al. 2017). */
#include <math.h>
#include <string.h>

#include "server/shard.h"

/* How much of the mean square is kept at each gradient, and what keeps it from 0. */
#define SQUARES_KEPT    0.95F
#define SQUARES_EPSILON 1e-7F

static void
follow_squares(float *restrict squares, const float *restrict gradient, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        squares[i] = SQUARES_KEPT * squares[i] +
                     (1.0F - SQUARES_KEPT) * (gradient[i] * gradient[i]);
    }
}

static void
mend(const rondo_shard *shard, const float *restrict gradient,
     const float *restrict before, float *restrict mended)
{
    const float *restrict const now = shard->parameters;
    const float lambda = shard->config.compensation;

    for (uint64_t i = 0; i < shard->count; i++) {
        const float slope = gradient[i] * gradient[i];
        mended[i] = gradient[i] + lambda * slope * (now[i] - before[i]);
    }
}

static void
mend_adaptively(const rondo_shard *shard, const float *restrict gradient,
                const float *restrict before, float *restrict mended)
{
    const float *restrict const now = shard->parameters;
    const float *restrict const squares = shard->squares;
    const float lambda = shard->config.compensation;

    for (uint64_t i = 0; i < shard->count; i++) {
        const float slope = gradient[i] * gradient[i];
        const float share = lambda / sqrtf(squares[i] + SQUARES_EPSILON);
        mended[i] = gradient[i] + share * slope * (now[i] - before[i]);
    }
}

const float *
rondo_shard_mend(rondo_shard *shard, const rondo_shard_push_taken *push)
{
    const rondo_shard_worker *const who = &shard->workers[push->worker];

    if (shard->squares != NULL) {
        follow_squares(shard->squares, push->gradient, shard->count);
    }
    /* Not stale: nothing has changed. Not what it pulled last: nobody knows what
     * has. */
    if (shard->pulled == NULL || push->version == shard->version || !who->has_pulled ||
        who->pulled != push->version) {
        return push->gradient;
    }
    const float *const before = shard->pulled + push->worker * shard->count;
    if (shard->squares != NULL) {
        mend_adaptively(shard, push->gradient, before, shard->mended);
    } else {
        mend(shard, push->gradient, before, shard->mended);
    }
    return shard->mended;
}

void
rondo_shard_remember(rondo_shard *shard, uint32_t worker)
{
    rondo_shard_worker *const who = &shard->workers[worker];

    if (shard->pulled == NULL || (who->has_pulled && who->pulled == shard->version)) {
        return;
    }
    memcpy(shard->pulled + worker * shard->count, shard->parameters,
           shard->count * sizeof *shard->parameters);
    who->pulled = shard->version;
    who->has_pulled = true;
}
