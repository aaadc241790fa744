/* pairs.c - virtual ad-gossip: each worker steps at its own pace; after a step, one
 * with an even number averages with an odd one that a draw picks, which does not wait
 * for it. The gradient is of the parameters at the step's start. */
#include "virtual/world.h"

#include "memory.h"
#include "random.h"
#include "virtual/events.h"

#include <stdlib.h>
#include <string.h>

typedef struct pairs {
    world *w;
    events next;
    float **gradient; /* Of each worker's step, count + 1; */
    world_step *now;  /* and what it is made of. */
} pairs;

static bool
pairs_create(world *w, pairs *p, problem *why)
{
    *p = (pairs){.w = w};
    world_set_updates(w, w->workers);
    p->gradient = calloc(w->workers, sizeof *p->gradient);
    p->now = calloc(w->workers, sizeof *p->now);
    if (p->gradient == NULL || p->now == NULL) {
        return problem_fail(why, "no memory for %u workers", w->workers);
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        p->gradient[i] = memory_floats(w->count + 1, why);
        if (p->gradient[i] == NULL) {
            return false;
        }
    }
    return true;
}

static void
pairs_free(pairs *p)
{
    for (uint32_t i = 0; p->gradient != NULL && i < p->w->workers; i++) {
        memory_free(p->gradient[i]);
    }
    free(p->gradient);
    free(p->now);
    events_free(&p->next);
}

static bool
asks(const pairs *p, uint32_t worker)
{
    return p->w->workers > 1 && worker % 2 == 0;
}

static bool
begin(pairs *p, uint32_t worker, double now, problem *why)
{
    world *w = p->w;
    world_worker *one = &w->worker[worker];
    const double seconds = world_begin(w, worker);
    const world_ask ask = {.worker = worker,
                           .step = one->step,
                           .parameter = one->own,
                           .scale = world_scale(w)};
    world_part part;
    if (!world_gradient(w, &ask, p->gradient[worker], &part, why)) {
        return false;
    }
    const double sending = asks(p, worker) ? world_transfer(w, w->vector_bytes) : 0.0;
    const double ended = now + seconds + sending;
    p->now[worker] = (world_step){.worker = worker,
                                  .began = now,
                                  .compute_began = now,
                                  .compute_ended = now + seconds,
                                  .wait_began = ended,
                                  .wait_ended = ended,
                                  .ended = ended,
                                  .version = one->step - 1,
                                  .staleness = -1.0,
                                  .images = part.images,
                                  .loss = part.loss};
    const event end = {.time = ended, .worker = worker, .attempt = one->step};
    return events_put(&p->next, &end, why);
}

/* Both become their mean. */
static void
average(pairs *p, uint32_t worker)
{
    world *w = p->w;
    const random_stream stream = random_open(w->t->o->seed, RANDOM_PAIRS, worker);
    const uint64_t draw = random_bits(stream, w->worker[worker].step);
    const uint32_t other = 2 * (uint32_t)(draw % (w->workers / 2)) + 1;
    const rondo_gossip_term term[2] = {{.rank = worker, .weight = 0.5f},
                                       {.rank = other, .weight = 0.5f}};
    float *mean = w->worker[worker].own;
    const float *const vector[2] = {mean, w->worker[other].own};
    rondo_gossip_mix(term, 2, vector, w->count, mean);
    memcpy(w->worker[other].own, mean, w->count * sizeof *mean);
    p->now[worker].vectors += 1.0;
    p->now[other].vectors += 1.0;
}

static uint64_t
apart(const world *w)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < w->workers; i++) {
        least = w->worker[i].step < least ? w->worker[i].step : least;
        most = w->worker[i].step > most ? w->worker[i].step : most;
    }
    return most - least;
}

static bool
end(pairs *p, const event *e, problem *why)
{
    world *w = p->w;
    world_worker *one = &w->worker[e->worker];
    if (asks(p, e->worker)) {
        average(p, e->worker);
    }
    const world_update u = {.time = e->time,
                            .loss = p->now[e->worker].loss,
                            .images = p->now[e->worker].images,
                            .rate = world_rate(w),
                            .seen = world_mean,
                            .user = w};
    if (!w->timing) {
        optimiser_step(&one->descent, (float)u.rate, p->gradient[e->worker], one->own);
    }
    w->counts.gradients.used++;
    world_note_spread(w, apart(w));
    return world_step_done(w, &p->now[e->worker], why) && world_updated(w, &u, why) &&
           (world_done(w) || begin(p, e->worker, e->time, why));
}

static bool
run(pairs *p, problem *why)
{
    for (uint32_t i = 0; i < p->w->workers; i++) {
        if (!begin(p, i, 0.0, why)) {
            return false;
        }
    }
    event e;
    while (!world_done(p->w) && events_take(&p->next, &e)) {
        if (!end(p, &e, why)) {
            return false;
        }
    }
    return true;
}

bool
world_run_pairs(world *w, problem *why)
{
    pairs p;
    const bool good = pairs_create(w, &p, why) && run(&p, why);
    pairs_free(&p);
    return good;
}
