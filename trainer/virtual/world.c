/* world.c - a virtual run: its workers, their steps and gradients (see world.h). */
#include "virtual/world.h"

#include "clones.h"
#include "memory.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of a vector where nothing is computed: enough to see workers come together. */
#define TIMING_VALUES 64u

/* Its own parameters: those of the run; where nothing is computed, drawn ones, so that
 * there is something to average. */
static bool
create_own(world *w, uint32_t worker, problem *why)
{
    world_worker *one = &w->worker[worker];
    one->own = memory_floats(w->count, why);
    if (one->own == NULL) {
        return false;
    }
    if (!w->timing) {
        memcpy(one->own, w->t->parameter, w->count * sizeof *one->own);
        return optimiser_create(w->t->o->optimiser, &w->t->net, &w->t->o->settings,
                                &one->descent, why);
    }
    const random_stream stream = random_open(w->t->o->seed, RANDOM_WEIGHTS, worker);
    for (uint64_t i = 0; i < w->count; i++) {
        one->own[i] = random_normal(stream, i);
    }
    return true;
}

bool
world_create(trainer *t, bool own, world *w, problem *why)
{
    const options *o = t->o;
    const bool timing = o->virtual_timing_only;
    *w = (world){.t = t,
                 .workers = t->workers,
                 .timing = timing,
                 .count = timing ? TIMING_VALUES : t->net.parameters,
                 .vector_bytes = (double)t->net.parameters * sizeof(float),
                 .orders = orders_like(&t->order)};
    world_set_updates(w, 1);
    if (!straggler_read(o->straggler, o->seed, &w->times, why)) {
        return false;
    }
    if (w->times.kind == STRAGGLER_SLOW && w->times.worker >= w->workers) {
        return problem_usage(why,
                             "--straggler: there is no worker %u, the last of %u is %u",
                             w->times.worker, w->workers, w->workers - 1);
    }
    w->worker = calloc(w->workers, sizeof *w->worker);
    if (w->worker == NULL) {
        return problem_fail(why, "no memory for %u workers", w->workers);
    }
    w->gradient = memory_floats(w->count + 1, why);
    w->seen = w->gradient != NULL ? memory_floats(w->count, why) : NULL;
    for (uint32_t i = 0; w->seen != NULL && own && i < w->workers; i++) {
        if (!create_own(w, i, why)) {
            return false;
        }
    }
    return w->seen != NULL && world_create_steps(w, why);
}

void
world_free(world *w)
{
    for (uint32_t i = 0; w->worker != NULL && i < w->workers; i++) {
        memory_free(w->worker[i].own);
        optimiser_free(&w->worker[i].descent);
        free(w->worker[i].step_seconds);
    }
    free(w->worker);
    w->worker = NULL;
    memory_free(w->gradient);
    memory_free(w->seen);
    samples_free(&w->intervals);
    orders_free(&w->orders);
}

double
world_begin(world *w, uint32_t worker)
{
    w->counts.started++;
    return straggler_seconds(&w->times, worker, ++w->worker[worker].step);
}

double
world_transfer(const world *w, double bytes)
{
    const options *o = w->t->o;
    const double latency = o->virtual_latency > 0.0 ? o->virtual_latency : 0.0;
    return latency + (o->virtual_bandwidth > 0.0 ? bytes / o->virtual_bandwidth : 0.0);
}

float
world_scale(const world *w)
{
    return (float)w->workers / (float)w->t->run.global_batch;
}

bool
world_gradient(world *w, const world_ask *ask, float *gradient, world_part *part,
               problem *why)
{
    sampler_part taken;
    trainer *t = w->t;
    if (w->timing) {
        const uint64_t batch = t->run.global_batch;
        const uint64_t end = batch * (ask->worker + 1) / w->workers;
        *part = (world_part){.images = end - batch * ask->worker / w->workers};
        return true;
    }
    if (!orders_take(&w->orders, ask->step, ask->worker, w->workers, &taken, why)) {
        return false;
    }
    const gradient_of of = {.net = &t->net,
                            .parameter = ask->parameter,
                            .images = &t->set->train,
                            .scale = ask->scale > 0.0f ? ask->scale
                                                       : 1.0f / (float)taken.count,
                            .t = &t->t};
    gradient_in_passes(&t->passes, &of, taken, gradient, (layer_done){.call = NULL});
    const double loss = (double)gradient[w->count];
    *part = (world_part){.images = taken.count, .loss = loss};
    return isfinite(loss) ||
           problem_fail(why,
                        "the loss of worker %u is not finite in its step %llu: "
                        "training has diverged; a lower --lr than %g may help",
                        ask->worker, (unsigned long long)ask->step, t->o->rate);
}

TRAINER_CLONES static void
add(uint64_t count, const float *restrict term, float *restrict sum)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += term[i];
    }
}

TRAINER_CLONES static void
divide(uint64_t count, float divisor, float *vector)
{
    for (uint64_t i = 0; i < count; i++) {
        vector[i] /= divisor;
    }
}

void
world_add(uint64_t count, const float *term, float *sum)
{
    add(count, term, sum);
}

void
world_divide(uint64_t count, uint32_t by, float *vector)
{
    divide(count, (float)by, vector);
}

const float *
world_mean(void *user)
{
    world *w = user;
    memcpy(w->seen, w->worker[0].own, w->count * sizeof *w->seen);
    for (uint32_t i = 1; i < w->workers; i++) {
        add(w->count, w->worker[i].own, w->seen);
    }
    divide(w->count, (float)w->workers, w->seen);
    return w->seen;
}

double
world_distance(world *w)
{
    const float *mean = world_mean(w);
    double sum = 0.0;
    for (uint32_t i = 0; i < w->workers; i++) {
        for (uint64_t k = 0; k < w->count; k++) {
            const double apart = (double)w->worker[i].own[k] - (double)mean[k];
            sum += apart * apart;
        }
    }
    return sqrt(sum / w->workers);
}

void
world_note_spread(world *w, uint64_t spread)
{
    if (spread > w->counts.spread) {
        w->counts.spread = spread;
    }
}

void
world_note_staleness(world *w, uint64_t staleness)
{
    world_counts *c = &w->counts;
    const uint64_t last = GRADIENT_STALENESS_MAX;
    c->gradients.staleness[staleness < last ? staleness : last]++;
    c->staleness_sum += staleness;
    if (staleness > c->staleness_largest) {
        c->staleness_largest = staleness;
    }
}
