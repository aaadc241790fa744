/* sampler.c - which samples a rank takes in a step (see sampler.h). */
#include "sampler.h"

#include "random.h"

#include <stdlib.h>

bool
sampler_create(uint64_t seed, uint32_t samples, uint32_t global_batch, sampler *result,
               problem *why)
{
    if (global_batch < 1 || global_batch > samples) {
        return problem_fail(why,
                            "a global batch of %u from %u training images: "
                            "allowed are 1 to %u",
                            global_batch, samples, samples);
    }
    uint32_t *order = malloc((size_t)samples * sizeof *order);
    if (order == NULL) {
        return problem_fail(why, "no memory for the order of %u samples", samples);
    }
    *result = (sampler){
        .seed = seed, .samples = samples, .global_batch = global_batch, .order = order};
    return true;
}

void
sampler_free(sampler *s)
{
    free(s->order);
    s->order = NULL;
}

uint32_t
sampler_steps(const sampler *s)
{
    return s->samples / s->global_batch;
}

void
sampler_start_epoch(sampler *s, uint32_t epoch)
{
    /* From the identity each time, so that an epoch does not depend on those before. */
    for (uint32_t i = 0; i < s->samples; i++) {
        s->order[i] = i;
    }
    const random_stream stream = random_open(s->seed, RANDOM_SHUFFLE, epoch);
    for (uint32_t last = s->samples - 1; last > 0; last--) {
        const uint32_t chosen = random_below(stream, last, last + 1);
        const uint32_t sample = s->order[chosen];
        s->order[chosen] = s->order[last];
        s->order[last] = sample;
    }
}

sampler_part
sampler_take(const sampler *s, uint32_t step, uint32_t rank, uint32_t ranks)
{
    const uint64_t batch = s->global_batch;
    const uint64_t begin = batch * rank / ranks;
    const uint64_t end = batch * (rank + 1) / ranks;
    return (sampler_part){.index = s->order + step * batch + begin,
                          .count = (uint32_t)(end - begin)};
}

uint32_t
sampler_part_max(const sampler *s, uint32_t ranks)
{
    return (s->global_batch + ranks - 1) / ranks;
}
