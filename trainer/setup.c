/* setup.c - everything a run needs, made and checked before the first step. */
#include "trainer.h"

#include "agree.h"
#include "checkpoint.h"
#include "evaluate.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>

#define GLOBAL_BATCH_MAX 0x7fffffffu

static bool
plan_canonical(const options *o, uint32_t ranks_count, uint32_t global_batch,
               uint32_t *pieces, problem *why)
{
    if ((ranks_count & (ranks_count - 1)) != 0) {
        return problem_usage(
            why, "--canonical on %u ranks: allowed are 1, 2, 4, 8, ...", ranks_count);
    }
    if (global_batch % (o->micro_batch * ranks_count) != 0) {
        return problem_usage(why,
                             "--canonical: a global batch of %u is not made of whole "
                             "--micro-batch %" PRIu64 " pieces, as many on each of %u "
                             "rank(s)",
                             global_batch, o->micro_batch, ranks_count);
    }
    *pieces = (uint32_t)(global_batch / o->micro_batch / ranks_count);
    return true;
}

/* --batch or --global-batch for so many workers. */
static bool
plan_batch(const options *o, uint32_t ranks_count, batch_plan *plan, problem *why)
{
    const uint64_t global =
        o->global_batch > 0 ? o->global_batch : o->batch * ranks_count;
    batch_plan result = {.workers = ranks_count};
    bool good = true;
    if (global < ranks_count) {
        good = problem_usage(why,
                             "--global-batch %" PRIu64 " on %u ranks: each rank "
                             "needs an image in a step",
                             global, ranks_count);
    } else if (global > GLOBAL_BATCH_MAX) {
        good =
            problem_usage(why, "--batch %" PRIu64 " on %u ranks: more than %u in all",
                          o->batch, ranks_count, GLOBAL_BATCH_MAX);
    } else {
        result.global_batch = (uint32_t)global;
    }
    if (good && o->accumulate > global / ranks_count) {
        good = problem_usage(why,
                             "--accumulate %" PRIu64 " with %" PRIu64
                             " images of a rank in a step: each pass needs an image",
                             o->accumulate, global / ranks_count);
    }
    if (good && o->canonical) {
        good = plan_canonical(o, ranks_count, result.global_batch, &result.pieces, why);
    }
    if (good) {
        *plan = result;
    }
    return good;
}

bool
trainer_plan(const options *o, uint32_t ranks_count, batch_plan *plan, problem *why)
{
    bool good = true;
    if (o->servers >= ranks_count) {
        good = problem_usage(why,
                             "--mode %s with --servers %" PRIu64 " on %u rank(s): no "
                             "worker is left",
                             options_mode_text(o->mode), o->servers, ranks_count);
    }
    const uint32_t workers = good ? ranks_count - (uint32_t)o->servers : 0;
    if (good && o->backups >= workers) {
        good = problem_usage(why,
                             "--backups %" PRIu64 " of %u worker(s): a version must "
                             "wait for one",
                             o->backups, workers);
    }
    good = good && plan_batch(o, workers, plan, why);
    why->known_to_all = !good; /* All ranks have the options and the count. */
    return good;
}

static void
plan_rate(trainer *t)
{
    const options *o = t->o;
    const uint64_t epoch = t->run.steps_per_epoch;
    const bool scaled = o->rate_batch > 0;
    const double base =
        scaled ? rate_scaled(o->rate, o->rate_batch, t->run.global_batch) : o->rate;
    t->rate = (rate_plan){.schedule = o->schedule,
                          .base = base,
                          .start = scaled ? o->rate : 0.0,
                          .warmup = (uint64_t)(o->warmup * (double)epoch + 0.5),
                          .steps = t->run.steps,
                          .decay_every = o->decay_every * epoch,
                          .decay_factor = o->decay_factor};
}

static void
fill_in_run(trainer *t, uint32_t global_batch, uint64_t data_fingerprint)
{
    const uint32_t steps = sampler_steps(&t->order);
    t->run = (run_record){.o = t->o,
                          .net = &t->net,
                          .ranks = t->all->count,
                          .global_batch = global_batch,
                          .steps = steps * t->o->epochs,
                          .steps_per_epoch = steps,
                          .train_images = t->set->train.images,
                          .test_images = t->set->test.images,
                          .data_fingerprint = data_fingerprint};
    plan_rate(t);
}

static bool
shape_model(trainer *t, problem *why)
{
    const data_part *images = &t->set->train;
    const model_request ask = {
        .image = {.height = images->height, .width = images->width, .channels = 1},
        .outputs = DATA_CLASSES,
        .hidden_count = t->o->hidden_count,
        .hidden = t->o->hidden};
    const bool good = model_kind_of(t->o->model)->shape(&ask, &t->net, why);
    why->known_to_all = !good; /* All ranks have the same images. */
    return good;
}

/* Vectors and buffers of this rank. */
static bool
create_local(trainer *t, const batch_plan *plan, problem *why)
{
    const options *o = t->o;
    if (!sampler_create(o->seed, t->set->train.images, plan->global_batch, &t->order,
                        why)) {
        return false;
    }
    const uint32_t passes = (uint32_t)o->accumulate;
    uint32_t samples = sampler_part_max(&t->order, plan->workers);
    samples = o->canonical ? (uint32_t)o->micro_batch : (samples + passes - 1) / passes;
    samples = samples > EVALUATE_CHUNK ? samples : EVALUATE_CHUNK;
    t->parameter = memory_floats(t->net.parameters + 1, why);
    return t->parameter != NULL &&
           gradient_passes_create(&t->net, passes, &t->passes, why) &&
           tape_create(&t->net, samples, &t->t, why) &&
           optimiser_create(o->optimiser, &t->net, &o->settings, &t->descent, why);
}

