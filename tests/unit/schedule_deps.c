/* schedule_deps.c - the needs of random schedules against those that a plain comparison
 * of all pairs of steps asks for. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/schedules.h"

#define STEPS    60
#define ELEMENTS 24
#define RANKS    3

static rondo_slice
random_slice(uint64_t *seed, uint64_t count, bool mapped)
{
    const uint64_t first = model_random(seed) % (ELEMENTS - count + 1);
    const rondo_buffer buffer = (rondo_buffer)(model_random(seed) % 3);

    if (mapped && model_random(seed) % 3 == 0) {
        return rondo_slice_of(1 + (uint32_t)(model_random(seed) % 2),
                              buffer == RONDO_BUF_IN ? RONDO_BUF_IN : RONDO_BUF_OUT,
                              first, count);
    }
    return rondo_slice_make(buffer, first, count);
}

static void
append_random(rondo_schedule *schedule, uint64_t *seed)
{
    const uint64_t count = 1 + model_random(seed) % 6;
    const uint32_t peer = 1 + (uint32_t)(model_random(seed) % 2);
    const rondo_slice one = random_slice(seed, count, true);
    const rondo_slice two = random_slice(seed, count, true);
    const rondo_slice own = random_slice(seed, count, false);

    switch (model_random(seed) % 8) {
    case 0:
    case 1:
        rondo_schedule_send(schedule, peer, own);
        break;
    case 2:
    case 3:
        rondo_schedule_recv(schedule, peer, own);
        break;
    case 4:
        rondo_schedule_copy(schedule, one, own);
        break;
    case 5:
        rondo_schedule_reduce(schedule, own, one, two);
        break;
    case 6:
        rondo_schedule_reduce(schedule, own, own, two);
        break;
    default:
        if (model_random(seed) % 4 == 0) {
            rondo_schedule_signal(schedule);
        } else if (model_random(seed) % 4 == 0) {
            rondo_schedule_wait(schedule, peer, 1);
        }
        break;
    }
}

static rondo_schedule *
make(uint64_t *seed, bool in_place)
{
    const rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE,
                             .nranks = RANKS,
                             .count = ELEMENTS,
                             .in_place = in_place};
    rondo_schedule *schedule = NULL;

    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_OK);
    (void)rondo_schedule_scratch(schedule, ELEMENTS);
    for (uint32_t step = 0; step < STEPS; step++) {
        append_random(schedule, seed);
    }
    assert_int_equal(rondo_schedule_seal(schedule), RONDO_OK);
    return schedule;
}

/* A peer may be in place: its IN and OUT are one. */
static bool
meet(rondo_slice one, rondo_slice other)
{
    const bool mapped = one.owner != RONDO_OWN;

    return one.count > 0 && other.count > 0 && one.owner == other.owner &&
           (mapped || one.buffer == other.buffer) &&
           one.first < other.first + other.count && other.first < one.first + one.count;
}

static bool
conflict(const rondo_step *one, const rondo_step *other)
{
    return meet(one->to, other->to) || meet(one->to, other->a) ||
           meet(one->to, other->b) || meet(one->a, other->to) ||
           meet(one->b, other->to);
}

/* Whether `late` must wait for `early` by the rules of schedule.h. */
static bool
must_wait(const rondo_step *early, const rondo_step *late)
{
    const bool messages =
        early->kind == late->kind && early->peer == late->peer &&
        (early->kind == RONDO_STEP_SEND || early->kind == RONDO_STEP_RECV);

    return messages || early->kind == RONDO_STEP_WAIT ||
           late->kind == RONDO_STEP_SIGNAL || conflict(early, late);
}

/* Which steps come before which, by needs: closed[late][early]. */
static void
close_needs(const rondo_schedule *schedule, bool closed[STEPS][STEPS])
{
    for (uint64_t late = 0; late < schedule->nsteps; late++) {
        const rondo_step *const step = &schedule->steps[late];

        for (uint64_t early = 0; early < STEPS; early++) {
            closed[late][early] = false;
        }
        for (uint64_t at = 0; at < step->needs; at++) {
            const uint64_t need = schedule->needs[step->needs_at + at];

            closed[late][need] = true;
            for (uint64_t early = 0; early < need; early++) {
                closed[late][early] = closed[late][early] || closed[need][early];
            }
        }
    }
}

