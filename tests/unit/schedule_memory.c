/* schedule_memory.c - every allocation fails once, in building, reading and proving. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/schedules.h"
#include "verify/verify.h"

/* What may run out of memory. */
typedef rondo_status (*attempt_function)(const rondo_algo *algo,
                                         const rondo_coll *coll);

/* Lets the 1st, 2nd, ... allocation fail until none is left to fail. */
static void
fail_each(attempt_function attempt, const rondo_algo *algo, const rondo_coll *coll)
{
    for (uint64_t nth = 1;; nth++) {
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status = attempt(algo, coll);

        if (!rondo_alloc_fail_after(0)) {
            assert_int_equal(status, RONDO_OK);
            assert_true(nth > 1);
            return;
        }
        assert_int_equal(status, RONDO_ERR_MEMORY);
    }
}

static rondo_status
build(const rondo_algo *algo, const rondo_coll *coll)
{
    rondo_schedule *schedule = NULL;
    const rondo_status status = rondo_algo_build(algo, coll, &schedule);

    assert_true((status == RONDO_OK) == (schedule != NULL));
    rondo_schedule_destroy(schedule);
    return status;
}

static char *text;

static rondo_status
read_text(const rondo_algo *algo, const rondo_coll *coll)
{
    rondo_schedule *schedule = NULL;
    FILE *const in = fmemopen(text, strlen(text), "r");

    (void)algo;
    (void)coll;
    assert_non_null(in);
    const rondo_status status = rondo_schedule_parse(in, &schedule);
    assert_true((status == RONDO_OK) == (schedule != NULL));
    rondo_schedule_destroy(schedule);
    assert_int_equal(fclose(in), 0);
    return status;
}

static schedules proved;

static rondo_status
prove(const rondo_algo *algo, const rondo_coll *coll)
{
    const rondo_schedule *const *const shown = schedules_const(&proved);

    (void)algo;
    (void)coll;
    const rondo_status status = rondo_verify(shown, proved.nranks, NULL);
    return status == RONDO_OK ? rondo_verify_pair(shown, shown, proved.nranks) : status;
}

static void
test_every_allocation(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_algo *const algo = rondo_algo_at(row);

        for (uint32_t nranks = 1; nranks <= 12; nranks += nranks < 4 ? 1 : 4) {
            const rondo_coll coll = {.kind = algo->kind,
                                     .nranks = nranks,
                                     .count = 40,
                                     .segment = 7,
                                     .rank = nranks / 2};

            fail_each(build, algo, &coll);
            schedules_build(algo, &coll, PLACES_MIXED, &proved);
            text = schedules_text(proved.of[nranks / 2]);
            fail_each(read_text, algo, &coll);
            fail_each(prove, algo, &coll);
            free(text);
            schedules_clear(&proved);
        }
    }
}

/* Levels are made, read and built upon. */
static void
test_levels(void **state)
{
    static const uint32_t host_of[] = {0, 1, 0, 1, 0};
    static const uint32_t part_of[] = {0, 0, 1, 0, 0};
    const rondo_algo *const algo = rondo_algo_at(RONDO_ALGO_all_reduce_levels);
    rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE, .nranks = 5, .count = 40};

    (void)state;
    (void)rondo_alloc_fail_after(1);
    assert_int_equal(rondo_levels_create(5, host_of, part_of, &coll.levels),
                     RONDO_ERR_MEMORY);
    assert_null(coll.levels);
    (void)rondo_alloc_fail_after(0);
    assert_int_equal(rondo_levels_create(5, host_of, part_of, &coll.levels), RONDO_OK);
    for (uint32_t pair = 0; pair < RONDO_SHAPES * RONDO_SHAPES; pair++) {
        coll.inner = (rondo_shape)(pair / RONDO_SHAPES);
        coll.outer = (rondo_shape)(pair % RONDO_SHAPES);
        coll.segment = pair % 2 == 0 ? 7 : 0;
        fail_each(build, algo, &coll);
        schedules_build(algo, &coll, PLACES_MIXED, &proved);
        text = schedules_text(proved.of[2]);
        fail_each(read_text, algo, &coll);
        free(text);
        schedules_clear(&proved);
    }
    rondo_levels_destroy(coll.levels);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
        cmocka_unit_test(test_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
