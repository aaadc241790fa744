/* neighbours.c - virtual gossip: in round t a worker averages with its neighbours of
 * that round, and waits for them, not for all. What it waits for does not depend on
 * when others finish, so rounds are computed one after another, and times with them. */
#include "virtual/world.h"

#include "memory.h"

#include <rondo/status.h>
#include <stdlib.h>
#include <string.h>

typedef struct neighbours {
    world *w;
    double *ready; /* When each worker begins its next step; */
    double *ended; /* when it has computed this one. */
    float **mixed; /* Each worker's average, and then its former parameters. */
    rondo_gossip_term *term;
    const float **vector; /* Of the terms. */
    samples over;         /* When each round was over for all; */
    uint64_t closed;      /* so many are, when the first worker begins the next. */
} neighbours;

static bool
neighbours_create(world *w, neighbours *n, problem *why)
{
    *n = (neighbours){.w = w};
    n->ready = calloc(w->workers, sizeof *n->ready);
    n->ended = calloc(w->workers, sizeof *n->ended);
    n->mixed = calloc(w->workers, sizeof *n->mixed);
    n->term = calloc(w->workers, sizeof *n->term);
    n->vector = calloc(w->workers, sizeof *n->vector);
    if (n->ready == NULL || n->ended == NULL || n->mixed == NULL || n->term == NULL ||
        n->vector == NULL) {
        return problem_fail(why, "no memory for %u workers", w->workers);
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        n->mixed[i] = memory_floats(w->count, why);
        if (n->mixed[i] == NULL) {
            return false;
        }
    }
    return true;
}

static void
neighbours_free(neighbours *n)
{
    for (uint32_t i = 0; n->mixed != NULL && i < n->w->workers; i++) {
        memory_free(n->mixed[i]);
    }
    free(n->ready);
    free(n->ended);
    free(n->mixed);
    free(n->term);
    free((void *)n->vector);
    samples_free(&n->over);
}

/* One worker's average, and when it has it. */
static bool
mix(neighbours *n, uint64_t round, world_step *now, problem *why)
{
    const uint32_t worker = now->worker;
    world *w = n->w;
    uint32_t terms = 0;
    if (rondo_gossip_terms(w->t->o->graph, w->workers, worker, round, n->term,
                           w->workers, &terms) != RONDO_OK) {
        return problem_fail(why, "gossip: %s", rondo_error_text());
    }
    double last = n->ended[worker];
    for (uint32_t i = 0; i < terms; i++) {
        const uint32_t from = n->term[i].rank;
        n->vector[i] = w->worker[from].own;
        last = n->ended[from] > last ? n->ended[from] : last;
    }
    rondo_gossip_mix(n->term, terms, n->vector, w->count, n->mixed[worker]);
    const double sending = terms > 1 ? world_transfer(w, w->vector_bytes) : 0.0;
    now->wait_ended = last;
    now->ended = last + sending;
    now->vectors = terms - 1;
    n->ready[worker] = now->ended;
    return true;
}

/* A step's gradient at the worker's parameters, and the update with it, which is of the
 * average. */
static bool
step_of(neighbours *n, uint32_t worker, uint64_t step, world_update *u, problem *why)
{
    world *w = n->w;
    world_worker *one = &w->worker[worker];
    const world_ask ask = {
        .worker = worker, .step = step, .parameter = one->own, .scale = world_scale(w)};
    world_part part;
    if (!world_gradient(w, &ask, w->gradient, &part, why)) {
        return false;
    }
    world_step now = {.worker = worker,
                      .began = n->ready[worker],
                      .compute_began = n->ready[worker],
                      .compute_ended = n->ended[worker],
                      .wait_began = n->ended[worker],
                      .version = step - 1,
                      .staleness = -1.0,
                      .images = part.images,
                      .loss = part.loss};
    if (!mix(n, step - 1, &now, why) || !world_step_done(w, &now, why)) {
        return false;
    }
    u->loss += part.loss / w->workers;
    u->images += part.images;
    w->counts.gradients.used++;
    if (!w->timing) {
        optimiser_step(&one->descent, (float)u->rate, w->gradient, n->mixed[worker]);
    }
    return true;
}

/* How many rounds the first worker is ahead of the last at the moment when it begins
 * the next: those that some worker ends later. */
static bool
note_spread(neighbours *n, double last, problem *why)
{
    double first = last;
    for (uint32_t i = 0; i < n->w->workers; i++) {
        first = n->ready[i] < first ? n->ready[i] : first;
    }
    if (!samples_add(&n->over, last, why)) {
        return false;
    }
    while (n->closed < n->over.count && n->over.value[n->closed] <= first) {
        n->closed++;
    }
    world_note_spread(n->w, n->over.count - n->closed);
    return true;
}

static bool
run_round(neighbours *n, uint64_t step, world_update *u, problem *why)
{
    world *w = n->w;
    for (uint32_t i = 0; i < w->workers; i++) {
        n->ended[i] = n->ready[i] + world_begin(w, i);
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        if (!step_of(n, i, step, u, why)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        float *own = w->worker[i].own;
        w->worker[i].own = n->mixed[i];
        n->mixed[i] = own;
        u->time = n->ready[i] > u->time ? n->ready[i] : u->time;
    }
    return note_spread(n, u->time, why);
}

static bool
run(neighbours *n, problem *why)
{
    world *w = n->w;
    for (uint64_t step = 1; !world_done(w); step++) {
        world_update u = {.rate = world_rate(w), .seen = world_mean, .user = w};
        if (!run_round(n, step, &u, why) || !world_updated(w, &u, why)) {
            return false;
        }
    }
    return true;
}

bool
world_run_neighbours(world *w, problem *why)
{
    neighbours n;
    const bool good = neighbours_create(w, &n, why) && run(&n, why);
    neighbours_free(&n);
    return good;
}
