/* mean_step.c - all ranks make the same update (see mean_step.h). Method: bucketed
 * all-reduce beside backward, see rondo/sync.h. */
#include "modes/mean_step.h"

#include "clock.h"
#include "pace.h"

bool
mean_step_create(trainer *t, mean_step *result, problem *why)
{
    const uint32_t piece = (uint32_t)t->o->micro_batch;
    if (t->o->canonical &&
        !gradient_tree_create(&t->net, t->run.global_batch / piece / t->all->count,
                              piece, &result->tree, why)) {
        return false;
    }
    if (!exchange_create(t->all, &t->net, t->o->canonical, &result->exchange, why)) {
        return false;
    }
    result->exchange.spans = &t->account.spans;
    return true;
}

void
mean_step_free(mean_step *m)
{
    exchange_free(&m->exchange);
    gradient_tree_free(&m->tree);
}

static void
all_done(const trainer *t, layer_done done)
{
    for (uint32_t layer = t->net.layers; layer-- > 0;) {
        done.call(done.user, layer);
    }
}

/* The pieces' bits must not know the number of ranks. That is a power of two, and so
 * multiplying by it here and dividing in the exchange change no bits. */
static void
canonical_gradient(trainer *t, const gradient_tree *tree, float *gradient)
{
    const gradient_of of = {.net = &t->net,
                            .parameter = t->parameter,
                            .images = &t->set->train,
                            .scale = 1.0f / (float)t->run.global_batch,
                            .t = &t->t};
    t->gradient_began = clock_seconds();
    gradient_by_tree(tree, &of, t->sample, gradient);
    gradient_multiply(&t->net, (float)t->all->count, gradient);
}

/* This rank's gradient of the mean loss over the step's images, on its way while
 * backward still runs. */
static void
compute_gradient(mean_step *m, trainer *t)
{
    float *gradient = m->exchange.gradient;
    const layer_done done = {.call = exchange_layer_done, .user = &m->exchange};
    if (!t->o->canonical && t->slow.kind == STRAGGLER_NONE) {
        trainer_gradient(t, trainer_scale(t), gradient, done);
        return;
    }
    if (t->o->canonical) {
        canonical_gradient(t, &m->tree, gradient);
    } else {
        trainer_gradient(t, trainer_scale(t), gradient, (layer_done){.call = NULL});
    }
    /* A slow rank's gradient must not be there before its time. */
    (void)pace_keep(t, (pace_idle){.call = NULL});
    all_done(t, done);
}

bool
mean_step_do(mean_step *m, trainer *t, mode_step *s, problem *why)
{
    exchange *e = &m->exchange;
    if (!exchange_begin(e, why)) {
        return false;
    }
    compute_gradient(m, t);
    if (!exchange_wait(e, why)) {
        return false;
    }
    t->wait_seconds += e->wait_seconds;
    trainer_sent(t, e->payload_bytes);
    s->loss = (double)e->gradient[t->net.parameters];
    trainer_update(t, s->rate, e->gradient);
    return true;
}

bool
mean_step_regroup(mean_step *m, trainer *t, problem *why)
{
    return trainer_adopt(t, why) && mean_step_create(t, m, why);
}
