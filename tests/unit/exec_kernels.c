/* exec_kernels.c - every reduction against a second way to compute it, and AVX2 against
 * plain C bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "exec/kernels_tables.h"
#include "lib/arithmetic.h"

#define GUARD    64
#define BYTES    2048
#define PATTERN  0xA5
#define DIVISORS 8

static const uint32_t divisors[DIVISORS] = {1, 2, 3, 7, 64, 255, 65537, UINT32_MAX};

typedef struct region {
    unsigned char bytes[GUARD + BYTES + GUARD];
} region;

static void
check_element(rondo_dtype dtype, rondo_op op, uint32_t divisor, uint64_t a, uint64_t b,
              uint64_t found)
{
    if (!arithmetic_floating(dtype)) {
        assert_int_equal(found, arithmetic_integer_result(dtype, op, a, b, divisor));
        return;
    }
    const double wanted = arithmetic_floating_result(
        dtype, op, arithmetic_value(dtype, a), arithmetic_value(dtype, b), divisor);
    const double value = arithmetic_value(dtype, found);
    if (isnan(wanted)) {
        assert_int_equal(found, arithmetic_nan(dtype));
        return;
    }
    assert_true(value == wanted);
    assert_int_equal(signbit(value) != 0, signbit(wanted) != 0);
}

static void
fill(region *area, rondo_dtype dtype, uint64_t *seed)
{
    const uint64_t width = rondo_dtype_bytes(dtype);

    memset(area->bytes, PATTERN, sizeof area->bytes);
    for (uint64_t at = 0; at + width <= BYTES; at += width) {
        const uint64_t bits = arithmetic_draw(dtype, seed);
        memcpy(area->bytes + GUARD + at, &bits, width);
    }
}

static uint64_t
bits_at(const region *area, uint64_t at, uint64_t width)
{
    uint64_t bits = 0;

    memcpy(&bits, area->bytes + at, width);
    return bits;
}

/* --- tests ------------------------------------------------------------------------ */

typedef const rondo_kernel table[RONDO_DTYPES][RONDO_OPS];

static void
check_table(table *kernels, rondo_dtype dtype, rondo_op op)
{
    static region a;
    static region b;
    static region to;
    const uint64_t width = rondo_dtype_bytes(dtype);
    const rondo_kernel kernel = (*kernels)[dtype][op];

    for (uint64_t turn = 0; kernel != NULL && turn < 64; turn++) {
        const uint32_t divisor = divisors[turn % DIVISORS];
        uint64_t seed = turn * 1000 + (uint64_t)dtype * 10 + (uint64_t)op;
        fill(&a, dtype, &seed);
        fill(&b, dtype, &seed);
        memset(&to, PATTERN, sizeof to);
        kernel(to.bytes + GUARD, a.bytes + GUARD, b.bytes + GUARD, BYTES / width,
               divisor);
        for (uint64_t at = GUARD; at < GUARD + BYTES; at += width) {
            check_element(dtype, op, divisor, bits_at(&a, at, width),
                          bits_at(&b, at, width), bits_at(&to, at, width));
        }
        for (uint64_t i = 0; i < GUARD; i++) {
            assert_int_equal(to.bytes[i], PATTERN);
            assert_int_equal(to.bytes[GUARD + BYTES + i], PATTERN);
        }
    }
}

static void
each_table(void (*check)(table *, rondo_dtype, rondo_op))
{
    for (int dtype = 0; dtype < RONDO_DTYPES; dtype++) {
        for (int op = 0; op < RONDO_OPS; op++) {
            check(&rondo_kernels_plain, (rondo_dtype)dtype, (rondo_op)op);
            if (rondo_cpu_has_avx2()) {
                check(&rondo_kernels_avx2, (rondo_dtype)dtype, (rondo_op)op);
            }
        }
    }
}

static void
agrees_with_the_reference(void **state)
{
    (void)state;
    each_table(check_table);
}

/* All counts and offsets, in place or not: the same bits from both, and no byte beside
 * them. */
