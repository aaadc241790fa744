/* perf_values.c - the benchmark's inputs have one exact result, in every order, and the
 * check finds whatever differs from it. */
#include "common/check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 300u
#define COUNT     2051u

static const uint32_t rank_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 64, 300};

static char inputs[RANKS_MAX][COUNT * 8];
static char result[COUNT * 8];

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool
is_floating(rondo_dtype dtype)
{
    return dtype == RONDO_FP16 || dtype == RONDO_FP32 || dtype == RONDO_FP64 ||
           dtype == RONDO_BF16;
}

static double
half_precision(uint16_t bits)
{
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    const double size =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

/* An element as a number, straight from the format's definition. */
static double
number_of(const char *element, rondo_dtype dtype)
{
    uint16_t bits16 = 0;
    uint32_t bits = 0;
    float single = 0;
    double twice = 0;
    memcpy(&bits16, element, sizeof(bits16));
    switch (dtype) {
    case RONDO_FP32:
        memcpy(&single, element, sizeof(single));
        return (double)single;
    case RONDO_FP64:
        memcpy(&twice, element, sizeof(twice));
        return twice;
    case RONDO_BF16:
        bits = (uint32_t)bits16 << 16;
        memcpy(&single, &bits, sizeof(single));
        return (double)single;
    default:
        return half_precision(bits16);
    }
}

/* Whether a number needs no rounding in the type. */
static bool
is_exact(double number, rondo_dtype dtype)
{
    int exponent = 0;
    const double fraction = frexp(number, &exponent);
    const int bits = dtype == RONDO_FP16 ? 11 : dtype == RONDO_BF16 ? 8 : 24;
    if (dtype == RONDO_FP64 || number == 0) {
        return true;
    }
    if (dtype == RONDO_FP16 && (exponent > 16 || exponent < -13)) {
        return false;
    }
    const double scaled = ldexp(fraction, bits);
    return scaled == floor(scaled);
}

static bool
is_signed(rondo_dtype dtype)
{
    return dtype == RONDO_INT8 || dtype == RONDO_INT32 || dtype == RONDO_INT64;
}

/* An element of an integer type in 64 bits, its sign extended. */
static uint64_t
whole_of(const char *element, rondo_dtype dtype)
{
    uint64_t bits = 0;
    const size_t width = rondo_dtype_bytes(dtype);
    memcpy(&bits, element, width);
    const uint64_t sign = (uint64_t)1 << (width * 8 - 1);
    return is_signed(dtype) && (bits & sign) != 0 ? bits | ~(sign * 2 - 1) : bits;
}

static uint64_t
truncated(uint64_t whole, rondo_dtype dtype)
{
    char element[8];
    memcpy(element, &whole, sizeof(element));
    return whole_of(element, dtype);
}

static bool
is_less(uint64_t left, uint64_t right, rondo_dtype dtype)
{
    return is_signed(dtype) ? (int64_t)left < (int64_t)right : left < right;
}

static double
combine_numbers(double left, double right, perf_rule rule)
{
    switch (rule) {
    case PERF_RULE_PROD:
        return left * right;
    case PERF_RULE_MIN:
        return left < right ? left : right;
    case PERF_RULE_MAX:
        return left > right ? left : right;
    default:
        return left + right;
    }
}

static uint64_t
combine_wholes(uint64_t left, uint64_t right, rondo_dtype dtype, perf_rule rule)
{
    switch (rule) {
    case PERF_RULE_PROD:
        return truncated(left * right, dtype);
    case PERF_RULE_MIN:
        return is_less(left, right, dtype) ? left : right;
    case PERF_RULE_MAX:
        return is_less(left, right, dtype) ? right : left;
    default:
        return truncated(left + right, dtype);
    }
}

/* Folds the ranks as a random tree: two live partial results are joined until one is
 * left. Every partial result must be exact in the type. */
static double
fold_numbers(uint32_t element, const perf_values *v, uint32_t *random)
{
    double live[RANKS_MAX];
    uint32_t count = v->nranks;
    for (uint32_t r = 0; r < count; r++) {
        live[r] =
            number_of(inputs[r] + element * rondo_dtype_bytes(v->dtype), v->dtype);
        assert_true(is_exact(live[r], v->dtype));
    }
    while (count > 1) {
        const uint32_t a = next_random(random) % count;
        const double left = live[a];
        live[a] = live[--count];
        const uint32_t b = next_random(random) % count;
        live[b] = combine_numbers(left, live[b], v->rule);
        assert_true(is_exact(live[b], v->dtype));
    }
    return v->rule == PERF_RULE_AVG ? live[0] / v->nranks : live[0];
}

static uint64_t
fold_wholes(uint32_t element, const perf_values *v, uint32_t *random)
{
    uint64_t live[RANKS_MAX];
    uint32_t count = v->nranks;
    for (uint32_t r = 0; r < count; r++) {
        live[r] = whole_of(inputs[r] + element * rondo_dtype_bytes(v->dtype), v->dtype);
    }
    while (count > 1) {
        const uint32_t a = next_random(random) % count;
        const uint64_t left = live[a];
        live[a] = live[--count];
        const uint32_t b = next_random(random) % count;
        live[b] = combine_wholes(left, live[b], v->dtype, v->rule);
    }
    if (v->rule != PERF_RULE_AVG) {
        return live[0];
    }
    return is_signed(v->dtype) ? (uint64_t)((int64_t)live[0] / (int64_t)v->nranks)
                               : live[0] / v->nranks;
}

static void
check_every_element(const perf_values *v, uint32_t count, uint32_t *random)
{
    for (uint32_t r = 0; r < v->nranks; r++) {
        perf_values_fill(v, r, 0, count, inputs[r]);
    }
    perf_values_expect(v, 0, count, result);
    for (uint32_t i = 0; i < count; i++) {
        const char *want = result + i * rondo_dtype_bytes(v->dtype);
        if (is_floating(v->dtype)) {
            const double got = fold_numbers(i, v, random);
            assert_true(got == number_of(want, v->dtype));
        } else {
            const uint64_t got = fold_wholes(i, v, random);
            assert_int_equal(got, whole_of(want, v->dtype));
        }
    }
}

static void
every_order_gives_the_result(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (uint32_t n = 0; n < sizeof(rank_counts) / sizeof(rank_counts[0]); n++) {
        const uint32_t nranks = rank_counts[n];
        const uint32_t count = nranks > 16 ? 200 : 1100;
        for (int i = 0; i < RONDO_DTYPES * 5; i++) {
            const perf_rule rule = (perf_rule)(PERF_RULE_SUM + i % 5);
            perf_values v;
            perf_values_init((rondo_dtype)(i / 5), rule, n + 5, nranks, &v);
            check_every_element(&v, count, &random);
        }
    }
}

/* What a rank adds is seldom nothing, or its absence would go unseen. */
static void
every_rank_counts(void **state)
{
    (void)state;
    static const char zero[8];
    for (uint32_t nranks = 2; nranks <= 9; nranks++) {
        for (int d = 0; d < RONDO_DTYPES; d++) {
            perf_values v;
            perf_values_init((rondo_dtype)d, PERF_RULE_SUM, 3, nranks, &v);
            const size_t width = rondo_dtype_bytes(v.dtype);
            for (uint32_t r = 0; r < nranks; r++) {
                uint32_t seen = 0;
                perf_values_fill(&v, r, 0, 1000, inputs[0]);
                for (uint32_t i = 0; i < 1000; i++) {
                    seen += memcmp(inputs[0] + i * width, zero, width) != 0;
                }
                assert_true(seen > 800);
            }
        }
    }
}

static const perf_want want_result = {.source = PERF_SOURCE_RESULT};

static void
right_results_pass_and_each_wrong_bit_is_counted(void **state)
{
    (void)state;
    for (int i = 0; i < RONDO_DTYPES * 4; i++) {
        const perf_rule rule = (perf_rule)(PERF_RULE_SUM + i % 4);
        perf_values v;
        perf_values_init((rondo_dtype)(i / 4), rule, 11, 4, &v);
        const size_t width = rondo_dtype_bytes(v.dtype);
        perf_values_expect(&v, 0, COUNT, result);
        assert_int_equal(perf_check_wrong(&v, want_result, COUNT, result), 0);
        for (size_t byte = 0; byte < COUNT * width; byte += 97) {
            result[byte] = (char)(result[byte] ^ (1 << (byte % 8)));
            assert_int_equal(perf_check_wrong(&v, want_result, COUNT, result), 1);
            result[byte] = (char)(result[byte] ^ (1 << (byte % 8)));
        }
    }
}

static void
shifted_missing_and_foreign_elements_are_found(void **state)
{
    (void)state;
    perf_values v;
    perf_values_init(RONDO_FP32, PERF_RULE_SUM, 2, 4, &v);
    perf_values_expect(&v, 0, COUNT, result);
    assert_true(perf_check_wrong(&v, want_result, COUNT - 1, result + 4) > 1900);
    const perf_want later = {.source = PERF_SOURCE_RESULT, .first = 5};
    assert_int_equal(perf_check_wrong(&v, later, COUNT - 5, result + 20), 0);
    assert_true(perf_check_wrong(&v, later, COUNT - 5, result) > 1900);

    perf_values other = v;
    other.seed = 3;
    assert_true(perf_check_wrong(&other, want_result, COUNT, result) > 1900);

    memset(result, 0, sizeof(result));
    const perf_want nothing = {.source = PERF_SOURCE_ZERO};
    assert_true(perf_check_wrong(&v, want_result, COUNT, result) > 1900);
    assert_int_equal(perf_check_wrong(&v, nothing, COUNT, result), 0);
    result[400] = 1;
    assert_int_equal(perf_check_wrong(&v, nothing, COUNT, result), 1);
}

static void
check_copies(rondo_dtype dtype, uint32_t count)
{
    perf_values v;
    perf_values_init(dtype, PERF_RULE_COPY, 6, 3, &v);
    for (uint32_t r = 0; r < 3; r++) {
        const perf_want own = {.source = PERF_SOURCE_INPUT, .rank = r};
        const perf_want other = {.source = PERF_SOURCE_INPUT, .rank = (r + 1) % 3};
        perf_values_fill(&v, r, 0, count, result);
        assert_int_equal(perf_check_wrong(&v, own, count, result), 0);
        if (count * rondo_dtype_bytes(dtype) > 3) {
            assert_true(perf_check_wrong(&v, other, count, result) > 0);
        }
        if (count > 0) {
            result[count * rondo_dtype_bytes(dtype) - 1] ^= 1;
            assert_int_equal(perf_check_wrong(&v, own, count, result), 1);
        }
    }
}

static void
copies_are_compared_bit_by_bit(void **state)
{
    (void)state;
    for (int d = 0; d < RONDO_DTYPES; d++) {
        for (uint32_t count = 0; count <= 9; count++) {
            check_copies((rondo_dtype)d, count);
        }
        check_copies((rondo_dtype)d, COUNT);
    }
}

/* A part made alone equals the same part of the whole, also beyond 2^32 elements, and
 * nothing is written behind the end. */
static void
parts_equal_the_whole(void **state)
{
    (void)state;
    static char part[COUNT * 8];
    const uint64_t origins[] = {0, 1000, ((uint64_t)1 << 32) - 1000,
                                ((uint64_t)5 << 32) - 8};
    for (uint32_t k = 0; k < 4 * 6; k++) {
        perf_values v;
        perf_values_init(RONDO_INT32, (perf_rule)(k % 6), 6, 5, &v);
        perf_values_fill(&v, 2, origins[k / 6], COUNT, inputs[0]);
        for (uint32_t first = 0; first + 100 < COUNT; first += 52) {
            memset(part, 0x5a, sizeof(part));
            perf_values_fill(&v, 2, origins[k / 6] + first, 100, part);
            assert_memory_equal(part, inputs[0] + first * 4, 400);
            assert_int_equal(part[400], 0x5a);
        }
    }
}

/* Only averages of floating types, only by 2 places, never into NaN. */
static void
averages_may_be_two_places_off(void **state)
{
    (void)state;
    perf_values v;
    perf_values_init(RONDO_FP32, PERF_RULE_AVG, 4, 4, &v);
    perf_values_expect(&v, 0, COUNT, result);
    int32_t bits = 0;
    memcpy(&bits, result + 40, sizeof(bits));
    for (int32_t places = -4; places <= 4; places++) {
        const int32_t moved = bits + places;
        memcpy(result + 40, &moved, sizeof(moved));
        const uint64_t wrong = perf_check_wrong(&v, want_result, COUNT, result);
        assert_int_equal(wrong, abs(places) > 2);
    }
    const uint32_t nan_bits = 0x7fc00000;
    memcpy(result + 40, &nan_bits, sizeof(nan_bits));
    assert_int_equal(perf_check_wrong(&v, want_result, COUNT, result), 1);

    perf_values_init(RONDO_INT32, PERF_RULE_AVG, 4, 4, &v);
    perf_values_expect(&v, 0, COUNT, result);
    result[40] ^= 1;
    assert_int_equal(perf_check_wrong(&v, want_result, COUNT, result), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_result),
        cmocka_unit_test(every_rank_counts),
        cmocka_unit_test(right_results_pass_and_each_wrong_bit_is_counted),
        cmocka_unit_test(shifted_missing_and_foreign_elements_are_found),
        cmocka_unit_test(copies_are_compared_bit_by_bit),
        cmocka_unit_test(parts_equal_the_whole),
        cmocka_unit_test(averages_may_be_two_places_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
