/* updates.c - a virtual run's updates, and the records of steps, epochs and its end
 * that they make up (see world.h). */
#include "virtual/world.h"

#include "clock.h"
#include "evaluate.h"
#include "hash.h"

#include <math.h>
#include <stdio.h>

void
world_set_updates(world *w, uint32_t in_a_step)
{
    w->updates_step = in_a_step;
    w->updates_epoch = (uint64_t)w->t->run.steps_per_epoch * in_a_step;
    w->updates_end = w->t->steps_end * in_a_step;
}

bool
world_done(const world *w)
{
    return w->updates >= w->updates_end;
}

double
world_rate(const world *w)
{
    const uint64_t step = w->updates / w->updates_step;
    const uint64_t last = w->t->rate.steps - 1;
    return rate_at(&w->t->rate, step < last ? step : last);
}

static bool
is_due(uint64_t every, uint64_t step)
{
    return every > 0 && step % every == 0;
}

static hash_record
hash_of(const world *w, const float *seen)
{
    return (hash_record){.taken = true,
                         .value = hash_bytes(seen, w->count * sizeof *seen)};
}

/* After the last update of a step: so many as there are workers, or one. */
static bool
close_step(world *w, const world_update *u, problem *why)
{
    trainer *t = w->t;
    const uint64_t number = w->updates / w->updates_step;
    step_record r = {.step = number,
                     .epoch = w->last.epoch + 1,
                     .loss = w->step_loss / w->updates_step,
                     .rate = u->rate,
                     .elapsed = u->time,
                     .images = w->images};
    w->step_loss = 0.0;
    if (!w->timing) {
        progress_step(&t->progress, &r, u->time - w->last.elapsed);
    }
    const bool hash_due = is_due(t->o->hash_every, number);
    if (!hash_due && !is_due(t->o->log_every, number)) {
        return true;
    }
    if (hash_due) {
        r.hash = hash_of(w, u->seen(u->user));
    }
    if (w->worker[0].own != NULL) {
        r.apart = true;
        r.distance = world_distance(w);
    }
    return metrics_step(&t->metrics, &r, why);
}

static bool
all_finite(const float *vector, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(vector[i])) {
            return false;
        }
    }
    return true;
}

static bool
close_epoch(world *w, const world_update *u, problem *why)
{
    trainer *t = w->t;
    const float *seen = u->seen(u->user);
    const double seconds = u->time - w->last.elapsed;
    epoch_record r = {.step = w->updates / w->updates_step,
                      .epoch = w->last.epoch + 1,
                      .loss = w->epoch_loss / (double)w->epoch_updates,
                      .seconds = seconds,
                      .elapsed = u->time,
                      .images = w->images,
                      .hash = hash_of(w, seen)};
    if (!all_finite(seen, w->count)) {
        return problem_fail(why,
                            "a parameter is not finite after step %llu: training has "
                            "diverged; a lower --lr than %g may help",
                            (unsigned long long)r.step, t->o->rate);
    }
    const double images = (double)(w->images - w->last.images);
    r.images_second = seconds > 0.0 ? images / seconds : 0.0;
    if (!w->timing) {
        const evaluate_share all = {.share = 0, .shares = 1};
        const uint64_t correct =
            evaluate_correct(&t->net, seen, &t->set->test, all, &t->t);
        r.test_accuracy = (double)correct / t->set->test.images;
    }
    w->last = r;
    w->epoch_loss = 0.0;
    w->epoch_updates = 0;
    if (!w->timing) {
        progress_epoch(&t->progress, &r);
    }
    return metrics_epoch(&t->metrics, &r, why);
}

bool
world_updated(world *w, const world_update *u, problem *why)
{
    w->updates++;
    w->images += u->images;
    w->step_loss += u->loss;
    w->epoch_loss += u->loss;
    w->epoch_updates++;
    if (!samples_add(&w->intervals, u->time - w->now, why)) {
        return false;
    }
    w->now = u->time;
    if (w->updates % w->updates_step == 0 && !close_step(w, u, why)) {
        return false;
    }
    const bool over = w->updates % w->updates_epoch == 0 || world_done(w);
    return !over || close_epoch(w, u, why);
}

