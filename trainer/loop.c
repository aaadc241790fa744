/* loop.c - the training loop. A step is the mode's (see modes/mode.h); here is what
 * stands around it: epochs, records, hashes, evaluation, the end. */
#include "trainer.h"

#include "agree.h"
#include "checkpoint.h"
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

/* Ranks have equal parameters at the same time: they compare and evaluate together. */
static bool
shares_results(const trainer *t)
{
    return has(t, MODE_EQUAL) && has(t, MODE_LOCKSTEP);
}

static bool
not_finite(const trainer *t, const char *what, uint64_t step, problem *why)
{
    (void)problem_fail(why,
                       "%s is not finite after step %" PRIu64
                       ": training has diverged; "
                       "a lower --lr than %g may help",
                       what, step, t->o->rate);
    why->known_to_all = shares_results(t);
    return false;
}

/* Where the next step is: its epoch's order, its images of this rank. */
static void
take_sample(trainer *t)
{
    const uint64_t epoch = t->step / t->epoch_steps + 1;
    const uint32_t place = (uint32_t)(t->step % t->epoch_steps);
    const bool own = t->own.own != NULL;
    const bool together = has(t, MODE_LOCKSTEP);
    if (t->epoch != epoch && own) {
        shard_start_epoch(&t->own, (uint32_t)epoch);
    } else if (t->epoch != epoch) {
        sampler_start_epoch(&t->order, (uint32_t)epoch);
    }
    t->epoch = epoch;
    /* In lockstep the living share all images; otherwise a dead worker's are left out
     * until it is back. */
    if (own) {
        t->sample = shard_take(&t->own, place);
        t->step_images = together ? shard_images(&t->own, place) : t->sample.count;
    } else if (together) {
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
        t->gradients.used += t->sample.count > 0;
        t->gradients.staleness[0] += has(t, MODE_EQUAL) && t->sample.count > 0;
    }
    if (has(t, MODE_EQUAL) && has(t, MODE_LOCKSTEP)) {
        account_staleness(&t->account, 0);
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
images_so_far(trainer *t)
{
    return has(t, MODE_LOCKSTEP) ? t->images
                                 : status_images(&t->status, t->worker, t->images,
                                                 t->account.now.seconds);
}

static uint64_t
hash_of(const trainer *t)
{
    return hash_bytes(t->parameter, t->net.parameters * sizeof *t->parameter);
}

/* The hash of the parameters, compared over the ranks where they are to be equal. */
static bool
take_hash(const trainer *t, uint64_t step, hash_record *hash, problem *why)
{
    const uint64_t value = hash_of(t);
    if (shares_results(t) && !agree_parameters(t->all, value, step, why)) {
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

static bool
take_step(trainer *t, problem *why)
{
    if (t->sums.steps == 0) {
        t->sums.images_before = images_so_far(t);
    }
    const double start = clock_seconds();
    step_record r;
    const bool good =
        train_step(t, &r, why) &&
        report_step(t, &r, t->sums.seconds + clock_seconds() - start, why);
    t->sums.seconds += clock_seconds() - start;
    if (good) {
        t->sums.loss += r.loss;
        t->sums.steps++;
    }
    return good;
}

/* After the last step. Where the mode makes one result of what the ranks have, they
 * have the same. */
static bool
finish(trainer *t, problem *why)
{
    const double start = clock_seconds();
    const bool joins = t->mode->finish != NULL;
    bool good = !joins || t->mode->finish(t, why);
    if (good && joins && !has(t, MODE_SERVERS)) {
        good = agree_parameters(t->all, hash_of(t), t->step, why);
    }
    t->finished = good;
    t->sums.seconds += clock_seconds() - start;
    return good;
}

/* Equal parameters: the ranks share the test images. Otherwise one rank speaks for
 * itself; in lockstep the others wait, so that nobody's steps are held up by it. */
static bool
test_accuracy(trainer *t, double *accuracy, problem *why)
{
    const bool shared = shares_results(t);
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
close_epoch(trainer *t, uint64_t epoch, problem *why)
{
    epoch_record r = {.step = t->step,
                      .epoch = epoch,
                      .seconds = t->sums.seconds,
                      .elapsed = t->seconds + t->sums.seconds,
                      .images = images_so_far(t)};
    /* The others may tell of their images a moment late; close_run knows better. */
    if (t->sums.steps > 0 && r.images > t->sums.images_before) {
        r.images_second = (double)(r.images - t->sums.images_before) / r.seconds;
        r.loss = t->sums.loss / (double)t->sums.steps;
    }
    /* The last update of an epoch may be the one that diverges. */
    if (!all_finite(t->parameter, t->net.parameters)) {
        return not_finite(t, "a parameter", r.step, why);
    }
    const bool settled = t->finished || t->mode->settle == NULL;
    if ((!settled && !t->mode->settle(t, why)) || !take_hash(t, r.step, &r.hash, why) ||
        !test_accuracy(t, &r.test_accuracy, why) ||
        !metrics_epoch(&t->metrics, &r, why)) {
        return false;
    }
    progress_epoch(&t->progress, &r);
    t->seconds += t->sums.seconds;
    t->sums = (epoch_sums){.steps = 0};
    t->closed = epoch;
    t->last = r;
    return true;
}

/* What all ranks know together of the run: the slowest one's seconds, all images, and
 * what became of the gradients. */
static bool
add_up(const trainer *t, final_record *r, problem *why)
{
    r->gradients = t->gradients;
    r->seconds = t->seconds + t->sums.seconds;
    r->images = t->images;
    return ranks_sum_all(t->all, (uint64_t *)&r->gradients,
                         sizeof r->gradients / sizeof(uint64_t), why) &&
           ranks_largest(t->all, &r->seconds, why) &&
           (has(t, MODE_LOCKSTEP) || ranks_sum(t->all, &r->images, why));
}

static bool
close_run(trainer *t, problem *why)
{
    final_record r = {.steps = t->step,
                      .server = has(t, MODE_SERVERS) ? &t->server : NULL};
    if (!account_finish(&t->account, why) || !add_up(t, &r, why)) {
        return false;
    }
    r.test_accuracy = t->last.test_accuracy;
    r.images_second = r.seconds > 0.0 ? (double)r.images / r.seconds : 0.0;
    r.total_seconds = clock_seconds() - t->began;
    r.wait_seconds = t->wait_seconds;
    r.payload_bytes = t->payload_bytes;
    r.hash = t->last.hash.value;
    if (!metrics_final(&t->metrics, &t->run, &r, why)) {
        return false;
    }
    if (t->reports && !trace_merge(&t->trace, t->group->names, why)) {
        return false;
    }
    progress_final(&t->progress, &r);
    t->over = true;
    return true;
}

static bool
serve(trainer *t, problem *why)
{
    t->served = t->mode->serve(t, why);
    return t->served;
}

uint64_t
trainer_epochs_over(const trainer *t)
{
    if (t->step < t->steps_end) {
        return t->step / t->epoch_steps;
    }
    /* A worker without images has one epoch, so that it is evaluated once. */
    return t->steps_end > 0 ? (t->steps_end - 1) / t->epoch_steps + 1 : 1;
}

bool
trainer_at_border(const trainer *t)
{
    return t->step == t->steps_end || t->step % t->epoch_steps == 0;
}

/* Whatever is next. */
static bool
advance(trainer *t, problem *why)
{
    t->renewal = group_renewal_due(t->group);
    if (t->renewal || (t->o->on_failure == FAILURE_SHRINK && group_broken(t->group))) {
        return problem_fail(why, "the ranks of the run have changed");
    }
    const bool server = t->worker == NO_WORKER;
    if (server && !t->served) {
        return serve(t, why);
    }
    const bool at_end = server || t->step == t->steps_end;
    const uint64_t over = trainer_epochs_over(t);
    const bool closes = !server && trainer_at_border(t) && t->closed < over;
    /* At the end as it is before finish, so that a longer run can go on from it. */
    if ((at_end || !closes) && !checkpoint_keep(t, why)) {
        return false;
    }
    if (at_end && !t->finished) {
        return finish(t, why);
    }
    if (closes) {
        return close_epoch(t, over, why);
    }
    return at_end ? close_run(t, why) : take_step(t, why);
}

/* After a failure; what it takes is part of the training's time. */
static bool
go_on(trainer *t, problem *why)
{
    const double start = clock_seconds();
    const bool good = trainer_mend(t, why);
    t->sums.seconds += clock_seconds() - start;
    return good;
}

bool
trainer_run(trainer *t, problem *why)
{
    progress_start(&t->progress);
    if (t->newcomer && !trainer_settle_down(t, why) && !go_on(t, why)) {
        return false;
    }
    while (!t->over) {
        if (!advance(t, why) && !go_on(t, why)) {
            return false;
        }
    }
    return true;
}
