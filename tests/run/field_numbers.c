/* field_numbers.c - cases reported from the field: NaN in min and max, integers that
 * overflow, averages. Every row that reduces runs them.
 * ctest: timeout=300
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/arithmetic.h"
#include "lib/judged.h"

/* The contributions of the case under way, by rank. */
static uint64_t given[16];

static uint64_t
given_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    (void)dtype;
    (void)at;
    return given[rank];
}

/* --- S05: a NaN wins, whoever holds it -------------------------------------------- */

static const rondo_dtype floating[] = {RONDO_FP16, RONDO_BF16, RONDO_FP32, RONDO_FP64};

/* 1, a NaN with a payload, 3, 4, and the infinities, in each type. */
static const uint64_t numbers[4][6] = {
    {0x3c00, 0xfd23, 0x4200, 0x4400, 0x7c00, 0xfc00},
    {0x3f80, 0xff93, 0x4040, 0x4080, 0x7f80, 0xff80},
    {0x3f800000, 0xffa12345, 0x40400000, 0x40800000, 0x7f800000, 0xff800000},
    {UINT64_C(0x3ff0000000000000), UINT64_C(0xfff4123456789abc),
     UINT64_C(0x4008000000000000), UINT64_C(0x4010000000000000),
     UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000)}};

static void
judge_nan(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    (void)rank;
    (void)at;
    assert_int_equal(bits, arithmetic_nan(job->dtype));
}

/* Set by a case without NaN: what must come out. */
static uint64_t wanted_bits;

static void
judge_wanted(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    (void)job;
    (void)rank;
    (void)at;
    assert_int_equal(bits, wanted_bits);
}

/* Every order of four contributions; `permutation` counts the 24 of them. */
static void
arrange(const uint64_t *four, uint32_t permutation)
{
    uint64_t left[4] = {four[0], four[1], four[2], four[3]};

    for (uint32_t rank = 0; rank < 4; rank++) {
        const uint32_t pick = permutation % (4 - rank);

        permutation /= 4 - rank;
        given[rank] = left[pick];
        left[pick] = left[3 - rank];
    }
}

static void
every_holder_of_a_nan(gang_job job, uint32_t type)
{
    for (uint32_t permutation = 0; permutation < 24; permutation++) {
        arrange(numbers[type], permutation);
        judged_by_every_reduction(job, given_value, judge_nan);
    }
    const uint64_t infinities[4] = {numbers[type][0], numbers[type][4],
                                    numbers[type][5], numbers[type][3]};
    wanted_bits = numbers[type][job.op == RONDO_MAX ? 4 : 5];
    for (uint32_t permutation = 0; permutation < 24; permutation++) {
        arrange(infinities, permutation);
        judged_by_every_reduction(job, given_value, judge_wanted);
    }
    for (uint32_t rank = 0; rank < 4; rank++) {
        given[rank] = numbers[type][1];
    }
    judged_by_every_reduction(job, given_value, judge_nan);
}

static void
one_nan_wins(void **state)
{
    static const uint64_t counts[] = {1, 3, 4, 7, 8, 15, 16, 17, 33};
    gang_job job = {.nranks = 4};

    (void)state;
    for (uint32_t type = 0; type < 4; type++) {
        for (uint32_t at = 0; at < sizeof counts / sizeof counts[0]; at++) {
            job.dtype = floating[type];
            job.count = counts[at];
            job.root = at % 4;
            job.op = RONDO_MIN;
            every_holder_of_a_nan(job, type);
            job.op = RONDO_MAX;
            every_holder_of_a_nan(job, type);
        }
        job.count = floating[type] == RONDO_FP32 ? 1000003 : 10007;
        arrange(numbers[type], 17);
        judged_by_every_row(job, RONDO_COLL_ALL_REDUCE, given_value, judge_nan);
    }
}

/* --- S06: integers wrap; S07: averages -------------------------------------------- */

struct sum {
    rondo_dtype dtype;
    rondo_op op;
    uint32_t nranks;
    uint64_t given[3];
    uint64_t wanted;
};

#define ALL UINT64_MAX

static const struct sum sums[] = {
    {RONDO_INT8, RONDO_SUM, 2, {120, 100}, 0xdc},
    {RONDO_UINT8, RONDO_SUM, 2, {120, 100}, 220},
    {RONDO_INT8, RONDO_SUM, 3, {100, 100, 100}, 44},
    {RONDO_INT8, RONDO_PROD, 2, {16, 16}, 0},
    {RONDO_INT32, RONDO_SUM, 2, {INT32_MAX, 1}, 0x80000000},
    {RONDO_INT64, RONDO_SUM, 2, {(uint64_t)INT64_MIN, ALL}, INT64_MAX},
    {RONDO_INT32, RONDO_AVG, 3, {1, 1, 2}, 1},
    {RONDO_INT32, RONDO_AVG, 3, {ALL, ALL, ALL - 1}, UINT32_MAX},
    {RONDO_INT32, RONDO_AVG, 3, {6, 6, 6}, 6},
    {RONDO_INT64, RONDO_AVG, 3, {ALL, ALL, ALL - 1}, ALL},
    {RONDO_UINT8, RONDO_AVG, 2, {3, 4}, 3},
};

static void
integers(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < sizeof sums / sizeof sums[0]; at++) {
        for (uint64_t count = 1; count <= 70; count += 23) {
            const gang_job job = {.nranks = sums[at].nranks,
                                  .count = count,
                                  .dtype = sums[at].dtype,
                                  .op = sums[at].op,
                                  .place = (gang_place)(count % GANG_PLACES)};
            memcpy(given, sums[at].given, sizeof sums[at].given);
            wanted_bits = sums[at].wanted;
            judged_by_every_reduction(job, given_value, judge_wanted);
        }
    }
}

static uint64_t
slope_value(rondo_dtype dtype, uint32_t rank, uint64_t at)
{
    const float value = (float)(at + 1 + 2 * rank);
    uint64_t bits = 0;

    (void)dtype;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

static void
judge_slope(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits)
{
    const bool scattered = job->algo->kind == RONDO_COLL_REDUCE_SCATTER;
    const uint64_t element = at + (scattered ? rank * job->count : 0);

    assert_true(arithmetic_value(RONDO_FP32, bits) == (double)(element + 2));
}

static void
averages(void **state)
{
    const gang_job job = {
        .nranks = 2, .count = 5, .dtype = RONDO_FP32, .op = RONDO_AVG};

    (void)state;
    judged_by_every_reduction(job, slope_value, judge_slope);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_nan_wins),
        cmocka_unit_test(integers),
        cmocka_unit_test(averages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
