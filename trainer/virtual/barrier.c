/* barrier.c - virtual sync, local and diloco: all workers meet, after each step or
 * after --local-steps of them, and the slowest says when. */
#include "virtual/world.h"

#include "memory.h"

#include <rondo/status.h>
#include <stdlib.h>
#include <string.h>

typedef struct barrier {
    world *w;
    float *sum;      /* count + 1: gradients, in the order of workers. */
    float *anchor;   /* Of diloco, count; */
    float *velocity; /* likewise. */
    double *clock;   /* Of each worker. */
    world_step *now; /* Likewise: the step it is in. */
    rondo_outer_config outer;
} barrier;

static bool
barrier_create(world *w, barrier *b, problem *why)
{
    const trainer *t = w->t;
    *b = (barrier){.w = w};
    b->clock = calloc(w->workers, sizeof *b->clock);
    b->now = calloc(w->workers, sizeof *b->now);
    if (b->clock == NULL || b->now == NULL) {
        return problem_fail(why, "no memory for %u clocks", w->workers);
    }
    b->sum = memory_floats(w->count + 1, why);
    if (b->sum == NULL || t->o->mode != TRAIN_DILOCO) {
        return b->sum != NULL;
    }
    rondo_outer_config_init(&b->outer);
    b->outer.rate = (float)t->o->outer_rate;
    b->outer.momentum = (float)t->o->outer_momentum;
    b->anchor = memory_floats(w->count, why);
    b->velocity = b->anchor != NULL ? memory_floats(w->count, why) : NULL;
    if (b->velocity == NULL) {
        return false;
    }
    memcpy(b->anchor, world_mean(w), w->count * sizeof *b->anchor);
    return true;
}

static void
barrier_free(barrier *b)
{
    free(b->clock);
    free(b->now);
    memory_free(b->sum);
    memory_free(b->anchor);
    memory_free(b->velocity);
}

static double
slowest(const barrier *b)
{
    double last = 0.0;
    for (uint32_t i = 0; i < b->w->workers; i++) {
        last = b->clock[i] > last ? b->clock[i] : last;
    }
    return last;
}

/* An all-reduce on a ring: 2 (N - 1) times a piece of 1 / N of the vector. */
static double
all_reduce_seconds(const world *w)
{
    const double turns = 2.0 * (w->workers - 1.0);
    return turns * world_transfer(w, w->vector_bytes / w->workers);
}

/* Each waits for the slowest; then all exchange a vector. */
static void
meet(barrier *b)
{
    world *w = b->w;
    const double last = slowest(b);
    const double cost = all_reduce_seconds(w);
    for (uint32_t i = 0; i < w->workers; i++) {
        world_step *now = &b->now[i];
        now->wait_began = b->clock[i];
        now->wait_ended = last;
        now->vectors = 1.0;
        b->clock[i] = last + cost;
    }
}

/* Every worker's gradient, and their mean loss. `each` is called after one. */
typedef bool (*after_gradient)(barrier *b, uint32_t worker, problem *why);

static bool
compute(barrier *b, uint64_t step, after_gradient each, world_update *u, problem *why)
{
    world *w = b->w;
    for (uint32_t i = 0; i < w->workers; i++) {
        const double began = b->clock[i];
        b->clock[i] += world_begin(w, i);
        const float *own = w->worker[i].own;
        const world_ask ask = {.worker = i,
                               .step = step,
                               .parameter = own != NULL ? own : w->t->parameter,
                               .scale = world_scale(w)};
        world_part part;
        if (!world_gradient(w, &ask, w->gradient, &part, why)) {
            return false;
        }
        u->loss += part.loss / w->workers;
        u->images += part.images;
        b->now[i] = (world_step){.worker = i,
                                 .began = began,
                                 .compute_began = began,
                                 .compute_ended = b->clock[i],
                                 .wait_began = b->clock[i],
                                 .wait_ended = b->clock[i],
                                 .version = step - 1,
                                 .staleness = own == NULL ? 0.0 : -1.0,
                                 .images = part.images,
                                 .loss = part.loss};
        if (!w->timing && !each(b, i, why)) {
            return false;
        }
    }
    w->counts.gradients.used += w->workers;
    return true;
}

static bool
add_up(barrier *b, uint32_t worker, problem *why)
{
    world *w = b->w;
    (void)why;
    if (worker == 0) {
        memcpy(b->sum, w->gradient, w->count * sizeof *b->sum);
    } else {
        world_add(w->count, w->gradient, b->sum);
    }
    return true;
}

static bool
update_own(barrier *b, uint32_t worker, problem *why)
{
    world *w = b->w;
    (void)why;
    optimiser_step(&w->worker[worker].descent, (float)world_rate(w), w->gradient,
                   w->worker[worker].own);
    return true;
}

/* A step of sync: everybody's update is the same. */
static bool
step_together(barrier *b, uint64_t step, world_update *u, problem *why)
{
    world *w = b->w;
    if (!compute(b, step, add_up, u, why)) {
        return false;
    }
    meet(b);
    if (w->timing) {
        return true;
    }
    world_divide(w->count, w->workers, b->sum);
    if (w->worker[0].own == NULL) {
        optimiser_step(&w->t->descent, (float)u->rate, b->sum, w->t->parameter);
        return true;
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        optimiser_step(&w->worker[i].descent, (float)u->rate, b->sum, w->worker[i].own);
    }
    return true;
}

/* The average of what workers have come to is where all go on. */
static bool
average(barrier *b, problem *why)
{
    world *w = b->w;
    meet(b);
    const float *from = world_mean(w);
    if (b->anchor != NULL) {
        if (rondo_outer_step(&b->outer, from, w->count, b->anchor, b->velocity) !=
            RONDO_OK) {
            return problem_fail(why, "the outer update: %s", rondo_error_text());
        }
        from = b->anchor;
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        memcpy(w->worker[i].own, from, w->count * sizeof *from);
    }
    return true;
}

static bool
step_alone(barrier *b, uint64_t step, world_update *u, problem *why)
{
    const options *o = b->w->t->o;
    if (!compute(b, step, update_own, u, why)) {
        return false;
    }
    const uint64_t alone = step - o->local_from;
    const bool last = step == b->w->t->steps_end;
    return (alone % o->local_steps != 0 && !last) || average(b, why);
}

static const float *
shared(void *user)
{
    const world *w = user;
    return w->timing ? w->seen : w->t->parameter;
}

static bool
close_steps(barrier *b, problem *why)
{
    for (uint32_t i = 0; i < b->w->workers; i++) {
        b->now[i].ended = b->clock[i];
        if (!world_step_done(b->w, &b->now[i], why)) {
            return false;
        }
    }
    return true;
}

static bool
run(barrier *b, problem *why)
{
    world *w = b->w;
    const bool sync = w->worker[0].own == NULL;
    for (uint64_t step = 1; !world_done(w); step++) {
        world_update u = {
            .rate = world_rate(w), .seen = sync ? shared : world_mean, .user = w};
        const bool together = sync || step <= w->t->o->local_from;
        if (!(together ? step_together : step_alone)(b, step, &u, why)) {
            return false;
        }
        u.time = slowest(b);
        if (!close_steps(b, why) || !world_updated(w, &u, why)) {
            return false;
        }
    }
    return true;
}

bool
world_run_barrier(world *w, problem *why)
{
    barrier b;
    const bool good = barrier_create(w, &b, why) && run(&b, why);
    barrier_free(&b);
    return good;
}
