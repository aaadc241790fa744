/* shard.c - images that one rank has for itself (see shard.h). */
#include "shard.h"

#include "random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
allocate(image_shard *s, problem *why)
{
    s->own = calloc(s->workers, sizeof *s->own);
    /* One more: a rank may have none. */
    s->dealt = calloc((size_t)s->count + 1, sizeof *s->dealt);
    s->order = calloc((size_t)s->count + 1, sizeof *s->order);
    return (s->own != NULL && s->dealt != NULL && s->order != NULL) ||
           problem_fail(why, "no memory for the order of %u images", s->count);
}

bool
shard_create(sampler *all, const shard_deal *deal, image_shard *result, problem *why)
{
    uint64_t sum = 0;
    uint64_t before = 0;
    for (uint32_t w = 0; w < deal->workers; w++) {
        before = w == deal->worker ? sum : before;
        sum += deal->own[w];
    }
    if (sum == 0 || sum > all->samples) {
        return problem_fail(why,
                            "--own-images come to %" PRIu64
                            " in all: allowed are 1 to %u, the training images",
                            sum, all->samples);
    }
    const bool works = deal->worker < deal->workers;
    image_shard s = {.seed = all->seed,
                     .batch = deal->batch,
                     .workers = deal->workers,
                     .count = works ? (uint32_t)deal->own[deal->worker] : 0};
    if (!allocate(&s, why)) {
        shard_free(&s);
        return false;
    }
    for (uint32_t w = 0; w < deal->workers; w++) {
        s.own[w] = (uint32_t)deal->own[w];
    }
    sampler_start_epoch(all, 0);
    memcpy(s.dealt, all->order + before, s.count * sizeof *s.dealt);
    *result = s;
    return true;
}

void
shard_free(image_shard *s)
{
    free(s->own);
    free(s->dealt);
    free(s->order);
    *s = (image_shard){.own = NULL};
}

uint32_t
shard_steps(const image_shard *s, uint32_t worker)
{
    return (s->own[worker] + s->batch - 1) / s->batch;
}

uint32_t
shard_steps_most(const image_shard *s)
{
    uint32_t most = 0;
    for (uint32_t worker = 0; worker < s->workers; worker++) {
        const uint32_t steps = shard_steps(s, worker);
        most = steps > most ? steps : most;
    }
    return most;
}

void
shard_start_epoch(image_shard *s, uint32_t epoch)
{
    memcpy(s->order, s->dealt, s->count * sizeof *s->order);
    const random_stream stream = random_open(s->seed, RANDOM_SHUFFLE, epoch);
    for (uint32_t last = s->count; last-- > 1;) {
        const uint32_t chosen = random_below(stream, last, last + 1);
        const uint32_t image = s->order[chosen];
        s->order[chosen] = s->order[last];
        s->order[last] = image;
    }
}

/* Of `count` images those of step `step`. */
static uint32_t
in_step(const image_shard *s, uint32_t count, uint32_t step)
{
    const uint64_t begin = (uint64_t)step * s->batch;
    const uint64_t left = begin < count ? count - begin : 0;
    return (uint32_t)(left < s->batch ? left : s->batch);
}

sampler_part
shard_take(const image_shard *s, uint32_t step)
{
    const uint32_t count = in_step(s, s->count, step);
    return (sampler_part){.index =
                              count > 0 ? s->order + (size_t)step * s->batch : s->order,
                          .count = count};
}

uint32_t
shard_images(const image_shard *s, uint32_t step)
{
    uint32_t images = 0;
    for (uint32_t worker = 0; worker < s->workers; worker++) {
        images += in_step(s, s->own[worker], step);
    }
    return images;
}
