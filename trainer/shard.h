/* shard.h - images that one rank has for itself (--own-images). The permutation of
 * epoch 0 deals all images out: to rank 0 the first, to rank 1 the next, and so on;
 * what is left belongs to nobody. In each epoch a rank goes through its own in a new
 * order, a batch in a step, the last one perhaps smaller; then it has none until the
 * next. */
#ifndef TRAINER_SHARD_H
#define TRAINER_SHARD_H

#include "sampler.h"

typedef struct image_shard {
    uint64_t seed;
    uint32_t batch;
    uint32_t workers;
    uint32_t *own;   /* By worker: how many; NULL: there are no shards. */
    uint32_t count;  /* Of this rank. */
    uint32_t *dealt; /* count */
    uint32_t *order; /* Of this epoch. */
} image_shard;

/* How images are dealt out. */
typedef struct shard_deal {
    const uint64_t *own; /* By worker: how many. */
    uint32_t workers;
    uint32_t worker; /* This one; workers or more: none. */
    uint32_t batch;
} shard_deal;

/* Uses `all`, and leaves it in another epoch. */
TRAINER_MUST_USE bool
shard_create(sampler *all, const shard_deal *deal, image_shard *result, problem *why);
void
shard_free(image_shard *s);

/* Steps of an epoch of `worker`; of the one that has most. */
uint32_t
shard_steps(const image_shard *s, uint32_t worker);
uint32_t
shard_steps_most(const image_shard *s);

void
shard_start_epoch(image_shard *s, uint32_t epoch);

/* Step `step` of the epoch, from 0: this rank's images, perhaps none; and how many all
 * workers have in it. */
sampler_part
shard_take(const image_shard *s, uint32_t step);
uint32_t
shard_images(const image_shard *s, uint32_t step);

#endif
