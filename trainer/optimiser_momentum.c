/* optimiser_momentum.c - gradient descent with momentum u (the heavy ball):
 *   v = u v + g + d w      w = w - r v
 * Source: Polyak, Some methods of speeding up the convergence of iteration methods,
 * 1964; the rate outside the velocity, so that it acts at once when it changes. */
#include "clones.h"
#include "optimiser.h"

TRAINER_CLONES static void
update(const optimiser *o, float rate, const tensor_update *t)
{
    const float momentum = (float)o->settings.momentum;
    const float decay = (float)o->settings.weight_decay;
    const float *restrict gradient = t->gradient;
    float *restrict parameter = t->parameter;
    float *restrict velocity = t->first;
    for (uint64_t i = 0; i < t->count; i++) {
        velocity[i] = momentum * velocity[i] + (gradient[i] + decay * parameter[i]);
        parameter[i] -= rate * velocity[i];
    }
}

const optimiser_kind optimiser_kind_momentum = {
    .uses = USES_MOMENTUM, .vectors = 1, .rate = 0.03, .update = update};
