/* overlap.c - what is between hosts and what is inside them goes on at once: schedules
 * run against a clock that knows only how long things take. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/crossing.h"

#define RANKS_MAX 8

/* What an element costs: on the way out of a host and into one, which all its ranks
 * share; between two ranks of a host; in a rank that adds or copies. */
#define WIRE   4.0
#define INSIDE 2.0
#define CPU    1.0

/* What a message costs, whatever its length: long ones are what is looked at. */
#define LATENCY 20.0

/* One step of one rank. */
struct moment {
    double ready; /* all it needs is done */
    uint64_t missing;
    bool done;
};

struct clockwork {
    const schedules *set;
    const uint32_t *host_of;
    struct moment *moments[RANKS_MAX];
    double cpu[RANKS_MAX]; /* when each is free again */
    double channel[RANKS_MAX][RANKS_MAX];
    double out[RANKS_MAX]; /* by host */
    double in[RANKS_MAX];
    double end; /* of all */
};

/* The i-th receive of `to` from `from`, `send` being the i-th send: its step. */
static uint64_t
receive_of(const schedules *set, uint32_t from, uint64_t send)
{
    const uint32_t to = set->of[from]->steps[send].peer;
    uint64_t before = 0;
    uint64_t at = 0;

    for (uint64_t index = 0; index < send; index++) {
        const rondo_step *const step = &set->of[from]->steps[index];

        before += step->kind == RONDO_STEP_SEND && step->peer == to;
    }
    for (;; at++) {
        const rondo_step *const step = &set->of[to]->steps[at];

        assert_true(at < set->of[to]->nsteps);
        if (step->kind == RONDO_STEP_RECV && step->peer == from && before-- == 0) {
            return at;
        }
    }
}

static double
later(double one, double other)
{
    return one > other ? one : other;
}

static void
finish(struct clockwork *clock, uint32_t rank, uint64_t at, double when)
{
    const rondo_schedule *const schedule = clock->set->of[rank];

    clock->moments[rank][at].done = true;
    clock->end = later(clock->end, when);
    for (uint64_t next = at + 1; next < schedule->nsteps; next++) {
        const rondo_step *const step = &schedule->steps[next];

        for (uint64_t need = 0; need < step->needs; need++) {
            if (schedule->needs[step->needs_at + need] == at) {
                struct moment *const moment = &clock->moments[rank][next];

                moment->missing--;
                moment->ready = later(moment->ready, when);
            }
        }
    }
}

/* When step `at` can start; negative if that is not known yet, or is for another to
 * say: a message is its sender's. */
static double
start_of(const struct clockwork *clock, uint32_t rank, uint64_t at)
{
    const rondo_step *const step = &clock->set->of[rank]->steps[at];
    const struct moment *const moment = &clock->moments[rank][at];

    if (moment->done || moment->missing > 0 || step->kind == RONDO_STEP_RECV) {
        return -1;
    }
    if (step->kind != RONDO_STEP_SEND) {
        return later(moment->ready, clock->cpu[rank]);
    }
    const uint32_t peer = step->peer;
    const struct moment *const heard =
        &clock->moments[peer][receive_of(clock->set, rank, at)];
    double start = later(moment->ready, clock->channel[rank][peer]);
    if (heard->missing > 0) {
        return -1;
    }
    start = later(start, heard->ready);
    if (clock->host_of[rank] != clock->host_of[peer]) {
        start = later(start, clock->out[clock->host_of[rank]]);
        start = later(start, clock->in[clock->host_of[peer]]);
    }
    return start;
}

