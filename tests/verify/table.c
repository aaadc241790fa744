/* table.c - every row of the table proved, and held to what its header promises. */
/* ctest: timeout=300 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/schedules.h"
#include "schedule/blocks.h"
#include "verify/verify.h"

/* With sanitizers it is our code that is tested, not the table: fewer ranks will do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RANKS_MAX 20
#else
#define RANKS_MAX 64
#endif

static void
prove(const rondo_algo *algo, const rondo_coll *coll, enum places places,
      rondo_verdict *verdict)
{
    schedules set;

    schedules_build(algo, coll, places, &set);
    if (rondo_verify(schedules_const(&set), set.nranks, verdict) != RONDO_OK) {
        fail_msg("%s %s, %" PRIu32 " ranks, root %" PRIu32 ", count %" PRIu64
                 ", segment %" PRIu64 ", places %d: %s",
                 rondo_coll_text(algo->kind), algo->shape, coll->nranks, coll->root,
                 coll->count, coll->segment, (int)places, rondo_error_text());
    }
    schedules_clear(&set);
}

static bool
has_root(const rondo_algo *algo)
{
    return algo->kind == RONDO_COLL_BROADCAST || algo->kind == RONDO_COLL_REDUCE;
}

/* Calls `check` for each root worth a try. */
static void
each_root(const rondo_algo *algo, rondo_coll *coll,
          void (*check)(const rondo_algo *algo, const rondo_coll *coll))
{
    for (uint32_t root = 0; root < coll->nranks; root++) {
        const bool some = root < 2 || root == coll->nranks / 2 ||
                          root == coll->nranks - 1 || coll->nranks <= 8;

        if (some && (root == 0 || has_root(algo))) {
            coll->root = root;
            check(algo, coll);
        }
    }
    coll->root = 0;
}

static void
prove_places(const rondo_algo *algo, const rondo_coll *coll)
{
    for (uint32_t places = 0; places < PLACES; places++) {
        rondo_verdict verdict;

        prove(algo, coll, (enum places)places, &verdict);
    }
}

static void
prove_mixed(const rondo_algo *algo, const rondo_coll *coll)
{
    rondo_verdict verdict;

    prove(algo, coll, PLACES_MIXED, &verdict);
}

/* All counts, all ways of being in place, without segments. */
static void
prove_counts(const rondo_algo *algo, uint32_t nranks)
{
    uint64_t counts[SCHEDULES_COUNTS_MAX];
    const uint32_t ncounts = schedules_counts(nranks, counts);

    for (uint32_t at = 0; at < ncounts; at++) {
        rondo_coll coll = {.nranks = nranks, .count = counts[at]};

        each_root(algo, &coll, prove_places);
    }
}

/* Segments meet counts; on many ranks one of each must do. */
static void
prove_segments(const rondo_algo *algo, uint32_t nranks)
{
    const uint64_t segments[] = {1, 7, 64};
    uint64_t counts[SCHEDULES_COUNTS_MAX];
    uint32_t ncounts = schedules_counts(nranks, counts);

    counts[ncounts++] = 1000;
    for (uint32_t at = 0; at < ncounts; at++) {
        for (uint32_t length = 0; length < 3; length++) {
            rondo_coll coll = {
                .nranks = nranks, .count = counts[at], .segment = segments[length]};
            const uint64_t pieces = coll.count / coll.segment;

            if (pieces == 0 || pieces * nranks * nranks > 8000) {
                continue;
            }
            each_root(algo, &coll, nranks <= 8 ? prove_places : prove_mixed);
        }
    }
}

static void
test_counts(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 1; nranks <= RANKS_MAX; nranks++) {
            prove_counts(rondo_algo_at(row), nranks);
        }
    }
}

static void
test_segments(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 1; nranks <= RANKS_MAX; nranks++) {
            prove_segments(rondo_algo_at(row), nranks);
        }
    }
}

static void
test_large(void **state)
{
    const uint32_t ranks[] = {2, 3, 5, 8, 13, 16, 64};

    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t at = 0; at < sizeof ranks / sizeof ranks[0]; at++) {
            const rondo_coll coll = {.nranks = ranks[at],
                                     .count = ranks[at] < 64 ? 1009 : 337};

            prove_places(rondo_algo_at(row), &coll);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
