/* levels.c - the all-reduce over levels proved: all shapes inside with all between, in
 * many groupings; and what crosses from host to host held against the formula. */
/* ctest: timeout=300 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/groupings.h"
#include "lib/schedules.h"
#include "schedule/blocks.h"
#include "verify/verify.h"

/* With sanitizers it is our code that is tested, not the groupings. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RANKS_MAX 12
#else
#define RANKS_MAX 64
#endif

/* All shapes with all counts and places up to here, then one after the other. */
#define RANKS_ALL 8

#define HOSTS_MAX 8

/* Elements that ranks of each host send to those of others. */
struct crossed {
    uint64_t by_host[HOSTS_MAX];
    uint64_t total;
    uint64_t most; /* of one host */
};

static struct crossed
count_crossed(const schedules *set, const rondo_levels *levels)
{
    struct crossed crossed = {.total = 0};
    const uint32_t *const host_of = levels->at[1].group_of;

    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
            const rondo_step *const step = &set->of[rank]->steps[at];

            if (step->kind == RONDO_STEP_SEND && host_of[step->peer] != host_of[rank]) {
                crossed.by_host[host_of[rank]] += step->a.count;
                crossed.total += step->a.count;
            }
        }
    }
    for (uint32_t host = 0; host < levels->at[1].ngroups; host++) {
        const uint64_t sent = crossed.by_host[host];

        crossed.most = sent > crossed.most ? sent : crossed.most;
    }
    return crossed;
}

static uint32_t
power_below(uint32_t number)
{
    return 1U << (31 - (uint32_t)__builtin_clz(number));
}

/* What the outer shape sends with one rank per host: never more. */
static uint64_t
crossing_total(const rondo_coll *coll, uint64_t hosts)
{
    const uint64_t power = power_below((uint32_t)hosts);

    switch (coll->outer) {
    case RONDO_SHAPE_ONE_SHOT:
        return hosts * (hosts - 1) * coll->count;
    case RONDO_SHAPE_HALVING_DOUBLING:
        return 2 * (power - 1) * coll->count + 2 * (hosts - power) * coll->count;
    default:
        return 2 * (hosts - 1) * coll->count;
    }
}

/* The same per host, where that is the same for all but for a block's odd element. */
static void
check_crossing(const rondo_coll *coll, const schedules *set)
{
    const uint64_t hosts = rondo_levels_hosts(coll->levels);
    const struct crossed crossed = count_crossed(set, coll->levels);
    const uint64_t total = hosts == 1 ? 0 : crossing_total(coll, hosts);
    const bool level = coll->outer == RONDO_SHAPE_RING ||
                       coll->outer == RONDO_SHAPE_ONE_SHOT ||
                       (coll->outer == RONDO_SHAPE_HALVING_DOUBLING &&
                        power_below((uint32_t)hosts) == hosts);
    /* Two blocks' odd elements in every ring of every segment. */
    const uint64_t odd = 2 * coll->nranks * (1 + coll->count);

    if (crossed.total != total) {
        fail_msg("%" PRIu64 " elements cross, not %" PRIu64, crossed.total, total);
    }
    if (level && coll->segment == 0 && crossed.most * hosts > total + odd * hosts) {
        fail_msg("a host sends %" PRIu64 " elements of %" PRIu64, crossed.most, total);
    }
}

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
    check_crossing(coll, &set);
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
            const struct crossed crossed = count_crossed(&set, levels);
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
        cmocka_unit_test(test_two_by_two),
        cmocka_unit_test(test_few_ranks),
        cmocka_unit_test(test_many_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