static void
run_step(struct clockwork *clock, uint32_t rank, uint64_t at, double start)
{
    const rondo_step *const step = &clock->set->of[rank]->steps[at];
    const uint32_t peer = step->peer;

    if (step->kind != RONDO_STEP_SEND) {
        clock->cpu[rank] = start + CPU * (double)step->to.count;
        finish(clock, rank, at, clock->cpu[rank]);
        return;
    }
    const uint32_t from = clock->host_of[rank];
    const uint32_t to = clock->host_of[peer];
    const double width = from == to ? INSIDE : WIRE;
    const double free = start + width * (double)step->a.count;
    clock->channel[rank][peer] = free;
    if (from != to) {
        clock->out[from] = free;
        clock->in[to] = free;
    }
    finish(clock, rank, at, free);
    finish(clock, peer, receive_of(clock->set, rank, at), free + LATENCY);
}

/* Runs whatever can start first, one step after the other, until all are done. */
static double
run_clock(const schedules *set, const rondo_levels *levels)
{
    struct clockwork clock = {.set = set, .host_of = levels->at[1].group_of};
    bool going = true;

    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        clock.moments[rank] = calloc(set->of[rank]->nsteps + 1, sizeof(struct moment));
        assert_non_null(clock.moments[rank]);
        for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
            clock.moments[rank][at].missing = set->of[rank]->steps[at].needs;
        }
    }
    while (going) {
        double first = -1;
        uint32_t who = 0;
        uint64_t what = 0;

        for (uint32_t rank = 0; rank < set->nranks; rank++) {
            for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
                const double start = start_of(&clock, rank, at);

                if (start >= 0 && (first < 0 || start < first)) {
                    first = start;
                    who = rank;
                    what = at;
                }
            }
        }
        going = first >= 0;
        if (going) {
            run_step(&clock, who, what, first);
        }
    }
    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
            assert_true(clock.moments[rank][at].done);
        }
        free(clock.moments[rank]);
    }
    return clock.end;
}

/* How long it takes, as a multiple of what the wire of one host alone needs. */
static double
slowness(const uint32_t *host_of, rondo_coll coll)
{
    schedules set;

    assert_int_equal(rondo_levels_create(coll.nranks, host_of, NULL, &coll.levels),
                     RONDO_OK);
    schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll, PLACES_MIXED,
                    &set);
    const double wire = WIRE * (double)crossing_count(&set, coll.levels).most;
    const double took = run_clock(&set, coll.levels);
    schedules_clear(&set);
    rondo_levels_destroy(coll.levels);
    return took / wire;
}

/* Without segments the phases follow one another; with them the wire is what counts. */
static void
test_overlap(void **state)
{
    static const uint32_t two_by_two[] = {0, 1, 0, 1};
    static const uint32_t two_by_four[] = {0, 0, 0, 0, 1, 1, 1, 1};
    static const uint32_t three_by_two[] = {0, 0, 1, 1, 2, 2};
    static const uint32_t three_and_one[] = {0, 0, 0, 1};
    static const struct {
        const char *name;
        const uint32_t *host_of;
        rondo_coll coll;
    } cases[] = {
        {"2x2", two_by_two, {.nranks = 4}},
        {"2x4", two_by_four, {.nranks = 8}},
        {"3x2", three_by_two, {.nranks = 6}},
        {"3+1", three_and_one, {.nranks = 4}},
        {"2x4 at once", two_by_four, {.nranks = 8, .inner = RONDO_SHAPE_ONE_SHOT}},
        {"2x4 halving",
         two_by_four,
         {.nranks = 8,
          .inner = RONDO_SHAPE_HALVING_DOUBLING,
          .outer = RONDO_SHAPE_HALVING_DOUBLING}},
        {"2x2 leaders", two_by_two, {.nranks = 4, .inner = RONDO_SHAPE_TREE}},
    };

    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        rondo_coll coll = cases[at].coll;

        coll.count = 24 * 4096;
        const double whole = slowness(cases[at].host_of, coll);
        coll.segment = 4096;
        const double cut = slowness(cases[at].host_of, coll);
        print_message("%-12s whole %.3f, in segments %.3f of the wire\n",
                      cases[at].name, whole, cut);
        if (whole < 1.3 || cut > 1.15) {
            fail_msg("%s: %.3f of the wire's time whole, %.3f in segments",
                     cases[at].name, whole, cut);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_overlap)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
