/* excuse.c - why a spoilt schedule that the verifier accepts does no harm. */
#include "lib/excuse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "schedule/blocks.h"

/* Whether each result is finished by one rank and handed to the others as it is. */
static bool
one_computes(const schedules *set)
{
    const rondo_coll *const coll = &set->of[0]->coll;
    const uint64_t blocks = coll->kind == RONDO_COLL_REDUCE_SCATTER ? coll->nranks : 1;
    uint64_t finished = 0;

    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
            const rondo_step *const step = &set->of[rank]->steps[at];

            finished += step->final ? step->to.count : 0;
        }
    }
    return finished == blocks * coll->count;
}

/* Whether step `at` adds what a rank of the same host has sent. Inside a host each sum
 * is formed once, whoever is to have it. */
static bool
adds_inside(const rondo_schedule *schedule, uint64_t at)
{
    const rondo_levels *const levels = schedule->coll.levels;
    const rondo_step *const step = &schedule->steps[at];

    for (uint64_t back = at; levels != NULL && back-- > 0;) {
        const rondo_step *const heard = &schedule->steps[back];
        const bool is_operand =
            heard->kind == RONDO_STEP_RECV && heard->to.buffer == RONDO_BUF_SCRATCH &&
            ((step->a.buffer == RONDO_BUF_SCRATCH &&
              step->a.first == heard->to.first) ||
             (step->b.buffer == RONDO_BUF_SCRATCH && step->b.first == heard->to.first));

        if (is_operand) {
            const uint32_t *const host_of = levels->at[1].group_of;

            return host_of[heard->peer] == host_of[schedule->coll.rank];
        }
    }
    return false;
}

/* Whether what step `at` computes is computed by one rank alone: all results are, or
 * this one, a part of them, is. */
static bool
computed_once(const struct spot *spot, uint64_t at)
{
    return one_computes(spot->set) || adds_inside(spot->set->of[spot->rank], at);
}

static uint64_t
block_of(const rondo_coll *coll, uint32_t rank)
{
    return rondo_block_count(coll->count, coll->nranks, rank);
}

/* A wait for signal 1 guards what I do to the peer's memory, which I do for my block; a
 * wait for signal 2 guards what the peer does to mine, for its block. */
static bool
guards_nothing(const struct spot *spot)
{
    const rondo_coll *const coll = &spot->set->of[spot->rank]->coll;
    const uint32_t worker = spot->before->signal == 1 ? spot->rank : spot->before->peer;

    return spot->before->kind == RONDO_STEP_WAIT && block_of(coll, worker) == 0;
}

static const char *
excuse_wait(const struct spot *spot, spoil_function spoil)
{
    const bool less =
        spoil == spoil_drop || spoil == spoil_peer || spoil == spoil_wait_less;

    if (less && guards_nothing(spot)) {
        return "the wait guards an empty block";
    }
    if (spoil == spoil_wait_more) {
        return "it waits longer than it must, without a deadlock";
    }
    return NULL;
}

static bool
touches(const rondo_step *step, uint32_t owner)
{
    return (step->to.count > 0 && step->to.owner == owner) ||
           (step->a.count > 0 && step->a.owner == owner) ||
           (step->b.count > 0 && step->b.owner == owner);
}

/* The needs are derived anew, so a swap that mattered shows in what they guard. */
static const char *
excuse_order(const struct spot *spot)
{
    const rondo_step *const one = spot->before;
    const rondo_schedule *const schedule = spot->set->of[spot->rank];
    const rondo_step *const other = &schedule->steps[spot->at + 1];
    bool needed = false;

    for (uint64_t need = 0; need < other->needs; need++) {
        needed = needed || schedule->needs[other->needs_at + need] == spot->at;
    }
    if (!needed) {
        return "the neighbours do not depend on each other";
    }
    if (one->kind == RONDO_STEP_REDUCE && other->kind == RONDO_STEP_REDUCE &&
        computed_once(spot, spot->at) && computed_once(spot, spot->at + 1)) {
        return "operators commute and one rank computes it for all";
    }
    if (one->kind == RONDO_STEP_WAIT && other->kind == RONDO_STEP_WAIT) {
        return "all waits in a row must be over before what follows";
    }
    if (one->kind == RONDO_STEP_WAIT && !touches(other, one->peer)) {
        return "the neighbour does not touch memory the wait is for";
    }
    return NULL;
}

static bool
holds(rondo_slice slice, uint64_t element)
{
    return slice.count > 0 && slice.owner == RONDO_OWN &&
           slice.buffer == RONDO_BUF_SCRATCH && element >= slice.first &&
           element - slice.first < slice.count;
}

