/* sync.c - every step all ranks make the same update with the mean gradient. Method:
 * bucketed all-reduce beside backward (see rondo/sync.h). */
#include "exchange.h"
#include "modes/mode.h"
#include "trainer.h"

#include <stdlib.h>

typedef struct sync_state {
    exchange exchange;
    gradient_tree tree; /* With --canonical only. */
} sync_state;

static bool
create(trainer *t, problem *why)
{
    sync_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return problem_fail(why, "no memory for mode sync");
    }
    t->mode_state = state;
    const uint32_t piece = (uint32_t)t->o->micro_batch;
    if (t->o->canonical &&
        !gradient_tree_create(&t->net, t->run.global_batch / piece / t->all->count,
                              piece, &state->tree, why)) {
        return false;
    }
    return exchange_create(t->all, &t->net, t->o->canonical, &state->exchange, why);
}

/* This rank's gradient of the mean loss over the global batch, on its way while
 * backward still runs. */
static void
compute_gradient(trainer *t, sync_state *state)
{
    exchange *e = &state->exchange;
    if (!t->o->canonical) {
        trainer_gradient(t, trainer_scale(t), e->gradient,
                         (layer_done){.call = exchange_layer_done, .user = e});
        return;
    }
    const gradient_of of = {.net = &t->net,
                            .parameter = t->parameter,
                            .images = &t->set->train,
                            .scale = 1.0f / (float)t->run.global_batch,
                            .t = &t->t};
    /* The pieces' bits must not know the number of ranks. That is a power of two, and
     * so multiplying by it here and dividing in the exchange change no bits. */
    gradient_by_tree(&state->tree, &of, t->sample, e->gradient);
    gradient_multiply(&t->net, (float)t->all->count, e->gradient);
    for (uint32_t layer = t->net.layers; layer-- > 0;) {
        exchange_layer_done(e, layer);
    }
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    sync_state *state = t->mode_state;
    exchange *e = &state->exchange;
    if (!exchange_begin(e, why)) {
        return false;
    }
    compute_gradient(t, state);
    if (!exchange_wait(e, why)) {
        return false;
    }
    t->wait_seconds += e->wait_seconds;
    t->payload_bytes += e->payload_bytes;
    s->loss = (double)e->gradient[t->net.parameters];
    optimiser_step(&t->descent, s->rate, e->gradient, t->parameter);
    return true;
}

static void
release(trainer *t)
{
    sync_state *state = t->mode_state;
    if (state != NULL) {
        exchange_free(&state->exchange);
        gradient_tree_free(&state->tree);
        free(state);
        t->mode_state = NULL;
    }
}

const mode_kind mode_kind_sync = {.help = "mean gradient every step",
                                  .traits = MODE_EQUAL | MODE_LOCKSTEP,
                                  .create = create,
                                  .step = step,
                                  .free = release};