/* Every pair that must is ordered; no need stands there for nothing. */
static void
check_needs(const rondo_schedule *schedule)
{
    static bool closed[STEPS][STEPS];

    close_needs(schedule, closed);
    for (uint64_t late = 0; late < schedule->nsteps; late++) {
        const rondo_step *const step = &schedule->steps[late];

        for (uint64_t early = 0; early < late; early++) {
            if (must_wait(&schedule->steps[early], step) && !closed[late][early]) {
                fail_msg("step %" PRIu64 " does not come to step %" PRIu64 "\n%s", late,
                         early, schedules_text(schedule));
            }
        }
        for (uint64_t at = 0; at < step->needs; at++) {
            const uint64_t need = schedule->needs[step->needs_at + at];

            assert_true(must_wait(&schedule->steps[need], step));
            assert_true(at == 0 || schedule->needs[step->needs_at + at - 1] < need);
        }
    }
}

/* Element by element: who reads what receive `at` wrote. */
static uint64_t
plain_reader(const rondo_schedule *schedule, uint64_t at)
{
    const rondo_slice to = schedule->steps[at].to;
    uint64_t reader = RONDO_NO_STEP;
    uint64_t operands = 0;
    bool gone[ELEMENTS] = {false};

    for (uint64_t step = at + 1; step < schedule->nsteps; step++) {
        const rondo_step *const later = &schedule->steps[step];
        const rondo_slice reads[] = {later->a, later->b};

        for (uint32_t operand = 0; operand < 2; operand++) {
            uint64_t found = 0;

            for (uint64_t element = to.first; element < to.first + to.count;
                 element++) {
                const rondo_slice one = {.first = element,
                                         .count = 1,
                                         .owner = RONDO_OWN,
                                         .buffer = to.buffer};

                found += !gone[element] && meet(one, reads[operand]);
            }
            if (found > 0) {
                const bool same = found == to.count && reads[operand].count == to.count;

                operands++;
                reader = same ? step : RONDO_NO_STEP;
            }
        }
        for (uint64_t element = to.first; element < to.first + to.count; element++) {
            const rondo_slice one = {
                .first = element, .count = 1, .owner = RONDO_OWN, .buffer = to.buffer};

            gone[element] = gone[element] || meet(one, later->to);
        }
    }
    return operands == 1 ? reader : RONDO_NO_STEP;
}

static void
check_readers(const rondo_schedule *schedule)
{
    for (uint64_t at = 0; at < schedule->nsteps; at++) {
        const rondo_step *const step = &schedule->steps[at];
        const bool received =
            step->kind == RONDO_STEP_RECV && step->to.buffer == RONDO_BUF_SCRATCH;
        const uint64_t wanted = received ? plain_reader(schedule, at) : RONDO_NO_STEP;

        if (step->reader != wanted) {
            fail_msg("step %" PRIu64 ": reader %" PRIu64 ", not %" PRIu64 "\n%s", at,
                     step->reader, wanted, schedules_text(schedule));
        }
    }
}

static void
test_random(void **state)
{
    uint64_t seed = 11;

    (void)state;
    for (uint32_t round = 0; round < 3000; round++) {
        rondo_schedule *const schedule = make(&seed, round % 2 == 1);

        check_needs(schedule);
        check_readers(schedule);
        rondo_schedule_destroy(schedule);
    }
}

/* A long schedule's needs stay few: a ring of 200 ranks has about two a step. */
static void
test_few(void **state)
{
    const rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE,
                             .rank = 77,
                             .nranks = 200,
                             .count = 1000000,
                             .segment = 100000,
                             .in_place = true};
    rondo_schedule *schedule = NULL;

    (void)state;
    assert_int_equal(
        rondo_algo_build(rondo_algo_find(coll.kind, "ring"), &coll, &schedule),
        RONDO_OK);
    assert_int_equal(schedule->nsteps, 10 * 199 * 5);
    assert_true(schedule->nneeds < 2 * schedule->nsteps);
    /* Scratch is used again: it does not grow with the vector. */
    assert_int_equal(schedule->scratch_count, 4 * 500);
    rondo_schedule_destroy(schedule);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
