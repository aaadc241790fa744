/* model_half.c - the tests' own conversions: every 16-bit pattern there and back, and
 * the rounding at the middle between two of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/model.h"

static void
there_and_back(rondo_dtype dtype)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        const uint16_t half = (uint16_t)bits;
        const double value = model_get(dtype, &half, 0);
        uint16_t back = 0;
        model_put(dtype, value, 0, &back);
        if (isnan(value)) {
            assert_true(isnan(model_get(dtype, &back, 0)));
        } else {
            assert_int_equal(back, half);
        }
    }
}

/* Between neighbours the even one is taken at the middle, the nearer one beside it. */
static void
to_nearest_even(rondo_dtype dtype, uint16_t infinity)
{
    for (uint16_t low = 0; low + 1 < infinity; low++) {
        const uint16_t high = (uint16_t)(low + 1);
        const double middle =
            (model_get(dtype, &low, 0) + model_get(dtype, &high, 0)) / 2;
        uint16_t got = 0;
        model_put(dtype, middle, 0, &got);
        assert_int_equal(got, (low & 1) == 0 ? low : high);
        model_put(dtype, nextafter(middle, 0), 0, &got);
        assert_int_equal(got, low);
        model_put(dtype, nextafter(middle, INFINITY), 0, &got);
        assert_int_equal(got, high);
    }
}

static void
fp16(void **state)
{
    (void)state;
    there_and_back(RONDO_FP16);
    to_nearest_even(RONDO_FP16, 0x7c00);
}

static void
bf16(void **state)
{
    (void)state;
    there_and_back(RONDO_BF16);
    to_nearest_even(RONDO_BF16, 0x7f80);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp16),
        cmocka_unit_test(bf16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