/* Whether one element more in scratch is overwritten before it is read, if ever. */
static bool
is_never_read(const struct spot *spot)
{
    const rondo_schedule *const schedule = spot->set->of[spot->rank];
    const rondo_slice to = spot->before->to;
    const uint64_t extra = to.first + to.count;

    if (to.buffer != RONDO_BUF_SCRATCH) {
        return false;
    }
    for (uint64_t at = spot->at + 1; at < schedule->nsteps; at++) {
        const rondo_step *const step = &schedule->steps[at];

        if (holds(step->a, extra) || holds(step->b, extra)) {
            return false;
        }
        if (holds(step->to, extra)) {
            return true;
        }
    }
    return true;
}

/* A plain search, to have a second opinion on barriers: which steps come before the end
 * of a rank. */
#define BARRIER_STEPS_MAX 64

struct search {
    const rondo_schedule *of[SCHEDULES_RANKS_MAX];
    bool seen[SCHEDULES_RANKS_MAX][BARRIER_STEPS_MAX];
};

/* The send that belongs to receive `at` of `rank`: as many in front of it. */
static uint64_t
send_of(const struct search *search, uint32_t rank, uint64_t at)
{
    const uint32_t from = search->of[rank]->steps[at].peer;
    uint64_t left = 0;
    uint64_t send = 0;

    for (uint64_t index = 0; index < at; index++) {
        const rondo_step *const step = &search->of[rank]->steps[index];

        left += step->kind == RONDO_STEP_RECV && step->peer == from;
    }
    for (send = 0; send < search->of[from]->nsteps; send++) {
        const rondo_step *const step = &search->of[from]->steps[send];

        if (step->kind == RONDO_STEP_SEND && step->peer == rank && left-- == 0) {
            break;
        }
    }
    return send;
}

static void
look_behind(struct search *search, uint32_t rank, uint64_t at)
{
    const rondo_schedule *const schedule = search->of[rank];
    const rondo_step *const step = &schedule->steps[at];

    if (search->seen[rank][at]) {
        return;
    }
    search->seen[rank][at] = true;
    for (uint64_t need = 0; need < step->needs; need++) {
        look_behind(search, rank, schedule->needs[step->needs_at + need]);
    }
    if (step->kind == RONDO_STEP_RECV) {
        look_behind(search, step->peer, send_of(search, rank, at));
    }
}

/* Whether every end comes behind a step of every rank, and so behind its start. */
static bool
is_barrier(const struct spot *spot, const rondo_schedule *mutant)
{
    for (uint32_t rank = 0; rank < spot->set->nranks; rank++) {
        struct search search = {.seen = {{false}}};

        memcpy(search.of, spot->set->of, sizeof search.of);
        search.of[spot->rank] = mutant;
        for (uint64_t at = 0; at < search.of[rank]->nsteps; at++) {
            assert_true(search.of[rank]->nsteps <= BARRIER_STEPS_MAX);
            look_behind(&search, rank, at);
        }
        for (uint32_t other = 0; other < spot->set->nranks; other++) {
            bool known = other == rank;

            for (uint64_t at = 0; at < search.of[other]->nsteps; at++) {
                known = known || search.seen[other][at];
            }
            if (!known) {
                return false;
            }
        }
    }
    return true;
}

const char *
excuse_for(const struct spot *spot, spoil_function spoil, const rondo_schedule *mutant)
{
    const rondo_coll *const coll = &spot->set->of[spot->rank]->coll;
    const char *const reason =
        spot->before->kind == RONDO_STEP_WAIT ? excuse_wait(spot, spoil) : NULL;

    if (reason != NULL) {
        return reason;
    }
    if (coll->kind == RONDO_COLL_BARRIER && is_barrier(spot, mutant)) {
        return "a barrier's messages hold nothing; all starts are still known";
    }
    if (spoil == spoil_longer && is_never_read(spot)) {
        return "one element more is computed in scratch and never read";
    }
    if (spoil == spoil_order) {
        return excuse_order(spot);
    }
    if (spoil == spoil_operands && computed_once(spot, spot->at)) {
        return "operators commute and one rank computes it for all";
    }
    return NULL;
}

/* Whether step `late` comes to step `early` by needs. */
static bool
comes_to(const rondo_schedule *schedule, uint64_t late, uint64_t early)
{
    const rondo_step *const step = &schedule->steps[late];

    for (uint64_t at = 0; at < step->needs; at++) {
        const uint64_t need = schedule->needs[step->needs_at + at];

        if (need == early || (need > early && comes_to(schedule, need, early))) {
            return true;
        }
    }
    return false;
}

const char *
excuse_need(const struct spot *spot, uint64_t gone, const rondo_schedule *mutant)
{
    return comes_to(mutant, spot->at, gone) ? "another need implies it" : NULL;
}
