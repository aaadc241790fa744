/* optimiser_lamb.c - Adam with a rate of its own for each layer, for large batches.
 * With the moments m and s of optimiser.h, made up for their start, and a small e:
 *   p = m / (sqrt(s) + e) + d w      w = w - r (|w| / |p|) p
 * Biases take |w| / |p| = 1 and do not decay, and so do weights with a norm of 0.
 * Source: You et al., Large batch optimization for deep learning: training BERT in 76
 * minutes, 2020, with the identity for its scaling function. */
#include "clones.h"
#include "optimiser.h"

#include <math.h>

/* A pass over p that nobody keeps costs less than a vector that does. */
static inline float
direction(const tensor_update *t, uint64_t i, float decay, float epsilon,
          moment_factors by)
{
    return t->first[i] * by.first / (sqrtf(t->second[i] * by.second) + epsilon) +
           decay * t->parameter[i];
}

static double
direction_norm(const tensor_update *t, float decay, float epsilon, moment_factors by)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < t->count; i++) {
        const double p = (double)direction(t, i, decay, epsilon, by);
        sum += p * p;
    }
    return sqrt(sum);
}

TRAINER_CLONES static void
move(float rate, float decay, float epsilon, moment_factors by, const tensor_update *t)
{
    for (uint64_t i = 0; i < t->count; i++) {
        t->parameter[i] -= rate * direction(t, i, decay, epsilon, by);
    }
}

static void
update(const optimiser *o, float rate, const tensor_update *t)
{
    const moment_factors by = optimiser_moments(o, t);
    const float epsilon = (float)o->settings.epsilon;
    const float decay = t->bias ? 0.0f : (float)o->settings.weight_decay;
    double ratio = 1.0;
    if (!t->bias) {
        const double weights = optimiser_norm(t->parameter, t->count);
        const double length = direction_norm(t, decay, epsilon, by);
        ratio = weights > 0.0 && length > 0.0 ? weights / length : 1.0;
    }
    move((float)((double)rate * ratio), decay, epsilon, by, t);
}

const optimiser_kind optimiser_kind_lamb = {.uses = USES_BETAS | USES_NORMS,
                                            .vectors = 2,
                                            .rate = 0.02,
                                            .epsilon = 1e-6,
                                            .update = update};
