/* ad_gossip.c - AD-PSGD: ranks train at their own pace and average parameters in pairs.
 * A gradient is computed from a copy of the parameters, since others may average with
 * this rank meanwhile; then comes an average with a random rank (asked for by even
 * ranks, answered by odd ones), then the update. What the optimiser remembers stays
 * each rank's own.
 *
 * The run's result is the mean over all ranks.
 *
 * Source: Lian et al., "Asynchronous decentralized parallel SGD", 2018. */
#include "memory.h"
#include "modes/mode.h"
#include "pace.h"
#include "random.h"
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_CHANNEL 12u

typedef struct pairs_state {
    trainer *t;
    rondo_pairs *pairs;
    uint64_t exchanges; /* Of pairs, counted so far. */
    float *copy;
    float *gradient;
    rondo_status failed; /* The first failure in a poll. */
} pairs_state;

static bool
open_pairs(trainer *t, problem *why)
{
    pairs_state *state = t->mode_state;
    rondo_pairs_destroy(state->pairs);
    state->pairs = NULL;
    state->exchanges = 0;
    state->failed = RONDO_OK;
    const rondo_status status = rondo_pairs_create(
        t->all->comm, PAIRS_CHANNEL, t->parameter, t->net.parameters, &state->pairs);
    return status == RONDO_OK || ranks_fail(t->all, status, "planning pairs", why);
}

static bool
create(trainer *t, problem *why)
{
    pairs_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return problem_fail(why, "no memory for mode ad-gossip");
    }
    t->mode_state = state;
    state->t = t;
    state->copy = memory_floats(t->net.parameters, why);
    state->gradient = memory_floats(t->net.parameters + 1, why);
    return state->copy != NULL && state->gradient != NULL && open_pairs(t, why);
}

/* Answers those who ask. False: the communicator is broken. */
static bool
answer(void *user)
{
    pairs_state *state = user;
    if (state->failed == RONDO_OK) {
        state->failed = rondo_pairs_poll(state->pairs);
    }
    return state->failed == RONDO_OK;
}

static void
answer_between_layers(void *user, uint32_t layer)
{
    (void)layer;
    (void)answer(user);
}

static void
count_exchanges(trainer *t)
{
    pairs_state *state = t->mode_state;
    const uint64_t now = rondo_pairs_exchanges(state->pairs);
    trainer_sent(t, (double)(now - state->exchanges) * (double)t->net.parameters *
                        sizeof(float));
    state->exchanges = now;
}

static bool
average_in_a_pair(trainer *t, uint64_t step, problem *why)
{
    pairs_state *state = t->mode_state;
    const random_stream stream = random_open(t->o->seed, RANDOM_PAIRS, t->worker);
    rondo_status status = state->failed;
    if (status == RONDO_OK) {
        span_begin(t->t.spans, SPAN_AVERAGE, step);
        status = rondo_pairs_step(state->pairs, random_bits(stream, step));
        span_end(t->t.spans);
    }
    if (status != RONDO_OK) {
        return ranks_fail(t->all, status, "averaging in a pair", why);
    }
    count_exchanges(t);
    return true;
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    pairs_state *state = t->mode_state;
    memcpy(state->copy, t->parameter, t->net.parameters * sizeof *state->copy);
    trainer_gradient_at(t, state->copy, trainer_scale(t), state->gradient,
                        (layer_done){.call = answer_between_layers, .user = state});
    (void)pace_keep(t, (pace_idle){.call = answer, .user = state});
    if (!average_in_a_pair(t, s->step, why)) {
        return false;
    }
    s->loss = (double)state->gradient[t->net.parameters];
    trainer_update(t, s->rate, state->gradient);
    return true;
}

static void
part(trainer *t)
{
    pairs_state *state = t->mode_state;
    rondo_pairs_destroy(state->pairs);
    state->pairs = NULL;
}

/* As in gossip. */
static bool
regroup(trainer *t, problem *why)
{
    /* The mean first: nobody averages in pairs before all have it. */
    return (!t->has_newcomers || trainer_average(t, NULL, why)) && open_pairs(t, why);
}

static bool
finish(trainer *t, problem *why)
{
    pairs_state *state = t->mode_state;
    const rondo_status status = rondo_pairs_leave(state->pairs);
    if (status != RONDO_OK) {
        return ranks_fail(t->all, status, "waiting for the last pairs", why);
    }
    count_exchanges(t);
    return trainer_average(t, NULL, why);
}

static void
release(trainer *t)
{
    pairs_state *state = t->mode_state;
    if (state != NULL) {
        rondo_pairs_destroy(state->pairs);
        memory_free(state->copy);
        memory_free(state->gradient);
        free(state);
        t->mode_state = NULL;
    }
}

const mode_kind mode_kind_ad_gossip = {.help = "means in pairs, at any time",
                                       .traits = MODE_SURVIVES | MODE_REJOIN,
                                       .create = create,
                                       .step = step,
                                       .part = part,
                                       .regroup = regroup,
                                       .finish = finish,
                                       .free = release};
