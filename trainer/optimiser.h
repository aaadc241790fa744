/* optimiser.h - stochastic gradient descent with momentum and weight decay. */
#ifndef TRAINER_OPTIMISER_H
#define TRAINER_OPTIMISER_H

#include "problem.h"

#include <stdint.h>

typedef struct optimiser {
    uint64_t count; /* Parameters. */
    float momentum;
    float weight_decay;
    float *velocity; /* count; starts at 0. */
} optimiser;

TRAINER_MUST_USE bool
optimiser_create(uint64_t count, double momentum, double weight_decay,
                 optimiser *result, problem *why);
void
optimiser_free(optimiser *o);

/* velocity = momentum * velocity + gradient + weight_decay * parameter
 * parameter = parameter - rate * velocity */
void
optimiser_step(optimiser *o, float rate, const float *gradient, float *parameter);

#endif
