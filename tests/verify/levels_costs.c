/* levels_costs.c - what the head of the all-reduce over levels says it costs, in
 * formulas, held against what the proof counts and what crosses between hosts. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/crossing.h"
#include "verify/verify.h"

static uint32_t
power_below(uint32_t number)
{
    return 1U << (31 - (uint32_t)__builtin_clz(number));
}

static uint64_t
log2_down(uint32_t number)
{
    return 31 - (uint64_t)__builtin_clz(number);
}

/* What half an all-reduce of one shape on `nranks` ranks costs in turns, and what a sum
 * of it costs in roundings. */
static uint64_t
half_turns(rondo_shape shape, uint32_t nranks)
{
    switch (shape) {
    case RONDO_SHAPE_ONE_SHOT:
        return nranks > 1;
    case RONDO_SHAPE_TREE:
        return log2_down(nranks);
    case RONDO_SHAPE_HALVING_DOUBLING:
        return log2_down(nranks) + (power_below(nranks) < nranks);
    default:
        return nranks - 1;
    }
}

static uint64_t
roundings(rondo_shape shape, uint32_t nranks)
{
    const uint64_t log2_up = log2_down(nranks) + (power_below(nranks) < nranks);

    return shape == RONDO_SHAPE_TREE || shape == RONDO_SHAPE_HALVING_DOUBLING
               ? log2_up
               : nranks - 1;
}

/* Hosts, parts of each, ranks of each part. */
struct cube {
    uint32_t hosts;
    uint32_t parts;
    uint32_t ranks;
};

/* The phases one behind the other; a one-shot all-reduce has one
 * turn, not two halves. */
static rondo_verdict
promise(const rondo_coll *coll, const struct cube *cube)
{
    const uint64_t up =
        half_turns(coll->inner, cube->ranks) + half_turns(coll->inner, cube->parts);
    const uint64_t half = half_turns(coll->outer, cube->hosts);
    const uint64_t across = coll->outer == RONDO_SHAPE_ONE_SHOT ? half : 2 * half;
    const uint64_t inside =
        cube->hosts * (cube->parts - 1) + cube->hosts * cube->parts * (cube->ranks - 1);

    return (rondo_verdict){.turns = 2 * up + across,
                           .sent_total =
                               2 * inside * coll->count + crossing_promise(coll),
                           .roundings_max = roundings(coll->inner, cube->ranks) +
                                            roundings(coll->inner, cube->parts) +
                                            roundings(coll->outer, cube->hosts)};
}

/* Hosts send equally much, where the shape lets all of them do the same. */
static void
check_crossing(const rondo_coll *coll, const schedules *set)
{
    const uint32_t hosts = rondo_levels_hosts(coll->levels);
    const struct crossed crossed = crossing_count(set, coll->levels);
    const bool alike =
        coll->outer == RONDO_SHAPE_RING || coll->outer == RONDO_SHAPE_ONE_SHOT ||
        (coll->outer == RONDO_SHAPE_HALVING_DOUBLING && power_below(hosts) == hosts);

    assert_int_equal(crossed.total, crossing_promise(coll));
    if (alike) {
        assert_int_equal(crossed.most * hosts, crossed.total);
    }
}

static void
hold(const rondo_coll *coll, const struct cube *cube)
{
    const rondo_verdict want = promise(coll, cube);
    rondo_verdict found;
    schedules set;

    schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), coll, PLACES_MIXED,
                    &set);
    assert_int_equal(rondo_verify(schedules_const(&set), set.nranks, &found), RONDO_OK);
    check_crossing(coll, &set);
    schedules_clear(&set);
    if (found.turns != want.turns || found.sent_total != want.sent_total ||
        found.roundings_max != want.roundings_max || found.encodings_max != 0) {
        fail_msg(
            "%s+%s on %u x %u x %u: turns %" PRIu64 " not %" PRIu64 ", sent %" PRIu64
            " not %" PRIu64 ", roundings %" PRIu64 " not %" PRIu64,
            rondo_shape_text(coll->inner), rondo_shape_text(coll->outer), cube->hosts,
            cube->parts, cube->ranks, found.turns, want.turns, found.sent_total,
            want.sent_total, found.roundings_max, want.roundings_max);
    }
}

/* The Cost of the algorithm's head, where all groups are equal and the vector can be
 * cut evenly by all shapes. */
static void
test_costs(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 5 * 4 * 5; number++) {
        const struct cube cube = {number / 20 + 2, number / 5 % 4 + 1, number % 5 + 1};
        const uint32_t nranks = cube.hosts * cube.parts * cube.ranks;
        uint32_t host_of[SCHEDULES_RANKS_MAX];
        uint32_t part_of[SCHEDULES_RANKS_MAX];
        rondo_coll coll = {.nranks = nranks, .count = 48 * nranks};

        if (nranks > 48) {
            continue;
        }
        for (uint32_t rank = 0; rank < nranks; rank++) {
            host_of[rank] = rank % cube.hosts;
            part_of[rank] = rank / cube.hosts % cube.parts;
        }
        assert_int_equal(rondo_levels_create(nranks, host_of, part_of, &coll.levels),
                         RONDO_OK);
        for (uint32_t pair = 0; pair < RONDO_SHAPES * RONDO_SHAPES; pair++) {
            coll.inner = (rondo_shape)(pair / RONDO_SHAPES);
            coll.outer = (rondo_shape)(pair % RONDO_SHAPES);
            hold(&coll, &cube);
        }
        rondo_levels_destroy(coll.levels);
    }
}

/* The two hosts of two that a laptop's test bed has: a host sends the vector once. */
static void
test_two_by_two(void **state)
{
    const uint32_t host_of[] = {0, 0, 1, 1};
    const rondo_levels *levels = NULL;

    (void)state;
    assert_int_equal(rondo_levels_create(4, host_of, NULL, &levels), RONDO_OK);
    for (uint64_t segment = 0; segment <= 256; segment += 64) {
        for (uint32_t inner = 0; inner < RONDO_SHAPES; inner++) {
            const rondo_coll coll = {.nranks = 4,
                                     .count = 1024,
                                     .segment = segment,
                                     .inner = (rondo_shape)inner,
                                     .outer = RONDO_SHAPE_RING,
                                     .levels = levels};
            schedules set;

            schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll,
                            PLACES_APART, &set);
            const struct crossed crossed = crossing_count(&set, levels);
            assert_int_equal(crossed.by_host[0], 1024);
            assert_int_equal(crossed.by_host[1], 1024);
            schedules_clear(&set);
        }
    }
    rondo_levels_destroy(levels);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_two_by_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
