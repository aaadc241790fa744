/* types.c - every type and operator through every row that reduces, against the naive
 * result; and what moves only, on every type.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/gang.h"

static void
run_job(const gang_job *job)
{
    struct gang *gang = NULL;

    assert_int_equal(gang_create(job, &gang), RONDO_OK);
    gang_fill(gang, gang_whole);
    const rondo_status status = gang_run(gang);
    if (status != RONDO_OK || !gang_right(gang)) {
        fail_msg("%s %s of %s, %s, on %u ranks: status %d",
                 rondo_coll_text(job->algo->kind), job->algo->shape,
                 rondo_dtype_text(job->dtype), rondo_op_text(job->op), job->nranks,
                 (int)status);
    }
    gang_destroy(gang);
}

/* 101 elements: vectors, their remainder, and blocks of different lengths. */
static void
every_type_and_operator(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (int dtype = 0; dtype < RONDO_DTYPES; dtype++) {
            for (int op = 0; op < RONDO_OPS; op++) {
                for (uint32_t nranks = 1; nranks <= 6; nranks++) {
                    const gang_job job = {.algo = rondo_algo_at(row),
                                          .nranks = nranks,
                                          .root = nranks / 2,
                                          .count = 101,
                                          .segment = nranks == 4 ? 40 : 0,
                                          .place = (gang_place)(nranks % GANG_PLACES),
                                          .dtype = (rondo_dtype)dtype,
                                          .op = (rondo_op)op,
                                          .seed = nranks,
                                          .busy_percent = 30,
                                          .piece_bytes = 128,
                                          .unbuffered = nranks % 2 == 0};
                    run_job(&job);
                }
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
