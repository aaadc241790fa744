/* loop.c - the training loop. A step is the mode's (see modes/mode.h); here is what
 * stands around it: epochs, records, hashes, evaluation, the end. */
#include "trainer.h"

#include "agree.h"
#include "clock.h"
#include "evaluate.h"
#include "hash.h"

#include <inttypes.h>
#include <math.h>

static bool
has(const trainer *t, mode_trait trait)
{
    return (t->mode->traits & (uint32_t)trait) != 0;
}

static bool
not_finite(const trainer *t, const char *what, uint64_t step, problem *why)
{
    (void)problem_fail(why,
                       "%s is not finite after step %" PRIu64
                       ": training has diverged; "
                       "a lower --lr than %g may help",
                       what, step, t->o->rate);
    why->known_to_all = has(t, MODE_EQUAL);
    return false;
}

/* This rank's images of the next step. */
static void
take_sample(trainer *t)
{
    const uint64_t epoch = t->step / t->run.steps_per_epoch + 1;
    if (t->epoch != epoch) {
        sampler_start_epoch(&t->order, (uint32_t)epoch);
        t->epoch = epoch;
    }
    const uint32_t place = (uint32_t)(t->step % t->run.steps_per_epoch);
    /* In lockstep the living share all images; otherwise a dead worker's are left out
     * until it is back. */
    if (has(t, MODE_LOCKSTEP)) {
        t->sample = sampler_take(&t->order, place, t->all->rank, t->all->count);
        t->step_images = t->run.global_batch;
    } else {
        t->sample = sampler_take(&t->order, place, t->worker, t->workers);
        t->step_images = t->sample.count;
    }
}

/* With servers it is they who know. */
static void
count_gradient(trainer *t)
{
    if (!has(t, MODE_SERVERS)) {
        t->gradients.used++;
        t->gradients.staleness[0] += has(t, MODE_EQUAL);
    }
}

static bool
train_step(trainer *t, step_record *r, problem *why)
{
    const double rate = rate_at(&t->rate, t->step);
    mode_step s = {.step = t->step + 1, .rate = (float)rate};
    take_sample(t);
    account_step_begin(&t->account, s.step);
    account_version(&t->account, t->step); /* Unless the mode knows better. */
    if (!t->mode->step(t, &s, why)) {
        return false;
    }
    *r = (step_record){.step = s.step, .epoch = t->epoch, .loss = s.loss, .rate = rate};
    if (!isfinite(s.loss)) {
        return not_finite(t, "the loss", s.step, why);
    }
    t->step++;
    t->images += t->step_images;
    count_gradient(t);
    return account_step_end(
        &t->account, &(account_step){.images = t->sample.count, .loss = s.loss}, why);
}

/* Images of all workers so far; an estimate where the others have a pace of their
 * own. */
static uint64_t
images_so_far(const trainer *t)
{
    return has(t, MODE_LOCKSTEP) ? t->images
                                 : status_images(&t->status, t->worker, t->images);
}

/* The hash of the parameters, compared over the ranks where they are to be equal. */
static bool
take_hash(const trainer *t, uint64_t step, hash_record *hash, problem *why)
{
    const uint64_t value =
        hash_bytes(t->parameter, t->net.parameters * sizeof *t->parameter);
    if (has(t, MODE_EQUAL) && !agree_parameters(t->all, value, step, why)) {
        return false;
    }
    *hash = (hash_record){.taken = true, .value = value};
    return true;
}

static bool
is_due(uint64_t every, uint64_t step)
{
    return every > 0 && step % every == 0;
}

static bool
report_step(trainer *t, step_record *r, double elapsed, problem *why)
{
    r->elapsed = t->seconds + elapsed;
    r->images = images_so_far(t);
    const bool hash_due = is_due(t->o->hash_every, r->step);
    if (hash_due && !take_hash(t, r->step, &r->hash, why)) {
        return false;
    }
    if ((hash_due || is_due(t->o->log_every, r->step)) &&
        !metrics_step(&t->metrics, r, why)) {
        return false;
    }
    progress_step(&t->progress, r, elapsed);
    return true;
}

