/* rate.h - the learning rate as a function of the step. */
#ifndef TRAINER_RATE_H
#define TRAINER_RATE_H

#include <stdint.h>

typedef enum rate_schedule { RATE_CONSTANT, RATE_COSINE } rate_schedule;

/* The rate of `step` of `steps`, the first being step 0. Cosine: half a period, from
 * base in the first step down to almost 0 in the last. */
double
rate_at(rate_schedule schedule, double base, uint64_t step, uint64_t steps);

#endif
