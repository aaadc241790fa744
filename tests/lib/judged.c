/* judged.c - every row, every rank, every element. */
#include "lib/judged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
run_and_judge(const gang_job *job, gang_value value, judge judges)
{
    const uint64_t width = rondo_dtype_bytes(job->dtype);
    struct gang *gang = NULL;

    assert_int_equal(gang_create(job, &gang), RONDO_OK);
    gang_fill(gang, value);
    assert_int_equal(gang_run(gang), RONDO_OK);
    assert_true(gang_right(gang));
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        for (uint64_t at = 0; at * width < gang_out_bytes(gang, rank); at++) {
            uint64_t bits = 0;
            memcpy(&bits, (char *)gang_out(gang, rank) + at * width, width);
            judges(job, rank, at, bits);
        }
    }
    gang_destroy(gang);
}

void
judged_by_every_row(gang_job job, rondo_coll_kind kind, gang_value value, judge judges)
{
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        job.algo = rondo_algo_at(row);
        if (job.algo->kind == kind) {
            run_and_judge(&job, value, judges);
        }
    }
}

void
judged_by_every_reduction(gang_job job, gang_value value, judge judges)
{
    judged_by_every_row(job, RONDO_COLL_ALL_REDUCE, value, judges);
    judged_by_every_row(job, RONDO_COLL_REDUCE, value, judges);
    judged_by_every_row(job, RONDO_COLL_REDUCE_SCATTER, value, judges);
}
