/* orders.h - the orders of images of several epochs at a time: workers of a virtual run
 * that are at their own pace are in different ones. */
#ifndef TRAINER_VIRTUAL_ORDERS_H
#define TRAINER_VIRTUAL_ORDERS_H

#include "sampler.h"

#define ORDERS_KEPT 8u

typedef struct orders {
    uint32_t steps; /* Of an epoch. */
    uint64_t takes;
    sampler epoch[ORDERS_KEPT]; /* order NULL: not made yet. */
    uint64_t number[ORDERS_KEPT];
    uint64_t used[ORDERS_KEPT]; /* The last take. */
} orders;

/* like: seed, samples and global batch of a sampler. */
orders
orders_like(const sampler *like);
void
orders_free(orders *o);

/* What worker `rank` of `ranks` takes in `step` of the run, from 1. Valid until the
 * next call. */
TRAINER_MUST_USE bool
orders_take(orders *o, uint64_t step, uint32_t rank, uint32_t ranks,
            sampler_part *result, problem *why);

#endif
