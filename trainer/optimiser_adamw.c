/* optimiser_adamw.c - Adam with decay apart from the gradient. With the moments m and s
 * of optimiser.h, made up for their start, and a small e:
 *   w = w - r (m / (sqrt(s) + e) + d w)
 * Source: Kingma and Ba, Adam, 2015; Loshchilov and Hutter, Decoupled weight decay
 * regularization, 2019, with the decay multiplied by the rate. */
#include "clones.h"
#include "optimiser.h"

#include <math.h>

TRAINER_CLONES static void
move(float rate, float decay, float epsilon, moment_factors by, const tensor_update *t)
{
    const float *restrict first = t->first;
    const float *restrict second = t->second;
    float *restrict parameter = t->parameter;
    for (uint64_t i = 0; i < t->count; i++) {
        const float scale = sqrtf(second[i] * by.second) + epsilon;
        parameter[i] -= rate * (first[i] * by.first / scale + decay * parameter[i]);
    }
}

static void
update(const optimiser *o, float rate, const tensor_update *t)
{
    const moment_factors by = optimiser_moments(o, t);
    move(rate, (float)o->settings.weight_decay, (float)o->settings.epsilon, by, t);
}

const optimiser_kind optimiser_kind_adamw = {
    .uses = USES_BETAS, .vectors = 2, .rate = 0.001, .epsilon = 1e-8, .update = update};
