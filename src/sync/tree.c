/* tree.c - the mean by one fixed binary tree over ranks, whoever computes it. */
#include "sync/state.h"

/* Elements taken at a time, so that the vectors of a few ranks stay in the cache. */
#define BLOCK_COUNT ((uint64_t)2048)

static void
add_to(float *restrict sum, const float *restrict term, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += term[i];
    }
}

void
rondo_sync_tree_mean(float *gathered, uint32_t nranks, uint64_t count, float *mean)
{
    /* Exact, since nranks is a power of two: the tree's roundings are the only ones. */
    const float share = 1.0F / (float)nranks;

    for (uint64_t at = 0; at < count; at += BLOCK_COUNT) {
        const uint64_t block = count - at < BLOCK_COUNT ? count - at : BLOCK_COUNT;
        for (uint64_t stride = 1; stride < nranks; stride *= 2) {
            for (uint64_t r = 0; r < nranks; r += 2 * stride) {
                add_to(gathered + r * count + at, gathered + (r + stride) * count + at,
                       block);
            }
        }
        for (uint64_t i = at; i < at + block; i++) {
            mean[i] = gathered[i] * share;
        }
    }
}
