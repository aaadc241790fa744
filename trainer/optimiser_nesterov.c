/* optimiser_nesterov.c - momentum u that looks ahead:
 *   v = u v + g + d w      w = w - r (g + d w + u v)
 * The parameters are those at which the gradient is taken: the form of Sutskever,
 * Martens, Dahl and Hinton, On the importance of initialization and momentum in deep
 * learning, 2013, in the shifted variable; the idea is Nesterov's, 1983. */
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
        const float slope = gradient[i] + decay * parameter[i];
        velocity[i] = momentum * velocity[i] + slope;
        parameter[i] -= rate * (slope + momentum * velocity[i]);
    }
}

const optimiser_kind optimiser_kind_nesterov = {
    .uses = USES_MOMENTUM, .vectors = 1, .rate = 0.03, .update = update};
