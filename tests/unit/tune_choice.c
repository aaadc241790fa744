/* tune_choice.c - what is chosen on one host and on several; that it can be built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/groupings.h"
#include "tune/tune.h"

#define RANKS_MAX 20

static const uint64_t counts[] = {0,    1,     2,     255,   1024,   4096,   4097,
                                  8192, 10000, 65536, 65537, 131072, 131073, 4000000};
#define COUNTS (sizeof counts / sizeof counts[0])

static rondo_choice
choose(const rondo_coll *coll, const rondo_tune_forced *forced, bool mapped)
{
    const rondo_tune_query query = {
        .coll = coll, .element_bytes = 4, .mapped = mapped, .forced = forced};

    return rondo_tune_choose(&query);
}

static rondo_tune_forced
forced_by(const char *text)
{
    rondo_tune_forced forced;

    assert_int_equal(rondo_tune_forced_parse(text, &forced), RONDO_OK);
    return forced;
}

/* What a choice must keep to, whatever was forced. */
static void
check_choice(const rondo_coll *coll, const rondo_tune_forced *forced)
{
    const uint32_t hosts = rondo_levels_hosts(coll->levels);
    const rondo_tune_query query = {
        .coll = coll, .element_bytes = 4, .mapped = true, .forced = forced};
    const rondo_choice choice = rondo_tune_choose(&query);
    const rondo_algo *const algo = rondo_algo_at(choice.algo);

    assert_int_equal(algo->kind, coll->kind);
    if (hosts > 1) {
        assert_int_equal(algo->needs & RONDO_NEEDS_MAPPED, 0);
        assert_false(rondo_tune_wants_mapped(&query));
    }
    /* Plans that do not differ have one key. */
    if (choice.algo != RONDO_ALGO_all_reduce_levels) {
        assert_int_equal(choice.inner, 0);
        assert_int_equal(choice.outer, 0);
    }
    const rondo_coll told = rondo_tune_coll(coll, choice);
    assert_int_equal(told.count, coll->count);
    assert_int_equal(told.segment, choice.segment);
    assert_int_equal(told.inner, choice.inner);
    assert_int_equal(told.outer, choice.outer);
    assert_ptr_equal(told.levels, coll->levels);
    rondo_schedule *schedule = NULL;
    assert_int_equal(rondo_algo_build(algo, &told, &schedule), RONDO_OK);
    rondo_schedule_destroy(schedule);
}

static void
can_always_be_built(void **state)
{
    static const char *const wishes[] = {"", "all_reduce=direct", "all_reduce=levels",
                                         "all_reduce=levels:ring+tree",
                                         "all_reduce=ring"};

    (void)state;
    for (uint32_t nranks = 1; nranks <= RANKS_MAX; nranks += nranks < 6 ? 1 : 7) {
        for (uint32_t number = 0; number < groupings_count(); number += 5) {
            const rondo_levels *const levels = groupings_make(number, nranks);

            for (size_t at = 0; at < COUNTS; at++) {
                const rondo_tune_forced forced = forced_by(wishes[(at + number) % 5]);

                for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
                    const rondo_coll coll = {.kind = (rondo_coll_kind)kind,
                                             .rank = nranks / 2,
                                             .nranks = nranks,
                                             .count = counts[at],
                                             .levels = levels};

                    check_choice(&coll, &forced);
                }
            }
            rondo_levels_destroy(levels);
        }
    }
}

/* One host is one host, with or without knowing it. */
static void
one_host_changes_nothing(void **state)
{
    static const uint32_t host_of[RANKS_MAX] = {0};
    const rondo_tune_forced forced = forced_by("");

    (void)state;
    for (uint32_t nranks = 1; nranks <= RANKS_MAX; nranks++) {
        const rondo_levels *levels = NULL;

        assert_int_equal(rondo_levels_create(nranks, host_of, NULL, &levels), RONDO_OK);
        for (uint32_t at = 0; at < COUNTS * RONDO_COLLS * 2; at++) {
            rondo_coll coll = {.kind = (rondo_coll_kind)(at / 2 % RONDO_COLLS),
                               .nranks = nranks,
                               .count = counts[at / 2 / RONDO_COLLS]};
            const rondo_choice flat = choose(&coll, &forced, at % 2 == 0);

            coll.levels = levels;
            const rondo_choice known = choose(&coll, &forced, at % 2 == 0);
            assert_int_equal(known.algo, flat.algo);
            assert_int_equal(known.segment, flat.segment);
        }
        rondo_levels_destroy(levels);
    }
}

/* Ranks of a host meet first; where there are none, hosts are what ranks are. */
static void
several_hosts(void **state)
{
    const rondo_tune_forced forced = forced_by("");

    (void)state;
    for (uint32_t nranks = 2; nranks <= RANKS_MAX; nranks++) {
        for (uint32_t number = 0; number < groupings_count(); number++) {
            const rondo_levels *const levels = groupings_make(number, nranks);
            const uint32_t hosts = rondo_levels_hosts(levels);

            for (size_t at = 0; levels != NULL && hosts > 1 && at < COUNTS; at++) {
                const rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE,
                                         .nranks = nranks,
                                         .count = counts[at],
                                         .levels = levels};
                const rondo_choice choice = choose(&coll, &forced, true);

                assert_int_equal(choice.algo == RONDO_ALGO_all_reduce_levels,
                                 hosts < nranks);
                assert_true(rondo_levels_even(levels, 1) ||
                            choice.inner == RONDO_SHAPE_TREE);
            }
            rondo_levels_destroy(levels);
        }
    }
}

/* The ends of the scale: few turns for a few bytes, few bytes for many. */
static void
small_and_large(void **state)
{
    static const uint32_t two_by_two[] = {0, 0, 1, 1};
    static const uint32_t four[] = {0, 1, 2, 3};
    const rondo_tune_forced forced = forced_by("");
    const rondo_levels *hosts = NULL;
    const rondo_levels *ranks = NULL;

    (void)state;
    assert_int_equal(rondo_levels_create(4, two_by_two, NULL, &hosts), RONDO_OK);
    assert_int_equal(rondo_levels_create(4, four, NULL, &ranks), RONDO_OK);
    rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE, .nranks = 4, .count = 2};
    coll.levels = hosts;
    rondo_choice choice = choose(&coll, &forced, false);
    assert_int_equal(choice.inner, RONDO_SHAPE_TREE);
    assert_int_equal(choice.outer, RONDO_SHAPE_ONE_SHOT);
    coll.levels = ranks;
    choice = choose(&coll, &forced, false);
    assert_int_equal(choice.algo, RONDO_ALGO_all_reduce_one_shot);
    coll.count = 4 << 20;
    choice = choose(&coll, &forced, false);
    assert_int_equal(choice.algo, RONDO_ALGO_all_reduce_ring);
    assert_true(choice.segment > 0 && choice.segment < coll.count);
    coll.levels = hosts;
    choice = choose(&coll, &forced, false);
    assert_int_equal(choice.algo, RONDO_ALGO_all_reduce_levels);
    assert_int_equal(choice.inner, RONDO_SHAPE_RING);
    assert_int_equal(choice.outer, RONDO_SHAPE_RING);
    rondo_levels_destroy(hosts);
    rondo_levels_destroy(ranks);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(can_always_be_built),
        cmocka_unit_test(one_host_changes_nothing),
        cmocka_unit_test(several_hosts),
        cmocka_unit_test(small_and_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
