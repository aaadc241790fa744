/* straggler.h - how long a worker's step is made to take: drawn from a distribution by
 * seed, worker and step, so that a real run and a virtual one have the same times.
 *
 *   exp:base=40,mean=40        base + an exponential of that mean (Dutta et al., "Slow
 *   and
 *                              stale gradients can win the race", 2018)
 *   rare:base=10,p=0.05,factor=8   base; with probability p, base * factor
 *   slow:base=10,worker=0,factor=5 base; for that worker always base * factor
 *   lognormal:base=10,sigma=0.3    base * exp(sigma * normal)
 *   fixed:base=10              base
 *
 * base and mean are milliseconds. A real worker whose gradient took less sleeps for the
 * rest.
 */
#ifndef TRAINER_STRAGGLER_H
#define TRAINER_STRAGGLER_H

#include "problem.h"

#include <stdint.h>

typedef enum straggler_kind {
    STRAGGLER_NONE,
    STRAGGLER_FIXED,
    STRAGGLER_EXPONENTIAL,
    STRAGGLER_RARE,
    STRAGGLER_SLOW,
    STRAGGLER_LOGNORMAL
} straggler_kind;

typedef struct straggler {
    straggler_kind kind;
    uint64_t seed;
    double base; /* Seconds. */
    double mean; /* Seconds. */
    double probability;
    double factor;
    double sigma;
    uint32_t worker;
} straggler;

/* The text of --straggler; NULL: none. */
TRAINER_MUST_USE bool
straggler_read(const char *text, uint64_t seed, straggler *result, problem *why);

/* Seconds that step `step` (from 1) of `worker` is to take at least; 0 without one. */
double
straggler_seconds(const straggler *s, uint32_t worker, uint64_t step);

/* The mean over steps of straggler_seconds, for predictions. */
double
straggler_mean(const straggler *s, uint32_t worker);

#endif
