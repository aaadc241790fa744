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
} roll;

/* What they come to. */
typedef struct roll_sum {
    uint64_t settings; /* Of the rank that is furthest. */
    uint64_t closed;   /* The fewest. */
    bool finished;     /* All have. */
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
            found = true;
        }
    }
}

static bool
call_roll(trainer *t, roll_sum *sum, problem *why)
{
    const roll mine = {.settings = agree_hash(t->o, t->run.data_fingerprint),
                       .newcomer = t->newcomer,
                       .step = t->worker == NO_WORKER ? 0 : t->step,
                       .closed = t->worker == NO_WORKER ? UINT64_MAX : t->closed,
                       .finished = t->finished};
    roll *all = calloc(t->all->count, sizeof *all);
    if (all == NULL) {
        return problem_fail(why, "no memory for %u ranks", t->all->count);
    }
    const bool good = ranks_gather(t->all, &mine, sizeof mine, all, why);
    if (good) {
        add_up(t, all, sum);
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
align(trainer *t, uint64_t closed)
{
    const bool together = has(t, MODE_LOCKSTEP);
    if (together || (t->newcomer && !has(t, MODE_SERVERS))) {
        t->step = t->furthest_step;
    }
    if (t->worker != NO_WORKER && (together || t->newcomer)) {
        const uint64_t over = trainer_epochs_over(t);
        const bool open = together && trainer_at_border(t) && closed < over;
        t->closed = open ? over - 1 : over;
    }
}

/* The lowest living worker tells what happens. */
static void
take_over(trainer *t, bool did_report)
{
    if (t->reports && !did_report) {
        metrics_lead(&t->metrics);
        t->progress = progress_create(&t->run, &t->status, true);
    }
}

bool
trainer_settle_down(trainer *t, problem *why)
{
    const bool did_report = t->reports;
    roll_sum sum;
    trainer_place(t);
    if (!call_roll(t, &sum, why) || !fit_tape(t, why)) {
        return false;
    }
    if (!sum.finished) {
        t->finished = false;
        t->served = false;
        if (t->mode->regroup != NULL && !t->mode->regroup(t, why)) {
            return false;
        }
    }
    align(t, sum.closed);
    t->newcomer = false;
    take_over(t, did_report);
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
        if (renewal) {
            good = group_renew(t->group, &more);
        } else if (survives && group_broken(t->group)) {
            good = group_recover(t->group, &more);
        } else {
            return false;
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
