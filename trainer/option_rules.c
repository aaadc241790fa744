/* option_rules.c - what options mean together: refuses what makes no sense, and fills
 * in what depends on others (see options_complete). */
#include "options.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_DEFAULT        64u
#define MICRO_BATCH_DEFAULT  32u
#define DECAY_FACTOR_DEFAULT 0.1

static bool
complete_batch(options *o, problem *why)
{
    if (o->batch > 0 && o->global_batch > 0) {
        return problem_usage(why,
                             "--batch %" PRIu64 " and --global-batch %" PRIu64
                             ": give one; the other follows from the ranks",
                             o->batch, o->global_batch);
    }
    if (o->micro_batch > 0 && !o->canonical) {
        return problem_usage(why,
                             "--micro-batch %" PRIu64 " without --canonical: only a "
                             "canonical gradient is made from pieces",
                             o->micro_batch);
    }
    if (o->accumulate > 1 && o->canonical) {
        return problem_usage(why,
                             "--accumulate %" PRIu64
                             " with --canonical: its pieces are "
                             "passes already; --micro-batch gives their size",
                             o->accumulate);
    }
    if (o->batch == 0 && o->global_batch == 0) {
        o->batch = BATCH_DEFAULT;
    }
    if (o->canonical && o->micro_batch == 0) {
        o->micro_batch = MICRO_BATCH_DEFAULT;
    }
    return true;
}

static bool
complete_model(options *o, problem *why)
{
    const model_kind *kind = model_kind_of(o->model);
    if (kind->hidden_count < 0) {
        const bool given = o->hidden_count != HIDDEN_NOT_GIVEN;
        o->hidden_count = 0;
        return !given ||
               problem_usage(why, "--hidden with --model %s: it has no hidden layer",
                             model_words[o->model]);
    }
    if (o->hidden_count == HIDDEN_NOT_GIVEN) {
        o->hidden_count = (uint32_t)kind->hidden_count;
        memcpy(o->hidden, kind->hidden, sizeof o->hidden);
    }
    return true;
}

/* An option of some optimisers alone: used or refused, given or not. */
typedef struct setting {
    const char *name;
    double *value;
    optimiser_use use;
    double otherwise; /* Where it is used and not given. */
} setting;

static bool
complete_optimiser(options *o, problem *why)
{
    const optimiser_kind *kind = optimiser_kind_of(o->optimiser);
    const setting row[] = {
        {"--momentum", &o->settings.momentum, USES_MOMENTUM, 0.9},
        {"--beta1", &o->settings.beta1, USES_BETAS, 0.9},
        {"--beta2", &o->settings.beta2, USES_BETAS, 0.999},
        {"--epsilon", &o->settings.epsilon, USES_BETAS, kind->epsilon},
        {"--trust", &o->settings.trust, USES_TRUST, 0.01},
    };
    for (uint32_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const bool given = *row[i].value >= 0.0;
        const bool used = (kind->uses & (uint32_t)row[i].use) != 0;
        if (given && !used) {
            return problem_usage(why, "%s %g with --optimiser %s: its formula has none",
                                 row[i].name, *row[i].value,
                                 optimiser_words[o->optimiser]);
        }
        if (!given && used) {
            *row[i].value = row[i].otherwise;
        }
    }
    if (o->rate < 0.0) {
        o->rate = kind->rate;
    }
    return true;
}

static bool
complete_schedule(options *o, problem *why)
{
    const bool by_steps = o->schedule == RATE_STEPS;
    if (!by_steps && o->decay_every > 0) {
        return problem_usage(why,
                             "--decay-every %" PRIu64 " with --schedule %s: only "
                             "--schedule steps goes down in steps",
                             o->decay_every, options_schedule_text(o->schedule));
    }
    if (!by_steps && o->decay_factor >= 0.0) {
        return problem_usage(why,
                             "--decay-factor %g with --schedule %s: only --schedule "
                             "steps goes down in steps",
                             o->decay_factor, options_schedule_text(o->schedule));
    }
    if (o->warmup >= (double)o->epochs) {
        return problem_usage(why,
                             "--warmup %g of --epochs %" PRIu64
                             ": nothing is left for the rate it leads to",
                             o->warmup, o->epochs);
    }
    if (by_steps && o->decay_every == 0) {
        o->decay_every = (o->epochs + 2) / 3;
    }
    if (by_steps && o->decay_factor < 0.0) {
        o->decay_factor = DECAY_FACTOR_DEFAULT;
    }
    return true;
}

bool
options_complete(options *o, problem *why)
{
    return complete_batch(o, why) && options_complete_mode(o, why) &&
           complete_model(o, why) && complete_optimiser(o, why) &&
           complete_schedule(o, why);
}