/* The steps of an epoch; fills in *r but for what close_epoch does. */
static bool
train_epoch(trainer *t, epoch_record *r, problem *why)
{
    const double start = clock_seconds();
    const uint64_t images = images_so_far(t);
    const uint64_t epoch = t->step / t->run.steps_per_epoch + 1;
    const uint64_t whole = epoch * t->run.steps_per_epoch;
    const uint64_t end = whole < t->steps_end ? whole : t->steps_end;
    double loss = 0.0;
    uint64_t steps = 0;
    for (; t->step < end; steps++) {
        step_record step;
        if (!train_step(t, &step, why) ||
            !report_step(t, &step, clock_seconds() - start, why)) {
            return false;
        }
        loss += step.loss;
    }
    if (end == t->steps_end && t->mode->finish != NULL && !t->mode->finish(t, why)) {
        return false;
    }
    *r = (epoch_record){.step = t->step,
                        .epoch = epoch,
                        .loss = loss / (double)steps,
                        .seconds = clock_seconds() - start,
                        .images = images_so_far(t)};
    t->seconds += r->seconds;
    r->elapsed = t->seconds;
    /* The others may tell of their images a moment late; close_run knows better. */
    r->images_second =
        r->images > images ? (double)(r->images - images) / r->seconds : 0.0;
    return true;
}

/* Equal parameters: the ranks share the test images. Otherwise one rank speaks for
 * itself; in lockstep the others wait, so that nobody's steps are held up by it. */
static bool
test_accuracy(trainer *t, double *accuracy, problem *why)
{
    const bool shared = has(t, MODE_EQUAL) && has(t, MODE_LOCKSTEP);
    evaluate_share mine = {.share = 0, .shares = 1};
    if (shared) {
        mine = (evaluate_share){.share = t->all->rank, .shares = t->all->count};
    }
    uint64_t correct = 0;
    if (shared || t->reports) {
        span_begin(&t->account.spans, SPAN_EVALUATE, 0);
        correct = evaluate_correct(&t->net, t->parameter, &t->set->test, mine, &t->t);
        span_end(&t->account.spans);
    }
    if (has(t, MODE_LOCKSTEP) && !ranks_sum(t->all, &correct, why)) {
        return false;
    }
    *accuracy = (double)correct / t->set->test.images;
    return true;
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

/* After the steps of an epoch: what came out of them. */
static bool
close_epoch(trainer *t, epoch_record *r, problem *why)
{
    /* The last update of an epoch may be the one that diverges. */
    if (!all_finite(t->parameter, t->net.parameters)) {
        return not_finite(t, "a parameter", r->step, why);
    }
    const bool settled = t->step == t->steps_end || t->mode->settle == NULL;
    if ((!settled && !t->mode->settle(t, why)) ||
        !take_hash(t, r->step, &r->hash, why) ||
        !test_accuracy(t, &r->test_accuracy, why) ||
        !metrics_epoch(&t->metrics, r, why)) {
        return false;
    }
    progress_epoch(&t->progress, r);
    return true;
}

/* What became of the gradients, as far as each rank knows, becomes that of all. */
static bool
add_gradients(trainer *t, problem *why)
{
    return ranks_sum_all(t->all, (uint64_t *)&t->gradients,
                         sizeof t->gradients / sizeof(uint64_t), why);
}

static bool
close_run(trainer *t, const epoch_record *last, problem *why)
{
    double slowest = t->seconds;
    uint64_t images = t->images;
    if (!account_finish(&t->account, why) || !add_gradients(t, why) ||
        !ranks_largest(t->all, &slowest, why) ||
        (!has(t, MODE_LOCKSTEP) && !ranks_sum(t->all, &images, why))) {
        return false;
    }
    const final_record r = {.steps = last->step,
                            .images = images,
                            .test_accuracy = last->test_accuracy,
                            .seconds = slowest,
                            .images_second = (double)images / slowest,
                            .total_seconds = clock_seconds() - t->began,
                            .wait_seconds = t->wait_seconds,
                            .payload_bytes = t->payload_bytes,
                            .hash = last->hash.value,
                            .gradients = t->gradients};
    if (!metrics_final(&t->metrics, &t->run, &r, why)) {
        return false;
    }
    if (t->reports && !trace_merge(&t->trace, t->group->names, why)) {
        return false;
    }
    progress_final(&t->progress, &r);
    return true;
}

bool
trainer_run(trainer *t, problem *why)
{
    epoch_record r = {.step = 0};
    progress_start(&t->progress);
    while (t->step < t->steps_end) {
        if (!train_epoch(t, &r, why) || !close_epoch(t, &r, why)) {
            return false;
        }
    }
    return close_run(t, &r, why);
}
