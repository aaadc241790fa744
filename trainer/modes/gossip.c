/* gossip.c - D-PSGD: in each step a rank takes the weighted mean of its neighbours'
 * parameters and its own, then makes its update with the gradient that it computed
 * before: x = sum W x - r g. Other formulas of the optimiser likewise: they move the
 * mean (weight decay is of the mean), by the gradient from before it. What they
 * remember stays each rank's own.
 *
 * The run's result is the mean over all ranks.
 *
 * Source: Lian et al., "Can decentralized algorithms outperform centralized
 * algorithms?", 2017. */
#include "memory.h"
#include "modes/mode.h"
#include "pace.h"
#include "trainer.h"

#include <stdlib.h>

typedef struct gossip_state {
    rondo_gossip *gossip;
    rondo_gossip_term *term; /* As many as ranks at the start. */
    float *gradient;
} gossip_state;

static bool
open_gossip(trainer *t, problem *why)
{
    gossip_state *state = t->mode_state;
    rondo_gossip_destroy(state->gossip);
    state->gossip = NULL;
    const rondo_status status = rondo_gossip_create(t->all->comm, t->o->graph,
                                                    t->net.parameters, &state->gossip);
    return status == RONDO_OK || ranks_fail(t->all, status, "planning gossip", why);
}

static bool
create(trainer *t, problem *why)
{
    gossip_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return problem_fail(why, "no memory for mode gossip");
    }
    t->mode_state = state;
    state->gradient = memory_floats(t->net.parameters + 1, why);
    state->term = calloc(t->group->names, sizeof *state->term);
    if (state->term == NULL) {
        return problem_fail(why, "no memory for %u neighbours", t->group->names);
    }
    return state->gradient != NULL && open_gossip(t, why);
}

static bool
round_of_gossip(trainer *t, problem *why)
{
    gossip_state *state = t->mode_state;
    uint32_t terms = 0;
    rondo_status status =
        rondo_gossip_terms(t->o->graph, t->all->count, t->all->rank, t->step,
                           state->term, t->group->names, &terms);
    if (status == RONDO_OK) {
        span_begin(t->t.spans, SPAN_AVERAGE, t->step);
        /* Also after a checkpoint, or in a new group. */
        rondo_gossip_seek(state->gossip, t->step);
        status = rondo_gossip_round(state->gossip, t->parameter);
        span_end(t->t.spans);
    }
    if (status != RONDO_OK) {
        return ranks_fail(t->all, status, "averaging with neighbours", why);
    }
    trainer_sent(t, (double)(terms - 1) * (double)t->net.parameters * sizeof(float));
    return true;
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    gossip_state *state = t->mode_state;
    trainer_gradient(t, trainer_scale(t), state->gradient, (layer_done){.call = NULL});
    (void)pace_keep(t, (pace_idle){.call = NULL});
    if (!round_of_gossip(t, why)) {
        return false;
    }
    s->loss = (double)state->gradient[t->net.parameters];
    trainer_update(t, s->rate, state->gradient);
    return true;
}

static void
part(trainer *t)
{
    gossip_state *state = t->mode_state;
    rondo_gossip_destroy(state->gossip);
    state->gossip = NULL;
}

/* Ranks go on with what they have; one that has come back takes the mean, as do then
 * all. */
static bool
regroup(trainer *t, problem *why)
{
    return open_gossip(t, why) && (!t->has_newcomers || trainer_average(t, NULL, why));
}

static bool
finish(trainer *t, problem *why)
{
    return trainer_average(t, NULL, why);
}

static void
release(trainer *t)
{
    gossip_state *state = t->mode_state;
    if (state != NULL) {
        rondo_gossip_destroy(state->gossip);
        memory_free(state->gradient);
        free(state->term);
        free(state);
        t->mode_state = NULL;
    }
}

const mode_kind mode_kind_gossip = {.help = "means with neighbours, every step",
                                    .traits =
                                        MODE_LOCKSTEP | MODE_SURVIVES | MODE_REJOIN,
                                    .create = create,
                                    .step = step,
                                    .part = part,
                                    .regroup = regroup,
                                    .finish = finish,
                                    .free = release};