static void
check_shape(rondo_dtype dtype, rondo_op op, uint64_t count, uint64_t offset)
{
    static region a;
    static region b;
    static region fresh;
    static region left;
    static region right;
    static region wanted;
    const uint64_t width = rondo_dtype_bytes(dtype);
    const uint32_t divisor = divisors[count % DIVISORS];
    const rondo_kernel kernel = rondo_kernels_avx2[dtype][op];
    uint64_t seed = count * 64 + offset;
    const uint64_t at = GUARD + offset;

    fill(&a, dtype, &seed);
    fill(&b, dtype, &seed);
    left = a;
    right = b;
    memset(&fresh, PATTERN, sizeof fresh);
    memset(&wanted, PATTERN, sizeof wanted);
    rondo_kernels_plain[dtype][op](wanted.bytes + at, a.bytes + at + 1,
                                   b.bytes + at + 3, count, divisor);
    kernel(fresh.bytes + at, a.bytes + at + 1, b.bytes + at + 3, count, divisor);
    assert_memory_equal(&fresh, &wanted, sizeof fresh);
    kernel(left.bytes + at + 1, left.bytes + at + 1, b.bytes + at + 3, count, divisor);
    assert_memory_equal(left.bytes + at + 1, wanted.bytes + at, count * width);
    kernel(right.bytes + at + 3, a.bytes + at + 1, right.bytes + at + 3, count,
           divisor);
    assert_memory_equal(right.bytes + at + 3, wanted.bytes + at, count * width);
    memcpy(left.bytes + at + 1, a.bytes + at + 1, count * width);
    memcpy(right.bytes + at + 3, b.bytes + at + 3, count * width);
    assert_memory_equal(&left, &a, sizeof left);
    assert_memory_equal(&right, &b, sizeof right);
}

static void
vectors_equal_plain(void **state)
{
    (void)state;
    if (!rondo_cpu_has_avx2()) {
        skip();
    }
    for (int dtype = 0; dtype < RONDO_DTYPES; dtype++) {
        for (int op = 0; op < RONDO_OPS; op++) {
            for (uint64_t count = 0; count <= 70; count++) {
                if (rondo_kernels_avx2[dtype][op] != NULL) {
                    check_shape((rondo_dtype)dtype, (rondo_op)op, count, count % 33);
                }
            }
        }
    }
}

/* Which rank holds which operand never shows, NaN payloads and zeros included. */
static void
check_commutes(table *kernels, rondo_dtype dtype, rondo_op op)
{
    static region a;
    static region b;
    static region one;
    static region other;
    const uint64_t count = BYTES / rondo_dtype_bytes(dtype);
    const rondo_kernel kernel = (*kernels)[dtype][op];

    for (uint64_t turn = 0; kernel != NULL && turn < 32; turn++) {
        uint64_t seed = turn;
        fill(&a, dtype, &seed);
        fill(&b, dtype, &seed);
        memset(&one, 0, sizeof one);
        memset(&other, 0, sizeof other);
        kernel(one.bytes, a.bytes + GUARD, b.bytes + GUARD, count, 3);
        kernel(other.bytes, b.bytes + GUARD, a.bytes + GUARD, count, 3);
        assert_memory_equal(&one, &other, sizeof one);
    }
}

static void
operands_commute(void **state)
{
    (void)state;
    each_table(check_commutes);
}

/* Multiplying by one leaves each of the 65536 values as it is: both conversions. */
static void
check_halves(table *kernels, rondo_dtype dtype, rondo_op op)
{
    const uint16_t one = dtype == RONDO_FP16 ? 0x3c00 : 0x3f80;
    const rondo_kernel kernel = (*kernels)[dtype][op];
    uint16_t halves[64];
    uint16_t ones[64];
    uint16_t out[64];

    if (op != RONDO_PROD || (dtype != RONDO_FP16 && dtype != RONDO_BF16)) {
        return;
    }
    for (uint32_t first = 0; first < 65536; first += 64) {
        for (uint32_t i = 0; i < 64; i++) {
            halves[i] = (uint16_t)(first + i);
            ones[i] = one;
        }
        kernel(out, halves, ones, 64, 1);
        for (uint32_t i = 0; i < 64; i++) {
            const bool nan = isnan(arithmetic_value(dtype, halves[i])) != 0;
            assert_int_equal(out[i], nan ? arithmetic_nan(dtype) : halves[i]);
        }
    }
}

static void
halves_survive(void **state)
{
    (void)state;
    each_table(check_halves);
}

