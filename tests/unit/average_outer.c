/* average_outer.c - DiLoCo's outer step: numbers by hand, and the average itself where
 * there is nothing but an average to be made. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/rondo.h>

#include "lib/model.h"

#define COUNT 5000

static rondo_outer_config
config_of(float rate, float momentum, uint32_t nesterov)
{
    rondo_outer_config config;

    rondo_outer_config_init(&config);
    config.rate = rate;
    config.momentum = momentum;
    config.nesterov = nesterov;
    return config;
}

static void
defaults_are_diloco_s(void **state)
{
    rondo_outer_config config;

    (void)state;
    memset(&config, 0xff, sizeof config);
    rondo_outer_config_init(&config);
    assert_int_equal(config.size, sizeof config);
    assert_true(config.rate == 0.7F);
    assert_true(config.momentum == 0.9F);
    assert_int_equal(config.nesterov, 1);
}

/* Powers of two, so that nothing is rounded: anchor 8, averages 4 and 2; rate 1/2,
 * momentum 1/2. d = 4, then 8 - the anchor's last move - 2. */
static void
numbers_by_hand(void **state)
{
    const rondo_outer_config plain = config_of(0.5F, 0.5F, 0);
    const rondo_outer_config nesterov = config_of(0.5F, 0.5F, 1);
    const float averages[2] = {4.0F, 2.0F};
    float anchor = 8.0F;
    float velocity = 0.0F;

    (void)state;
    /* v = 4; anchor = 8 - 2 = 6. d = 4, v = 2 + 4 = 6; anchor = 6 - 3 = 3. */
    assert_int_equal(rondo_outer_step(&plain, &averages[0], 1, &anchor, &velocity),
                     RONDO_OK);
    assert_true(anchor == 6.0F && velocity == 4.0F);
    assert_int_equal(rondo_outer_step(&plain, &averages[1], 1, &anchor, &velocity),
                     RONDO_OK);
    assert_true(anchor == 3.0F && velocity == 6.0F);
    /* v = 4; anchor = 8 - (4 + 2) / 2 = 5. d = 3, v = 2 + 3 = 5; anchor = 5 - (3 + 2.5)
     * / 2 = 2.25. */
    anchor = 8.0F;
    velocity = 0.0F;
    assert_int_equal(rondo_outer_step(&nesterov, &averages[0], 1, &anchor, &velocity),
                     RONDO_OK);
    assert_true(anchor == 5.0F && velocity == 4.0F);
    assert_int_equal(rondo_outer_step(&nesterov, &averages[1], 1, &anchor, &velocity),
                     RONDO_OK);
    assert_true(anchor == 2.25F && velocity == 5.0F);
}

/* Any bits at all: numbers, both zeros, tiny ones, infinities, what is no number. */
static void
rate_one_without_momentum_is_the_average_bit_for_bit(void **state)
{
    static float average[COUNT];
    static float anchor[COUNT];
    static float velocity[COUNT];

    (void)state;
    for (uint32_t nesterov = 0; nesterov < 2; nesterov++) {
        const rondo_outer_config config = config_of(1.0F, 0.0F, nesterov);
        uint64_t seed = 3;

        for (uint32_t round = 0; round < 20; round++) {
            for (uint64_t i = 0; i < COUNT; i++) {
                const uint32_t bits[2] = {(uint32_t)model_random(&seed),
                                          (uint32_t)model_random(&seed)};
                memcpy(&average[i], &bits[0], sizeof average[i]);
                if (round % 2 == 0) {
                    memcpy(&anchor[i], &bits[1], sizeof anchor[i]);
                }
            }
            average[0] = -0.0F;
            average[1] = 0.0F;
            assert_int_equal(
                rondo_outer_step(&config, average, COUNT, anchor, velocity), RONDO_OK);
            assert_memory_equal(anchor, average, sizeof anchor);
        }
    }
}

static void
the_formula_holds_for_any_rate(void **state)
{
    const rondo_outer_config config = config_of(0.7F, 0.9F, 1);
    static float average[COUNT];
    static float anchor[COUNT];
    static float velocity[COUNT];
    static double exact[COUNT];
    static double speed[COUNT];
    uint64_t seed = 11;

    (void)state;
    for (uint32_t round = 0; round < 10; round++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            average[i] = (float)(model_random(&seed) % 2001) / 1000.0F - 1.0F;
            const double moved = exact[i] - (double)average[i];
            speed[i] = 0.9 * speed[i] + moved;
            exact[i] -= 0.7 * (moved + 0.9 * speed[i]);
        }
        assert_int_equal(rondo_outer_step(&config, average, COUNT, anchor, velocity),
                         RONDO_OK);
        for (uint64_t i = 0; i < COUNT; i++) {
            assert_true(fabs((double)anchor[i] - exact[i]) <= 1e-5);
            assert_true(fabs((double)velocity[i] - speed[i]) <= 1e-5);
        }
    }
}

static void
what_is_out_of_range_is_refused(void **state)
{
    const rondo_outer_config wrong[] = {
        config_of(0.0F, 0.9F, 1), config_of(-1.0F, 0.9F, 1),
        config_of(NAN, 0.9F, 1),  config_of(INFINITY, 0.9F, 1),
        config_of(0.7F, 1.0F, 1), config_of(0.7F, -0.1F, 1),
        config_of(0.7F, NAN, 1),  config_of(0.7F, 0.9F, 2),
    };
    rondo_outer_config small = config_of(0.7F, 0.9F, 1);
    float average = 1.0F;
    float anchor = 2.0F;
    float velocity = 0.5F;

    (void)state;
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        assert_int_equal(rondo_outer_step(&wrong[w], &average, 1, &anchor, &velocity),
                         RONDO_ERR_ARG);
    }
    small.size -= 4;
    assert_int_equal(rondo_outer_step(&small, &average, 1, &anchor, &velocity),
                     RONDO_ERR_ARG);
    small.size += 4;
    assert_int_equal(rondo_outer_step(NULL, &average, 1, &anchor, &velocity),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_outer_step(&small, NULL, 1, &anchor, &velocity),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_outer_step(&small, &average, 1, NULL, &velocity),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_outer_step(&small, &average, 1, &anchor, NULL),
                     RONDO_ERR_ARG);
    assert_int_equal(rondo_outer_step(&small, NULL, 0, NULL, NULL), RONDO_OK);
    assert_true(average == 1.0F && anchor == 2.0F && velocity == 0.5F);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_diloco_s),
        cmocka_unit_test(numbers_by_hand),
        cmocka_unit_test(rate_one_without_momentum_is_the_average_bit_for_bit),
        cmocka_unit_test(the_formula_holds_for_any_rate),
        cmocka_unit_test(what_is_out_of_range_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
