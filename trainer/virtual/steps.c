/* steps.c - a virtual worker's steps: what they cost, for its records and the trace
 * (see world.h). */
#include "virtual/world.h"

#include <stdlib.h>

/* Steps from one worker record to the next; 0: none. */
static uint64_t
record_steps(const world *w)
{
    const uint64_t every = w->t->o->log_every;
    return every < ACCOUNT_STEPS_MAX ? every : ACCOUNT_STEPS_MAX;
}

bool
world_create_steps(world *w, problem *why)
{
    const uint64_t every = record_steps(w);
    for (uint32_t i = 0; i < w->workers && every > 0 && w->t->metrics.wanted; i++) {
        w->worker[i].step_seconds = calloc(every, sizeof(double));
        if (w->worker[i].step_seconds == NULL) {
            return problem_fail(why, "no memory for the times of steps");
        }
    }
    return true;
}

static bool
write_record(world *w, uint32_t worker, problem *why)
{
    world_worker *one = &w->worker[worker];
    worker_record r = one->record;
    r.worker = worker;
    r.staleness = one->stale > 0 ? one->staleness / (double)one->stale : -1.0;
    r.step_seconds = one->step_seconds;
    one->record = (worker_record){
        .step = r.step, .version = r.version, .images = r.images, .loss = r.loss};
    one->stale = 0;
    one->staleness = 0.0;
    return metrics_worker(&w->t->metrics, &r, why);
}

static void
trace_part(world *w, const world_step *s, span_kind kind, double began, double ended)
{
    const world_worker *one = &w->worker[s->worker];
    if (ended > began && one->record.step <= w->t->o->trace_steps) {
        const trace_event part = {.rank = s->worker,
                                  .kind = kind,
                                  .index = one->record.step,
                                  .began = began,
                                  .ended = ended};
        trace_add(&w->t->trace, &part);
    }
}

/* What a step is made of, in the order of time. */
static void
trace_parts(world *w, const world_step *s)
{
    const bool server = w->worker[0].own == NULL && w->t->o->mode != TRAIN_SYNC;
    trace_part(w, s, SPAN_STEP, s->began, s->ended);
    trace_part(w, s, SPAN_PULL, s->began, s->compute_began);
    trace_part(w, s, SPAN_STRAGGLE, s->compute_began, s->compute_ended);
    trace_part(w, s, server ? SPAN_PUSH : SPAN_AVERAGE, s->compute_ended,
               s->wait_began);
    trace_part(w, s, SPAN_WAIT, s->wait_began, s->wait_ended);
    trace_part(w, s, SPAN_AVERAGE, s->wait_ended, s->ended);
}

bool
world_step_done(world *w, const world_step *s, problem *why)
{
    world_worker *one = &w->worker[s->worker];
    worker_record *r = &one->record;
    const double seconds = s->ended - s->began;
    const double compute = s->compute_ended - s->compute_began;
    const double wait = s->wait_ended - s->wait_began;
    one->waiting += wait;
    one->sending += seconds - compute - wait;
    r->step++;
    r->version = s->version;
    r->images += s->images;
    r->loss = s->loss;
    r->elapsed = s->ended;
    r->seconds += seconds;
    r->compute += compute;
    r->communicate += seconds - compute - wait;
    r->wait += wait;
    r->bytes += s->vectors * w->vector_bytes;
    if (s->staleness >= 0.0) {
        one->staleness += s->staleness;
        one->stale++;
    }
    w->counts.vectors += (uint64_t)s->vectors;
    trace_parts(w, s);
    if (one->step_seconds == NULL) {
        return true;
    }
    one->step_seconds[r->steps++] = seconds;
    return r->steps < record_steps(w) || write_record(w, s->worker, why);
}

bool
world_finish_steps(world *w, problem *why)
{
    for (uint32_t i = 0; i < w->workers; i++) {
        if (w->worker[i].step_seconds != NULL && w->worker[i].record.steps > 0 &&
            !write_record(w, i, why)) {
            return false;
        }
    }
    return trace_write(&w->t->trace, why);
}