/* S06: what overflows wraps. */
static void
integers_wrap(void **state)
{
    (void)state;
    for (int avx2 = 0; avx2 <= (rondo_cpu_has_avx2() ? 1 : 0); avx2++) {
        table *const kernels = avx2 ? &rondo_kernels_avx2 : &rondo_kernels_plain;
        int8_t small[40];
        int8_t term[40];
        memset(small, 120, sizeof small);
        memset(term, 100, sizeof term);
        (*kernels)[RONDO_INT8][RONDO_SUM](small, small, term, 40, 1);
        assert_int_equal(small[0], -36);
        assert_int_equal(small[39], -36);
        memset(small, 120, sizeof small);
        (*kernels)[RONDO_UINT8][RONDO_SUM](small, small, term, 40, 1);
        assert_int_equal((uint8_t)small[0], 220);
        memset(small, 16, sizeof small);
        (*kernels)[RONDO_INT8][RONDO_PROD](small, small, small, 40, 1);
        assert_int_equal(small[33], 0);
        const int32_t most[9] = {[0] = INT32_MAX, [8] = INT32_MAX};
        const int32_t ones[9] = {[0] = 1, [8] = 1};
        int32_t sum[9];
        (*kernels)[RONDO_INT32][RONDO_SUM](sum, most, ones, 9, 1);
        assert_int_equal(sum[0], INT32_MIN);
        assert_int_equal(sum[8], INT32_MIN);
        const int64_t least[5] = {[0] = INT64_MIN, [4] = INT64_MIN};
        const int64_t minus[5] = {[0] = -1, [4] = -1};
        int64_t wide[5];
        (*kernels)[RONDO_INT64][RONDO_SUM](wide, least, minus, 5, 1);
        assert_true(wide[0] == INT64_MAX);
        assert_true(wide[4] == INT64_MAX);
    }
}

/* S07: the completing reduction divides, truncating to zero; a partial one adds. */
static void
averages_divide_once(void **state)
{
    const int32_t a[3] = {2, -2, 12};
    const int32_t b[3] = {2, -2, 6};
    int32_t to[3];
    const float x[5] = {1, 2, 3, 4, 5};
    const float y[5] = {3, 4, 5, 6, 7};
    float mean[5];

    (void)state;
    rondo_kernel_find(RONDO_INT32, RONDO_AVG, RONDO_KERNEL_PARTIAL)(to, a, b, 3, 3);
    assert_int_equal(to[0], 4);
    rondo_kernel_find(RONDO_INT32, RONDO_AVG, RONDO_KERNEL_FINAL)(to, a, b, 3, 3);
    assert_int_equal(to[0], 1);
    assert_int_equal(to[1], -1);
    assert_int_equal(to[2], 6);
    rondo_kernel_find(RONDO_FP32, RONDO_AVG, RONDO_KERNEL_FINAL)(mean, x, y, 5, 2);
    for (int i = 0; i < 5; i++) {
        assert_true(mean[i] == (float)(i + 2));
    }
}

static void
every_kernel_is_found(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < RONDO_DTYPES; dtype++) {
        for (int op = 0; op < RONDO_OPS; op++) {
            const rondo_kernel partial = rondo_kernel_find(
                (rondo_dtype)dtype, (rondo_op)op, RONDO_KERNEL_PARTIAL);
            const rondo_kernel final =
                rondo_kernel_find((rondo_dtype)dtype, (rondo_op)op, RONDO_KERNEL_FINAL);
            assert_true(partial != NULL);
            assert_true(final != NULL);
            assert_int_equal(partial == final, op != RONDO_AVG);
        }
    }
}

static void
copies(void **state)
{
    static region from;
    static region to;
    uint64_t seed = 1;

    (void)state;
    fill(&from, RONDO_UINT8, &seed);
    memset(&to, PATTERN, sizeof to);
    rondo_copy(NULL, NULL, 0);
    rondo_copy(to.bytes + 3, from.bytes + GUARD, 1021);
    assert_memory_equal(to.bytes + 3, from.bytes + GUARD, 1021);
    assert_int_equal(to.bytes[2], PATTERN);
    assert_int_equal(to.bytes[1024], PATTERN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(vectors_equal_plain),
        cmocka_unit_test(operands_commute),
        cmocka_unit_test(halves_survive),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(averages_divide_once),
        cmocka_unit_test(every_kernel_is_found),
        cmocka_unit_test(copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
