/* orders.c - the orders of images of several epochs at a time (see orders.h). */
#include "virtual/orders.h"

#include <stddef.h>

orders
orders_like(const sampler *like)
{
    orders o = {.steps = sampler_steps(like)};
    for (uint32_t i = 0; i < ORDERS_KEPT; i++) {
        o.epoch[i] = *like;
        o.epoch[i].order = NULL;
    }
    return o;
}

void
orders_free(orders *o)
{
    for (uint32_t i = 0; i < ORDERS_KEPT; i++) {
        sampler_free(&o->epoch[i]);
    }
}

/* Where the epoch is, or the place that was not used for longest. */
static uint32_t
place_of(const orders *o, uint64_t epoch)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < ORDERS_KEPT; i++) {
        if (o->number[i] == epoch) {
            return i;
        }
        if (o->used[i] < o->used[oldest]) {
            oldest = i;
        }
    }
    return oldest;
}

bool
orders_take(orders *o, uint64_t step, uint32_t rank, uint32_t ranks,
            sampler_part *result, problem *why)
{
    const uint64_t epoch = (step - 1) / o->steps + 1;
    const uint32_t at = place_of(o, epoch);
    sampler *s = &o->epoch[at];
    if (s->order == NULL) {
        const sampler like = *s;
        if (!sampler_create(like.seed, like.samples, like.global_batch, s, why)) {
            *s = like;
            return false;
        }
    }
    if (o->number[at] != epoch) {
        sampler_start_epoch(s, (uint32_t)epoch);
        o->number[at] = epoch;
    }
    o->used[at] = ++o->takes;
    *result = sampler_take(s, (uint32_t)((step - 1) % o->steps), rank, ranks);
    return true;
}
