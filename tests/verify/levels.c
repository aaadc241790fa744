/* levels.c - the all-reduce over levels proved: all shapes inside with all between, in
 * many groupings; never more crosses from host to host than the formula says. */
/* ctest: timeout=300 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/crossing.h"
#include "lib/groupings.h"
#include "lib/schedules.h"
#include "verify/verify.h"

/* With sanitizers it is our code that is tested, not the groupings. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RANKS_MAX 12
#else
#define RANKS_MAX 64
#endif

/* All shapes with all counts and places up to here, then one after the other. */
#define RANKS_ALL 8

static void
prove(const rondo_coll *coll, enum places places, uint32_t grouping)
{
    const rondo_algo *const algo = rondo_algo_at(RONDO_ALGO_all_reduce_levels);
    rondo_verdict verdict;
    schedules set;

    schedules_build(algo, coll, places, &set);
    if (rondo_verify(schedules_const(&set), set.nranks, &verdict) != RONDO_OK) {
        fail_msg("%s+%s, %" PRIu32 " ranks, %s, count %" PRIu64 ", segment %" PRIu64
                 ", places %d: %s",
                 rondo_shape_text(coll->inner), rondo_shape_text(coll->outer),
                 coll->nranks, groupings_text(grouping), coll->count, coll->segment,
                 (int)places, rondo_error_text());
    }
    if (rondo_levels_hosts(coll->levels) > 1) {
        const uint64_t found = crossing_count(&set, coll->levels).total;

        assert_int_equal(found, crossing_promise(coll));
    }
    schedules_clear(&set);
}

/* Calls `check` with every pair of shapes. */
static void
each_pair(rondo_coll *coll, uint32_t grouping,
          void (*check)(const rondo_coll *coll, uint32_t grouping))
{
    for (uint32_t pair = 0; pair < RONDO_SHAPES * RONDO_SHAPES; pair++) {
        coll->inner = (rondo_shape)(pair / RONDO_SHAPES);
        coll->outer = (rondo_shape)(pair % RONDO_SHAPES);
        check(coll, grouping);
    }
}

static void
prove_places(const rondo_coll *coll, uint32_t grouping)
{
    for (uint32_t places = 0; places < PLACES; places++) {
        prove(coll, (enum places)places, grouping);
    }
}

static void
prove_mixed(const rondo_coll *coll, uint32_t grouping)
{
    prove(coll, PLACES_MIXED, grouping);
}

static void
prove_counts(uint32_t nranks, uint32_t grouping, const rondo_levels *levels)
{
    const uint64_t segments[] = {0, 7};
    uint64_t counts[SCHEDULES_COUNTS_MAX];
    uint32_t ncounts = schedules_counts(nranks, counts);

    counts[ncounts++] = 37;
    for (uint32_t at = 0; at < ncounts; at++) {
        for (uint32_t length = 0; length < 2; length++) {
            rondo_coll coll = {.nranks = nranks,
                               .count = counts[at],
                               .segment = segments[length],
                               .levels = levels};

            if (coll.segment == 0 || coll.count > coll.segment) {
                each_pair(&coll, grouping,
                          nranks <= 5 && length == 0 ? prove_places : prove_mixed);
            }
        }
    }
}

static void
test_few_ranks(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= RANKS_ALL; nranks++) {
        for (uint32_t number = 0; number < groupings_count(); number++) {
            const rondo_levels *const levels = groupings_make(number, nranks);

            if (levels != NULL) {
                prove_counts(nranks, number, levels);
                rondo_levels_destroy(levels);
            }
        }
    }
}

/* One pair of shapes, one count and one way of being in place for each grouping, each
 * in its turn. */
static void
test_many_ranks(void **state)
{
    uint32_t turn = 0;

    (void)state;
    for (uint32_t nranks = RANKS_ALL + 1; nranks <= RANKS_MAX; nranks++) {
        uint64_t counts[SCHEDULES_COUNTS_MAX];
        uint32_t ncounts = schedules_counts(nranks, counts);

        for (uint32_t number = 0; number < groupings_count(); number++, turn++) {
            const rondo_levels *const levels = groupings_make(number, nranks);
            const rondo_coll coll = {.nranks = nranks,
                                     .count = counts[turn / 3 % ncounts],
                                     .segment = turn % 2 * (nranks + 1),
                                     .inner = (rondo_shape)(turn / 5 % RONDO_SHAPES),
                                     .outer = (rondo_shape)(turn / 7 % RONDO_SHAPES),
                                     .levels = levels};

            prove(&coll, (enum places)(turn % PLACES), number);
            rondo_levels_destroy(levels);
        }
    }
}

/* Back to back with each other and with a flat ring, each rank going on as it may. */
static void
test_pairs(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < groupings_count(); number++) {
        const uint32_t nranks = 4 + number % 6;
        rondo_coll coll = {.nranks = nranks, .count = nranks + number % 17};
        schedules sets[3];

        coll.levels = groupings_make(number, nranks);
        coll.inner = (rondo_shape)(number % RONDO_SHAPES);
        coll.outer = (rondo_shape)(number / 5 % RONDO_SHAPES);
        schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll,
                        PLACES_MIXED, &sets[0]);
        coll.inner = (rondo_shape)(number / 7 % RONDO_SHAPES);
        coll.segment = 7;
        schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll,
                        PLACES_IN_PLACE, &sets[1]);
        schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_ring), &coll, PLACES_APART,
                        &sets[2]);
        for (uint32_t pair = 0; pair < 9; pair++) {
            const rondo_status status =
                rondo_verify_pair(schedules_const(&sets[pair / 3]),
                                  schedules_const(&sets[pair % 3]), nranks);
            if (status != RONDO_OK) {
                fail_msg("%s: %s", groupings_text(number), rondo_error_text());
            }
        }
        for (uint32_t at = 0; at < 3; at++) {
            schedules_clear(&sets[at]);
        }
        rondo_levels_destroy(coll.levels);
    }
}

/* Ranks that are told of other hosts, or other shapes, are not of one collective. */
static void
test_disagreement(void **state)
{
    static const uint32_t host_of[][4] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {5, 5, 4, 4}};
    schedules sets[4];
    rondo_coll coll = {.nranks = 4, .count = 8};
    const rondo_levels *levels[3];

    (void)state;
    for (uint32_t at = 0; at < 4; at++) {
        if (at < 3) {
            assert_int_equal(rondo_levels_create(4, host_of[at], NULL, &levels[at]),
                             RONDO_OK);
        }
        coll.levels = levels[at % 3];
        coll.inner = at < 3 ? RONDO_SHAPE_RING : RONDO_SHAPE_ONE_SHOT;
        schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll,
                        PLACES_APART, &sets[at]);
    }
    for (uint32_t at = 0; at < 4; at++) {
        const rondo_schedule *shown[4] = {sets[0].of[0], sets[0].of[1], sets[at].of[2],
                                          sets[0].of[3]};

        /* What hosts are called does not matter. */
        assert_int_equal(rondo_verify(shown, 4, NULL),
                         at % 2 == 0 ? RONDO_OK : RONDO_ERR_INTERNAL);
    }
    for (uint32_t at = 0; at < 4; at++) {
        schedules_clear(&sets[at]);
    }
    for (uint32_t at = 0; at < 3; at++) {
        rondo_levels_destroy(levels[at]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_ranks),
        cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_disagreement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
