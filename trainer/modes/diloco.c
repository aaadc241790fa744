/* diloco.c - as local, but the mean is not where the ranks go on from: it is where the
 * common anchor is pulled to, by an outer optimiser with momentum. Inner updates are
 * AdamW's unless another --optimiser is given.
 *
 * Source: Douillard et al., "DiLoCo: distributed low-communication training of language
 * models", 2023. */
#include "checkpoint.h"
#include "memory.h"
#include "modes/mode.h"
#include "pace.h"
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

typedef struct diloco_state {
    float *gradient;
    float *anchor;   /* Equal on all ranks, as is the next. */
    float *velocity; /* Of the outer update. */
    uint64_t outer;  /* The step of the last outer update. */
} diloco_state;

static uint64_t
bytes_of(const trainer *t)
{
    return t->net.parameters * sizeof(float);
}

static bool
create(trainer *t, problem *why)
{
    diloco_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return problem_fail(why, "no memory for mode diloco");
    }
    t->mode_state = state;
    state->gradient = memory_floats(t->net.parameters + 1, why);
    state->anchor = memory_floats(t->net.parameters, why);
    state->velocity = memory_floats(t->net.parameters, why);
    if (state->gradient == NULL || state->anchor == NULL || state->velocity == NULL) {
        return false;
    }
    memcpy(state->anchor, t->parameter, bytes_of(t));
    return true;
}

static bool
outer_update(trainer *t, uint64_t step, double *loss, problem *why)
{
    diloco_state *state = t->mode_state;
    rondo_outer_config config;
    rondo_outer_config_init(&config);
    config.rate = (float)t->o->outer_rate;
    config.momentum = (float)t->o->outer_momentum;
    if (!trainer_average(t, loss, why)) {
        return false;
    }
    const rondo_status status = rondo_outer_step(
        &config, t->parameter, t->net.parameters, state->anchor, state->velocity);
    if (status != RONDO_OK) {
        return ranks_fail(t->all, status, "the outer update", why);
    }
    memcpy(t->parameter, state->anchor, bytes_of(t));
    state->outer = step;
    return true;
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    diloco_state *state = t->mode_state;
    trainer_gradient(t, trainer_scale(t), state->gradient, (layer_done){.call = NULL});
    (void)pace_keep(t, (pace_idle){.call = NULL});
    trainer_update(t, s->rate, state->gradient);
    s->loss = (double)state->gradient[t->net.parameters];
    return s->step % t->o->local_steps != 0 || outer_update(t, s->step, &s->loss, why);
}

/* All take the anchor of the rank that is furthest. One that has missed an outer
 * update, or is new, starts from there; its own inner steps are lost. */
static bool
regroup(trainer *t, problem *why)
{
    diloco_state *state = t->mode_state;
    uint64_t outer = state->outer;
    if (!ranks_adopt(t->all, t->furthest, state->anchor, bytes_of(t), why) ||
        !ranks_adopt(t->all, t->furthest, state->velocity, bytes_of(t), why) ||
        !ranks_adopt(t->all, t->furthest, &outer, sizeof outer, why)) {
        return false;
    }
    if (t->newcomer || outer != state->outer) {
        memcpy(t->parameter, state->anchor, bytes_of(t));
        state->outer = outer;
    }
    return true;
}

static bool
finish(trainer *t, problem *why)
{
    const diloco_state *state = t->mode_state;
    return state->outer == t->step || outer_update(t, t->step, NULL, why);
}

static void
list_state(trainer *t, state_list *list)
{
    diloco_state *state = t->mode_state;
    state_add(list, "diloco.anchor", state->anchor, bytes_of(t));
    state_add(list, "diloco.velocity", state->velocity, bytes_of(t));
    state_add(list, "diloco.outer", &state->outer, sizeof state->outer);
}

static void
release(trainer *t)
{
    diloco_state *state = t->mode_state;
    if (state != NULL) {
        memory_free(state->gradient);
        memory_free(state->anchor);
        memory_free(state->velocity);
        free(state);
        t->mode_state = NULL;
    }
}

const mode_kind mode_kind_diloco = {.help = "own updates, an outer one now and then",
                                    .traits =
                                        MODE_LOCKSTEP | MODE_SURVIVES | MODE_REJOIN,
                                    .create = create,
                                    .step = step,
                                    .regroup = regroup,
                                    .finish = finish,
                                    .free = release,
                                    .state = list_state};
