/* optimiser_lars.c - momentum u with a rate of its own for each layer, for large
 * batches. For a tensor of weights, with the trust c:
 *   q = c |w| / (|g| + d |w|)
 *   v = u v + r q (g + d w)      w = w - v
 * Biases, and weights whose |w| or |g| is 0, take q = c; biases do not decay.
 * Source: You, Gitman and Ginsburg, Large batch training of convolutional networks,
 * 2017. */
#include "clones.h"
#include "optimiser.h"

TRAINER_CLONES static void
move(float rate, float momentum, float decay, const tensor_update *t)
{
    const float *restrict gradient = t->gradient;
    float *restrict parameter = t->parameter;
    float *restrict velocity = t->first;
    for (uint64_t i = 0; i < t->count; i++) {
        velocity[i] =
            momentum * velocity[i] + rate * (gradient[i] + decay * parameter[i]);
        parameter[i] -= velocity[i];
    }
}

static void
update(const optimiser *o, float rate, const tensor_update *t)
{
    const float momentum = (float)o->settings.momentum;
    if (t->bias) {
        move(rate * (float)o->settings.trust, momentum, 0.0f, t);
        return;
    }
    const double decay = o->settings.weight_decay;
    const double weights = optimiser_norm(t->parameter, t->count);
    const double slopes = optimiser_norm(t->gradient, t->count);
    double local = 1.0;
    if (weights > 0.0 && slopes > 0.0) {
        local = weights / (slopes + decay * weights);
    }
    move(rate * (float)(o->settings.trust * local), momentum, (float)decay, t);
}

const optimiser_kind optimiser_kind_lars = {.uses =
                                                USES_MOMENTUM | USES_TRUST | USES_NORMS,
                                            .vectors = 1,
                                            .rate = 1,
                                            .update = update};