/* This worker's steps. */
static void
count_steps(trainer *t, uint32_t epoch_steps)
{
    const uint64_t all = epoch_steps * t->o->epochs;
    t->epoch_steps = epoch_steps;
    t->steps_end = t->o->steps > 0 && t->o->steps < all ? t->o->steps : all;
}

bool
trainer_prepare(trainer *t, const batch_plan *plan, uint64_t fingerprint, problem *why)
{
    const options *o = t->o;
    t->workers = plan->workers;
    if (!shape_model(t, why) || !create_local(t, plan, why)) {
        return false;
    }
    fill_in_run(t, plan->global_batch, fingerprint);
    count_steps(t, t->run.steps_per_epoch);
    return straggler_read(o->straggler, o->seed, &t->slow, why);
}

/* What each worker has for itself, by worker; all of them say so, or none. */
static bool
gather_own(const trainer *t, uint64_t *own, problem *why)
{
    const uint32_t servers = (uint32_t)t->o->servers;
    uint64_t *all = calloc(t->all->count, sizeof *all);
    if (all == NULL) {
        return problem_fail(why, "no memory for %u ranks", t->all->count);
    }
    bool good =
        ranks_gather(t->all, &t->o->own_images, sizeof t->o->own_images, all, why);
    for (uint32_t rank = servers; good && rank < t->all->count; rank++) {
        const bool given = all[rank] != COUNT_NOT_GIVEN;
        if (given != (all[servers] != COUNT_NOT_GIVEN)) {
            good = problem_fail(why,
                                "rank %u has --own-images, rank %u has not: all "
                                "workers need it, or none",
                                given ? rank : servers, given ? servers : rank);
            why->known_to_all = true;
        }
        own[rank - servers] = all[rank];
    }
    free(all);
    return good;
}

/* With --own-images: the run's steps follow from them. */
static bool
deal_images(trainer *t, problem *why)
{
    uint64_t *own = calloc(t->workers, sizeof *own);
    if (own == NULL) {
        return problem_fail(why, "no memory for %u workers", t->workers);
    }
    bool good = gather_own(t, own, why);
    if (good && own[0] != COUNT_NOT_GIVEN) {
        const shard_deal deal = {.own = own,
                                 .workers = t->workers,
                                 .worker = t->worker,
                                 .batch = (uint32_t)t->o->batch};
        good = shard_create(&t->order, &deal, &t->own, why);
        why->known_to_all = !good;
    }
    free(own);
    if (!good || t->own.own == NULL) {
        return good;
    }
    const uint32_t most = shard_steps_most(&t->own);
    t->run.steps_per_epoch = most;
    t->run.steps = most * t->o->epochs;
    plan_rate(t);
    const bool together = (t->mode->traits & MODE_LOCKSTEP) != 0;
    count_steps(
        t, together || t->worker == NO_WORKER ? most : shard_steps(&t->own, t->worker));
    return true;
}

/* Rank 0's parameters are everybody's: that ranks could compute the same ones is no
 * proof that they did. */
static bool
share_parameters(trainer *t, problem *why)
{
    if (t->all->rank == 0) {
        model_initialise(&t->net, t->o->seed, t->parameter);
    }
    return ranks_share(t->all, t->parameter, t->net.parameters, why);
}

/* Who this rank is. */
static void
place(trainer *t)
{
    const uint32_t servers = (uint32_t)t->o->servers;
    const uint32_t name = t->group->name;
    t->worker = name >= servers ? name - servers : NO_WORKER;
    /* One that has returned is told by the others. */
    t->reporter = t->newcomer ? 0 : servers;
    t->reports = !t->newcomer && name == servers;
}

bool
trainer_create(group *living, const options *o, const data_set *set, double began,
               trainer *t, problem *why)
{
    *t = (trainer){.group = living,
                   .all = &living->all,
                   .o = o,
                   .set = set,
                   .began = began,
                   .mode = mode_kind_of(o->mode),
                   .newcomer = living->returned};
    const uint64_t fingerprint = data_fingerprint(set);
    batch_plan plan;
    living->lockstep = (t->mode->traits & MODE_LOCKSTEP) != 0;
    /* A rank that has returned comes alone: the others are in trainer_mend. */
    if ((!t->newcomer && !agree_settings(t->all, o, fingerprint, why)) ||
        !trainer_plan(o, living->names, &plan, why)) {
        return false;
    }
    place(t);
    if (!trainer_prepare(t, &plan, fingerprint, why)) {
        return false;
    }
    if (!t->newcomer && (!deal_images(t, why) || !share_parameters(t, why))) {
        return false;
    }
    return (t->mode->create == NULL || t->mode->create(t, why)) &&
           (t->newcomer || checkpoint_begin(t, why)) && trainer_reports_open(t, why);
}

void
trainer_free(trainer *t)
{
    trainer_reports_free(t);
    if (t->mode->free != NULL) {
        t->mode->free(t);
    }
    optimiser_free(&t->descent);
    tape_free(&t->t);
    memory_free(t->parameter);
    gradient_passes_free(&t->passes);
    shard_free(&t->own);
    sampler_free(&t->order);
}
