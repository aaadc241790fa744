/* rate.h - the learning rate as a function of the step. */
#ifndef TRAINER_RATE_H
#define TRAINER_RATE_H

#include <stdint.h>

typedef enum rate_schedule { RATE_CONSTANT, RATE_COSINE, RATE_STEPS } rate_schedule;

typedef struct rate_plan {
    rate_schedule schedule;
    double base;          /* Of the warm-up's end. */
    double start;         /* Of its beginning. */
    uint64_t warmup;      /* Steps. */
    uint64_t steps;       /* In all. */
    uint64_t decay_every; /* RATE_STEPS: steps. */
    double decay_factor;
} rate_plan;

/* Linear scaling: a rate that is good for batches of `from` images, for `to`; a mean
 * over k times the images is as sure as k steps. Source: Goyal et al., Accurate, large
 * minibatch SGD: training ImageNet in 1 hour, 2017. */
double
rate_scaled(double rate, uint64_t from, uint64_t to);

/* The rate of `step`, the first being step 0.
 *   warm-up  step s of W: start + (base - start) (s + 1) / W         (Goyal et al.)
 *   cosine   over the rest: half a period, from base down to almost 0
 *            (Loshchilov and Hutter, SGDR, 2017, without restarts)
 *   steps    base * decay_factor ^ floor(step / decay_every) */
double
rate_at(const rate_plan *plan, uint64_t step);

#endif
