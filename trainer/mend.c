/* mend.c - after a rank has died, or come back: a new group, a common state. */
#include "trainer.h"

#include "agree.h"

#include <inttypes.h>
#include <stdlib.h>

static bool
has(const trainer *t, mode_trait trait)
{
    return (t->mode->traits & (uint32_t)trait) != 0;
}

/* What each rank says of itself, first thing in a new group. */
typedef struct roll {
    uint64_t settings; /* agree_hash */
    uint64_t newcomer;
    uint64_t step;
    uint64_t closed;
    uint64_t finished;
    uint64_t images;
    uint64_t reports;
} roll;

/* What they come to. */
typedef struct roll_sum {
    uint64_t settings; /* Of the rank that is furthest. */
    uint64_t closed;   /* The fewest. */
    bool finished;     /* All have. */
    uint64_t images;   /* Of the rank that is furthest. */
} roll_sum;

static void
add_up(trainer *t, const roll *of, roll_sum *sum)
{
    bool found = false;
    *sum = (roll_sum){.closed = UINT64_MAX, .finished = true};
    t->has_newcomers = false;
    for (uint32_t rank = 0; rank < t->all->count; rank++) {
        const roll *r = &of[rank];
        sum->finished = sum->finished && r->finished != 0;
        if (r->newcomer != 0) {
            t->has_newcomers = true;
            continue;
        }
        sum->closed = r->closed < sum->closed ? r->closed : sum->closed;
        if (!found || r->step > t->furthest_step) {
            t->furthest = rank;
            t->furthest_step = r->step;
            sum->settings = r->settings;
            sum->images = r->images;
            found = true;
        }
    }
}

/* Whoever reports goes on to; if it is gone, the lowest worker that knows the run. */
static void
choose_reporter(trainer *t, const roll *of)
{
    uint32_t chosen = UINT32_MAX;
    bool reports = false;
    for (uint32_t rank = t->all->count; rank-- > 0;) {
        const bool knows =
            t->group->name_of[rank] >= t->o->servers && of[rank].newcomer == 0;
        if (of[rank].reports != 0 || (knows && !reports)) {
            chosen = rank;
            reports = of[rank].reports != 0;
        }
    }
    const bool did_report = t->reports;
    t->reporter = chosen < t->all->count ? chosen : 0;
    t->reports = t->reporter == t->all->rank;
    if (t->reports && !did_report) {
        metrics_lead(&t->metrics);
        t->progress = progress_create(&t->run, &t->status, true);
    }
}

static bool
call_roll(trainer *t, roll_sum *sum, problem *why)
{
    const roll mine = {.settings = agree_hash(t->o, t->run.data_fingerprint),
                       .newcomer = t->newcomer,
                       .step = t->worker == NO_WORKER ? 0 : t->step,
                       .closed = t->worker == NO_WORKER ? UINT64_MAX : t->closed,
                       .finished = t->finished,
                       .images = t->images,
                       .reports = t->reports};
    roll *all = calloc(t->all->count, sizeof *all);
    if (all == NULL) {
        return problem_fail(why, "no memory for %u ranks", t->all->count);
    }
    const bool good = ranks_gather(t->all, &mine, sizeof mine, all, why);
    if (good) {
        add_up(t, all, sum);
        choose_reporter(t, all);
    }
    free(all);
    if (good && t->newcomer && sum->settings != mine.settings) {
        return problem_fail(why, "this rank has come back with other options, or other "
                                 "data, than the run has");
    }
    return good;
}

/* In lockstep the living share the images of those that are gone. */
static bool
fit_tape(trainer *t, problem *why)
{
    if (!has(t, MODE_LOCKSTEP) || t->o->canonical || t->own.own != NULL) {
        return true;
    }
    const uint32_t passes = (uint32_t)t->o->accumulate;
    const uint32_t samples =
        (sampler_part_max(&t->order, t->all->count) + passes - 1) / passes;
    if (samples <= t->t.samples_max) {
        return true;
    }
    spans *kept = t->t.spans;
    tape_free(&t->t);
    t->t = (tape){.samples_max = 0};
    if (!tape_create(&t->net, samples, &t->t, why)) {
        return false;
    }
    t->t.spans = kept;
    return true;
}

/* All go on from the same step, or each from its own; and what of the last epoch is
 * still to be done is done by all. */
static void
align(trainer *t, const roll_sum *sum)
{
    const bool together = has(t, MODE_LOCKSTEP);
    if (together || (t->newcomer && !has(t, MODE_SERVERS))) {
        t->step = t->furthest_step;
    }
    if (together) {
        t->images = sum->images;
    }
    if (t->worker != NO_WORKER && (together || t->newcomer)) {
        const uint64_t over = trainer_epochs_over(t);
        const bool open = together && trainer_at_border(t) && sum->closed < over;
        t->closed = open ? over - 1 : over;
    }
}

bool
trainer_settle_down(trainer *t, problem *why)
{
    roll_sum sum = {.finished = false};
    if (!call_roll(t, &sum, why) || !fit_tape(t, why)) {
        return false;
    }
    if (!sum.finished) {
        t->finished = false;
        t->served = false;
        if (t->mode->regroup != NULL && !t->mode->regroup(t, why)) {
            return false;
        }
        group_settled(t->group);
    }
    align(t, &sum);
    t->newcomer = false;
    return trainer_reports_bind(t, why);
}

bool
trainer_mend(trainer *t, problem *why)
{
    const bool survives = t->o->on_failure == FAILURE_SHRINK;
    for (;;) {
        problem more = {.exit_code = EXIT_FAILED};
        bool good = false;
        /* In lockstep it is asked for once in a step. */
        const bool renewal =
            has(t, MODE_LOCKSTEP) ? t->renewal : group_renewal_due(t->group);
        t->renewal = false;
        if (!renewal && !(survives && group_broken(t->group))) {
            return false;
        }
        if (t->mode->part != NULL) {
            t->mode->part(t);
        }
        if (renewal) {
            good = group_renew(t->group, &more);
        } else {
            good = group_recover(t->group, &more);
        }
        if (good && trainer_settle_down(t, &more)) {
            return true;
        }
        *why = more;
        if (!good) {
            return false;
        }
    }
}
