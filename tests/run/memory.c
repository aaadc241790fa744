/* memory.c - the k-th allocation fails, for every k, from schedule to result: an error
 * that says so, no leak, and the next attempt is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/gang.h"

/* One attempt under `fail_after`; whether it met the failure. */
static bool
attempt(const gang_job *job, uint64_t nth)
{
    struct gang *gang = NULL;

    (void)rondo_alloc_fail_after(nth);
    rondo_status status = gang_create(job, &gang);
    if (status == RONDO_OK) {
        gang_fill(gang, gang_whole);
        status = gang_run(gang);
    }
    const bool failed = rondo_alloc_fail_after(0);
    assert_int_equal(status, failed ? RONDO_ERR_MEMORY : RONDO_OK);
    if (!failed) {
        assert_true(gang_right(gang));
    }
    gang_destroy(gang);
    return failed;
}

static void
every_allocation_fails_once(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 1; nranks <= 4; nranks++) {
            const gang_job job = {.algo = rondo_algo_at(row),
                                  .nranks = nranks,
                                  .count = 37,
                                  .segment = 8,
                                  .place = GANG_MIXED,
                                  .dtype = RONDO_INT32,
                                  .op = RONDO_SUM,
                                  .seed = 3,
                                  .piece_bytes = 64};
            uint64_t nth = 1;
            while (attempt(&job, nth)) {
                nth++;
            }
            assert_true(nth > 3);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
