/* optimiser.c - the table of optimisers, and what they share (see optimiser.h). */
#include "optimiser.h"

#include "clones.h"
#include "memory.h"

#include <math.h>
#include <stddef.h>

#define ROW_WORD(upper, lower) #lower,
#define ROW_KIND(upper, lower) &optimiser_kind_##lower,

const char *const optimiser_words[] = {OPTIMISER_LIST(ROW_WORD) NULL};
static const optimiser_kind *const kinds[] = {OPTIMISER_LIST(ROW_KIND)};

const optimiser_kind *
optimiser_kind_of(train_optimiser which)
{
    return kinds[which];
}

bool
optimiser_create(train_optimiser which, const model *net,
                 const optimiser_settings *settings, optimiser *result, problem *why)
{
    optimiser o = {.kind = kinds[which], .net = net, .settings = *settings};
    if (o.kind->vectors > 0) {
        o.first = memory_floats(net->parameters, why);
    }
    if (o.kind->vectors > 1 && o.first != NULL) {
        o.second = memory_floats(net->parameters, why);
    }
    if ((o.kind->vectors > 0 && o.first == NULL) ||
        (o.kind->vectors > 1 && o.second == NULL)) {
        optimiser_free(&o);
        return false;
    }
    *result = o;
    return true;
}

void
optimiser_free(optimiser *o)
{
    memory_free(o->first);
    memory_free(o->second);
    o->first = NULL;
    o->second = NULL;
}

/* What of `tensor` is in the part. */
static void
update_tensor(const optimiser *o, float rate, const optimiser_part *part,
              uint32_t tensor)
{
    const uint32_t l = tensor / 2;
    const bool bias = tensor % 2 == 1;
    const uint64_t at = bias ? o->net->bias_at[l] : o->net->weight_at[l];
    const uint64_t count = bias ? o->net->m[l] : (uint64_t)o->net->k[l] * o->net->m[l];
    const uint64_t from = at > part->from ? at : part->from;
    const uint64_t here = part->from + part->count;
    const uint64_t end = at + count < here ? at + count : here;
    if (from >= end) {
        return;
    }
    const tensor_update t = {.count = end - from,
                             .bias = bias,
                             .gradient = part->gradient + (from - part->from),
                             .parameter = part->parameter + (from - part->from),
                             .first = o->first != NULL ? o->first + from : NULL,
                             .second = o->second != NULL ? o->second + from : NULL};
    o->kind->update(o, rate, &t);
}

void
optimiser_step_part(optimiser *o, float rate, const optimiser_part *part)
{
    o->steps++;
    for (uint32_t tensor = 0; tensor < 2 * o->net->layers; tensor++) {
        update_tensor(o, rate, part, tensor);
    }
}

void
optimiser_step(optimiser *o, float rate, const float *gradient, float *parameter)
{
    const optimiser_part all = {
        .count = o->net->parameters, .gradient = gradient, .parameter = parameter};
    optimiser_step_part(o, rate, &all);
}

/* --- for the formulas ------------------------------------------------------------ */

#define LANES 8u

TRAINER_CLONES double
optimiser_norm(const float *vector, uint64_t count)
{
    /* Lanes written out, so that the sum is the same on vectors of any width. */
    double sum[LANES] = {0.0};
    const uint64_t whole = count / LANES * LANES;
    for (uint64_t i = 0; i < whole; i += LANES) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            sum[lane] += (double)vector[i + lane] * (double)vector[i + lane];
        }
    }
    for (uint64_t i = whole; i < count; i++) {
        sum[i - whole] += (double)vector[i] * (double)vector[i];
    }
    for (uint32_t apart = LANES / 2; apart > 0; apart /= 2) {
        for (uint32_t lane = 0; lane < apart; lane++) {
            sum[lane] += sum[lane + apart];
        }
    }
    return sqrt(sum[0]);
}

TRAINER_CLONES static void
move_moments(float beta1, float beta2, const tensor_update *t)
{
    const float *restrict gradient = t->gradient;
    float *restrict first = t->first;
    float *restrict second = t->second;
    for (uint64_t i = 0; i < t->count; i++) {
        const float g = gradient[i];
        first[i] = beta1 * first[i] + (1.0f - beta1) * g;
        second[i] = beta2 * second[i] + (1.0f - beta2) * (g * g);
    }
}

moment_factors
optimiser_moments(const optimiser *o, const tensor_update *t)
{
    const double beta1 = o->settings.beta1;
    const double beta2 = o->settings.beta2;
    const double step = (double)o->steps;
    move_moments((float)beta1, (float)beta2, t);
    return (moment_factors){.first = (float)(1.0 / (1.0 - pow(beta1, step))),
                            .second = (float)(1.0 / (1.0 - pow(beta2, step)))};
}
