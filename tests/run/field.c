/* field.c - cases reported from the field, at the level of schedules: odd counts, tiny
 * vectors in place, buffers of ranks that get nothing. Every row runs its cases.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/arithmetic.h"
#include "lib/judged.h"

/* --- S02: counts that ranks do not divide ----------------------------------------- */

/* 73 numbers of each rank, padded with zeros to 76. */
static uint64_t
padded_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    (void)dtype;
    return at < 73 ? 100 * rank + at : 0;
}

static uint64_t
counting_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    (void)dtype;
    return 100 * rank + at;
}

static void
judge_counting(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    const uint64_t ranks = (uint64_t)job->nranks * (job->nranks - 1) / 2;

    (void)rank;
    assert_int_equal(bits, 100 * ranks + job->nranks * at);
}

static void
judge_scattered(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    const uint64_t element = rank * job->count + at;

    assert_int_equal(bits, element < 73 ? 600 + 4 * element : 0);
}

/* What the ranks would have after that reduce-scatter. */
static uint64_t
scattered_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    (void)dtype;
    return 19 * rank + at < 73 ? 600 + 4 * (19 * rank + at) : 0;
}

static void
judge_gathered(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    (void)job;
    (void)rank;
    assert_int_equal(bits, at < 73 ? 600 + 4 * at : 0);
}

static void
odd_counts(void **state)
{
    static const uint64_t counts[] = {73, 1, 2, 3, 5, 7, 4099};
    gang_job job = {.dtype = RONDO_INT32, .op = RONDO_SUM};

    (void)state;
    for (job.nranks = 2; job.nranks <= 9; job.nranks++) {
        for (uint32_t at = 0; at < 7; at++) {
            job.count = counts[at];
            job.place = (gang_place)(at % GANG_PLACES);
            judged_by_every_row(job, RONDO_COLL_ALL_REDUCE, counting_value,
                                judge_counting);
        }
    }
    job.nranks = 4;
    job.count = 19;
    judged_by_every_row(job, RONDO_COLL_REDUCE_SCATTER, padded_value, judge_scattered);
    judged_by_every_row(job, RONDO_COLL_ALL_GATHER, scattered_value, judge_gathered);
}

/* --- S03: a few doubles, in place or not ------------------------------------------ */

static uint64_t
inverse_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    const double value = at % 2 == 0 ? (double)rank : rank == 0 ? 0 : 1.0 / rank;
    uint64_t bits = 0;

    (void)dtype;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void
judge_inverse(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    double sum = 0;

    (void)rank;
    for (uint32_t other = 0; other < job->nranks; other++) {
        sum += arithmetic_value(RONDO_FP64, inverse_value(RONDO_FP64, other, at));
    }
    const double value = arithmetic_value(RONDO_FP64, bits);
    if (at % 2 == 0) {
        assert_true(value == sum);
    }
    assert_true(fabs(value - sum) <= DBL_EPSILON * sum * job->nranks);
    /* 1 + 1/2 + 1/3 is met within its last place. */
    if (job->nranks == 4 && at % 2 == 1) {
        assert_true(fabs(value - 1.8333333333333333) <= DBL_EPSILON);
    }
}

/* Not the naive sum, which adds in another order: so without gang_right. */
static void
judge_places(const gang_job *first_job)
{
    gang_job job = *first_job;
    unsigned char *wanted = NULL;

    for (int place = 0; place < GANG_PLACES; place++) {
        struct gang *gang = NULL;
        job.place = (gang_place)place;
        assert_int_equal(gang_create(&job, &gang), RONDO_OK);
        gang_fill(gang, inverse_value);
        assert_int_equal(gang_run(gang), RONDO_OK);
        const uint64_t bytes = gang_out_bytes(gang, 0);
        if (wanted == NULL) {
            wanted = malloc(bytes);
            assert_non_null(wanted);
            memcpy(wanted, gang_out(gang, 0), bytes);
        }
        for (uint32_t rank = 0; rank < job.nranks; rank++) {
            assert_memory_equal(gang_out(gang, rank), wanted, bytes);
        }
        gang_destroy(gang);
    }
    for (uint64_t at = 0; at < job.count; at++) {
        uint64_t bits = 0;
        memcpy(&bits, wanted + at * sizeof bits, sizeof bits);
        judge_inverse(&job, 0, at, bits);
    }
    free(wanted);
}

static void
tiny_doubles_in_place(void **state)
{
    gang_job job = {.dtype = RONDO_FP64, .op = RONDO_SUM};

    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        job.algo = rondo_algo_at(row);
        for (job.nranks = 2; job.nranks <= 9; job.nranks++) {
            for (job.count = 1; job.count <= 17; job.count++) {
                if (job.algo->kind == RONDO_COLL_ALL_REDUCE) {
                    judge_places(&job);
                }
            }
        }
    }
}

/* --- S19: who gets nothing has nothing touched ------------------------------------ */

static uint64_t
one_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    (void)dtype;
    (void)rank;
    (void)at;
    return 0x3f800000;
}

static void
judge_ones(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    (void)rank;
    (void)at;
    assert_true(arithmetic_value(RONDO_FP32, bits) == (double)job->nranks);
}

static void
others_are_left_alone(void **state)
{
    gang_job job = {.dtype = RONDO_FP32, .op = RONDO_SUM, .count = 4};

    (void)state;
    for (job.nranks = 2; job.nranks <= 5; job.nranks++) {
        for (job.root = 0; job.root < job.nranks; job.root++) {
            for (int place = 0; place < 2 * GANG_PLACES; place++) {
                job.place = (gang_place)(place % GANG_PLACES);
                job.null_spare = place >= GANG_PLACES;
                judged_by_every_row(job, RONDO_COLL_REDUCE, one_value, judge_ones);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_counts),
        cmocka_unit_test(tiny_doubles_in_place),
        cmocka_unit_test(others_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
