/* sampler.h - which samples a rank takes in a step.
 *
 * An epoch is one permutation of all samples, drawn from the seed and the epoch: the
 * same on all ranks. Step s takes the global batch's G samples from place s * G, and
 * rank r of P takes of these the places from G * r / P up to G * (r + 1) / P. Whatever
 * P is, the step's samples and their order are the same. What is left at the end of an
 * epoch and is less than G is dropped; the next permutation is another one. */
#ifndef TRAINER_SAMPLER_H
#define TRAINER_SAMPLER_H

#include "problem.h"

#include <stdint.h>

typedef struct sampler {
    uint64_t seed;
    uint32_t samples;
    uint32_t global_batch; /* G, from 1 to samples. */
    uint32_t *order;       /* samples */
} sampler;

/* Some of an epoch's samples. */
typedef struct sampler_part {
    const uint32_t *index;
    uint32_t count;
} sampler_part;

TRAINER_MUST_USE bool
sampler_create(uint64_t seed, uint32_t samples, uint32_t global_batch, sampler *result,
               problem *why);
void
sampler_free(sampler *s);

uint32_t
sampler_steps(const sampler *s); /* In an epoch. */
void
sampler_start_epoch(sampler *s, uint32_t epoch);

/* What rank takes in a step of the epoch last started. */
sampler_part
sampler_take(const sampler *s, uint32_t step, uint32_t rank, uint32_t ranks);

/* The largest number of samples any rank takes in a step. */
uint32_t
sampler_part_max(const sampler *s, uint32_t ranks);

#endif
