/* optimiser_sgd.c - stochastic gradient descent: w = w - r (g + d w).
 * Source: Robbins and Monro, A stochastic approximation method, 1951. */
#include "clones.h"
#include "optimiser.h"

TRAINER_CLONES static void
update(const optimiser *o, float rate, const tensor_update *t)
{
    const float decay = (float)o->settings.weight_decay;
    const float *restrict gradient = t->gradient;
    float *restrict parameter = t->parameter;
    for (uint64_t i = 0; i < t->count; i++) {
        parameter[i] -= rate * (gradient[i] + decay * parameter[i]);
    }
}

const optimiser_kind optimiser_kind_sgd = {.rate = 0.1, .update = update};