/* --- the end --------------------------------------------------------------------- */

/* The smallest staleness that `share` of the used gradients do not exceed. */
static uint64_t
staleness_at(const world_counts *c, double share)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < GRADIENT_STALENESS_MAX + 1; i++) {
        total += c->gradients.staleness[i];
    }
    uint64_t below = 0;
    for (uint32_t i = 0; i < GRADIENT_STALENESS_MAX + 1; i++) {
        below += c->gradients.staleness[i];
        if (total > 0 && (double)below >= share * (double)total) {
            return i;
        }
    }
    return 0;
}

static void
fill_in_times(world *w, virtual_record *r)
{
    samples *s = &w->intervals;
    samples_sort(s);
    r->update_mean = s->count > 0 ? s->sum / (double)s->count : 0.0;
    r->update_p50 = samples_at(s, 0.50);
    r->update_p90 = samples_at(s, 0.90);
    r->update_p95 = samples_at(s, 0.95);
    r->update_p99 = samples_at(s, 0.99);
    r->update_largest = samples_at(s, 1.0);
    double waiting = 0.0;
    double sending = 0.0;
    for (uint32_t i = 0; i < w->workers; i++) {
        waiting += w->worker[i].waiting;
        sending += w->worker[i].sending;
    }
    const double all = w->now * w->workers;
    r->wait_share = all > 0.0 ? waiting / all : 0.0;
    r->communicate_share = all > 0.0 ? sending / all : 0.0;
}

static void
fill_in_counts(const world *w, virtual_record *r)
{
    const world_counts *c = &w->counts;
    r->workers = w->workers;
    r->updates = w->updates;
    r->started = c->started;
    r->given_up = c->started - c->gradients.used - c->gradients.dropped;
    r->spread = c->spread;
    r->staleness_mean = c->gradients.used > 0
                            ? (double)c->staleness_sum / (double)c->gradients.used
                            : 0.0;
    r->staleness_p50 = staleness_at(c, 0.50);
    r->staleness_p99 = staleness_at(c, 0.99);
    r->staleness_largest = c->staleness_largest;
    r->staleness_open = c->staleness_open;
}

/* What a virtual run is for. */
static void
print_times(const world *w, const virtual_record *v)
{
    if (w->t->o->quiet && !w->timing) {
        return;
    }
    (void)printf("virtual time %.2f s: %.2f ms from update to update (median %.2f, "
                 "99 %% within %.2f), %.1f %% waiting",
                 w->now, 1e3 * v->update_mean, 1e3 * v->update_p50, 1e3 * v->update_p99,
                 100.0 * v->wait_share);
    if (v->staleness_largest > 0) {
        (void)printf(", staleness %.2f, at most %llu", v->staleness_mean,
                     (unsigned long long)v->staleness_largest);
    }
    (void)printf("\n");
}

bool
world_finish(world *w, problem *why)
{
    trainer *t = w->t;
    const world_counts *c = &w->counts;
    virtual_record v = {.workers = w->workers};
    fill_in_times(w, &v);
    fill_in_counts(w, &v);
    const double vectors = (double)c->vectors / w->workers;
    const final_record r = {.steps = w->last.step,
                            .images = w->images,
                            .test_accuracy = w->last.test_accuracy,
                            .seconds = w->now,
                            .images_second =
                                w->now > 0.0 ? (double)w->images / w->now : 0.0,
                            .total_seconds = clock_seconds() - t->began,
                            .wait_seconds = v.wait_share * w->now,
                            .payload_bytes = vectors * w->vector_bytes,
                            .hash = w->last.hash.value,
                            .gradients = c->gradients,
                            .virtual_time = &v};
    if (!world_finish_steps(w, why) || !metrics_final(&t->metrics, &t->run, &r, why)) {
        return false;
    }
    if (!w->timing) {
        progress_final(&t->progress, &r);
    }
    print_times(w, &v);
    return true;
}
