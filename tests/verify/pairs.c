/* pairs.c - any two rows back to back, each rank going on as soon as it may. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/schedules.h"
#include "verify/verify.h"

#define ROWS_MAX 32

/* All rows on `nranks` ranks, in one way of being in place. */
static void
build_all(uint32_t nranks, uint64_t count, uint64_t segment, enum places places,
          schedules sets[ROWS_MAX])
{
    assert_true(rondo_algo_count() <= ROWS_MAX);
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_coll coll = {.nranks = nranks, .count = count, .segment = segment};

        schedules_build(rondo_algo_at(row), &coll, places, &sets[row]);
    }
}

static void
prove_pairs(const schedules *firsts, const schedules *seconds, uint32_t nranks)
{
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t other = 0; other < rondo_algo_count(); other++) {
            if (rondo_verify_pair(schedules_const(&firsts[row]),
                                  schedules_const(&seconds[other]),
                                  nranks) != RONDO_OK) {
                fail_msg("%s %s, then %s %s, %" PRIu32 " ranks: %s",
                         rondo_coll_text(rondo_algo_at(row)->kind),
                         rondo_algo_at(row)->shape,
                         rondo_coll_text(rondo_algo_at(other)->kind),
                         rondo_algo_at(other)->shape, nranks, rondo_error_text());
            }
        }
    }
}

static void
test_pairs(void **state)
{
    const uint32_t ranks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 21};

    (void)state;
    for (uint32_t at = 0; at < sizeof ranks / sizeof ranks[0]; at++) {
        const uint64_t counts[] = {0, 1, ranks[at] + 1, 3 * ranks[at] + 2};

        for (uint32_t count = 0; count < 4; count++) {
            schedules firsts[ROWS_MAX];
            schedules seconds[ROWS_MAX];

            build_all(ranks[at], counts[count], 0, PLACES_MIXED, firsts);
            build_all(ranks[at], counts[3 - count], 7, (enum places)(count % PLACES),
                      seconds);
            prove_pairs(firsts, seconds, ranks[at]);
            prove_pairs(seconds, firsts, ranks[at]);
            for (uint32_t row = 0; row < rondo_algo_count(); row++) {
                schedules_clear(&firsts[row]);
                schedules_clear(&seconds[row]);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
