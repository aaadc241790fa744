/* loop.c - the training loop. One step, from top to bottom, is train_step. */
#include "trainer.h"

#include "agree.h"
#include "clock.h"
#include "evaluate.h"
#include "hash.h"

#include <inttypes.h>
#include <math.h>

/* This rank's gradient of the mean loss over the global batch. */
static void
compute_gradient(trainer *t, sampler_part mine)
{
    const float ranks_count = (float)t->all->count;
    const float batch = (float)t->run.global_batch;
    float *gradient = t->exchange.gradient;
    gradient_of of = {.net = &t->net,
                      .parameter = t->parameter,
                      .images = &t->set->train,
                      .t = &t->t};
    if (!t->o->canonical) {
        /* The exchange divides by the ranks; a sample then weighs 1 / batch, even where
         * some ranks have one more than others. */
        of.scale = ranks_count / batch;
        gradient_in_passes(
            &t->passes, &of, mine, gradient,
            (layer_done){.call = exchange_layer_done, .user = &t->exchange});
        return;
    }
    /* The pieces' bits must not know the number of ranks. That is a power of two, and
     * so multiplying by it here and dividing in the exchange change no bits. */
    of.scale = 1.0f / batch;
    gradient_by_tree(&t->tree, &of, mine, gradient);
    gradient_multiply(&t->net, ranks_count, gradient);
    for (uint32_t layer = t->net.layers; layer-- > 0;) {
        exchange_layer_done(&t->exchange, layer);
    }
}

static bool
not_finite(const trainer *t, const char *what, uint64_t step, problem *why)
{
    (void)problem_fail(why,
                       "%s is not finite after step %" PRIu64
                       ": training has diverged; "
                       "a lower --lr than %g may help",
                       what, step, t->o->rate);
    why->known_to_all = t->o->mode == TRAIN_SYNC;
    return false;
}

static bool
train_step(trainer *t, sampler_part mine, step_record *r, problem *why)
{
    if (!exchange_begin(&t->exchange, why)) {
        return false;
    }
    compute_gradient(t, mine);
    if (!exchange_wait(&t->exchange, why)) {
        return false;
    }
    r->loss = (double)t->exchange.gradient[t->net.parameters];
    if (!isfinite(r->loss)) {
        return not_finite(t, "the loss", r->step, why);
    }
    r->rate = rate_at(&t->rate, r->step - 1);
    optimiser_step(&t->descent, (float)r->rate, t->exchange.gradient, t->parameter);
    return true;
}

/* The hash of the parameters, compared over the ranks where they are to be equal. */
static bool
take_hash(const trainer *t, uint64_t step, hash_record *hash, problem *why)
{
    const uint64_t value =
        hash_bytes(t->parameter, t->net.parameters * sizeof *t->parameter);
    if (t->o->mode == TRAIN_SYNC && !agree_parameters(t->all, value, step, why)) {
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

/* The steps of an epoch; fills in r->step, loss, seconds and images_second. */
static bool
train_epoch(trainer *t, epoch_record *r, problem *why)
{
    const double start = clock_seconds();
    double loss = 0.0;
    uint32_t steps = 0;
    sampler_start_epoch(&t->order, (uint32_t)r->epoch);
    while (steps < t->run.steps_per_epoch && r->step < t->progress.steps_end) {
        const sampler_part mine =
            sampler_take(&t->order, steps, t->all->rank, t->all->count);
        step_record step = {.step = ++r->step, .epoch = r->epoch};
        steps++;
        if (!train_step(t, mine, &step, why) ||
            !report_step(t, &step, clock_seconds() - start, why)) {
            return false;
        }
        loss += step.loss;
    }
    r->seconds = clock_seconds() - start;
    r->loss = loss / steps;
    r->images_second = (double)steps * t->run.global_batch / r->seconds;
    return true;
}

/* Equal parameters: the ranks share the test images. Otherwise rank 0 speaks for
 * itself, and on other ranks the result means nothing. */
static bool
test_accuracy(trainer *t, double *accuracy, problem *why)
{
    const bool shared = t->o->mode == TRAIN_SYNC;
    evaluate_share mine = {.share = 0, .shares = 1};
    if (shared) {
        mine = (evaluate_share){.share = t->all->rank, .shares = t->all->count};
    }
    uint64_t correct = 0;
    if (shared || t->all->rank == 0) {
        correct = evaluate_correct(&t->net, t->parameter, &t->set->test, mine, &t->t);
    }
    if (shared && !ranks_sum(t->all, &correct, why)) {
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
    if (!take_hash(t, r->step, &r->hash, why) ||
        !test_accuracy(t, &r->test_accuracy, why) ||
        !metrics_epoch(&t->metrics, r, why)) {
        return false;
    }
    progress_epoch(&t->progress, r);
    return true;
}

static bool
close_run(trainer *t, const epoch_record *last, double seconds, problem *why)
{
    double slowest = seconds;
    if (!ranks_largest(t->all, &slowest, why)) {
        return false;
    }
    const uint64_t images = last->step * t->run.global_batch;
    const final_record r = {.steps = last->step,
                            .images = images,
                            .test_accuracy = last->test_accuracy,
                            .seconds = slowest,
                            .images_second = (double)images / slowest,
                            .total_seconds = clock_seconds() - t->began,
                            .wait_seconds = t->exchange.wait_seconds,
                            .payload_bytes = t->exchange.payload_bytes,
                            .hash = last->hash.value};
    if (!metrics_final(&t->metrics, &t->run, &r, why)) {
        return false;
    }
    progress_final(&t->progress, &r);
    return true;
}

bool
trainer_run(trainer *t, problem *why)
{
    epoch_record r = {.step = 0};
    double seconds = 0.0;
    progress_start(&t->progress);
    while (r.step < t->progress.steps_end) {
        r = (epoch_record){.epoch = r.epoch + 1, .step = r.step};
        if (!train_epoch(t, &r, why) || !close_epoch(t, &r, why)) {
            return false;
        }
        seconds += r.seconds;
    }
    return close_run(t, &r, seconds, why);
}
