/* trainer_straggler.c - drawn step times: what is read, and that means and tails are
 * those of the distributions. */
#include "trainer/straggler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static straggler
read_good(const char *text, uint64_t seed)
{
    straggler s;
    problem why;
    assert_true(straggler_read(text, seed, &s, &why));
    return s;
}

static void
test_what_is_read(void **state)
{
    (void)state;
    assert_int_equal(read_good(NULL, 1).kind, STRAGGLER_NONE);
    straggler s = read_good("exp:mean=30,base=40", 1);
    assert_int_equal(s.kind, STRAGGLER_EXPONENTIAL);
    assert_float_equal(s.base, 0.040, 1e-12);
    assert_float_equal(s.mean, 0.030, 1e-12);
    s = read_good("rare:base=10,p=0.05,factor=8", 1);
    assert_float_equal(s.probability, 0.05, 1e-12);
    assert_float_equal(s.factor, 8.0, 1e-12);
    s = read_good("slow:base=10,worker=3,factor=5", 1);
    assert_int_equal(s.worker, 3);
    s = read_good("lognormal:base=10,sigma=0.3", 1);
    assert_float_equal(s.sigma, 0.3, 1e-12);
    assert_int_equal(read_good("fixed:base=0", 1).kind, STRAGGLER_FIXED);
}

static void
test_what_is_refused(void **state)
{
    (void)state;
    static const char *const row[][2] = {
        {"", "'' is not one of: fixed, exp, rare, slow, lognormal"},
        {"exponential:base=1", "'exponential' is not one of"},
        {"exp", "exp needs base"},
        {"exp:", "exp needs base"},
        {"exp:base=1", "exp needs mean"},
        {"exp:base=1,mean=1,base=2", "base is given twice"},
        {"exp:base=1,sigma=1", "'sigma=1' is nothing that exp has"},
        {"exp:base,mean=1", "'base' is nothing that exp has"},
        {"exp:,base=1", "'' is nothing that exp has"},
        {"exp:base=,mean=1", "base: '' is not a number from 0 to"},
        {"exp:base=1x,mean=1", "base: '1x' is not a number"},
        {"exp:base=-1,mean=1", "base: '-1' is not a number"},
        {"exp:base=nan,mean=1", "base: 'nan' is not a number"},
        {"rare:base=1,p=1.5,factor=2", "p: '1.5' is not a number from 0 to 1"},
        {"rare:base=1,p=0.5,factor=0.5", "factor: '0.5' is not a number from 1 to"},
        {"slow:base=1,worker=1.5,factor=2", "worker: '1.5' is not a whole number"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        problem why;
        straggler s = {.kind = STRAGGLER_SLOW};
        assert_false(straggler_read(row[i][0], 1, &s, &why));
        assert_int_equal(why.exit_code, EXIT_USAGE);
        assert_non_null(strstr(why.text, "--straggler: "));
        if (strstr(why.text, row[i][1]) == NULL) {
            fail_msg("'%s': %s", row[i][0], why.text);
        }
        assert_int_equal(s.kind, STRAGGLER_SLOW);
    }
}

/* Every kind's mean over many steps is the one that straggler_mean gives. */
static void
test_means(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "fixed:base=10", "exp:base=40,mean=40", "rare:base=10,p=0.05,factor=8",
        "slow:base=10,worker=1,factor=5", "lognormal:base=10,sigma=0.6"};
    enum { STEPS = 100000 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (uint32_t worker = 0; worker < 3; worker++) {
            const straggler s = read_good(texts[i], 7);
            double sum = 0.0;
            for (uint64_t step = 1; step <= STEPS; step++) {
                const double seconds = straggler_seconds(&s, worker, step);
                assert_true(seconds >= 0.0 && isfinite(seconds));
                sum += seconds;
            }
            const double mean = straggler_mean(&s, worker);
            assert_true(fabs(sum / STEPS / mean - 1.0) < 0.01);
        }
    }
    straggler none = read_good(NULL, 1);
    assert_true(straggler_seconds(&none, 0, 1) == 0.0);
    assert_true(straggler_mean(&none, 0) == 0.0);
}

/* An exponential's share above k means is exp(-k). */
static void
test_tail(void **state)
{
    (void)state;
    enum { STEPS = 200000 };
    const straggler s = read_good("exp:base=40,mean=10", 3);
    for (int k = 1; k <= 4; k++) {
        int above = 0;
        for (uint64_t step = 1; step <= STEPS; step++) {
            above += straggler_seconds(&s, 5, step) > 0.040 + 0.010 * k;
        }
        const double expected = STEPS * exp(-k);
        assert_true(fabs(above - expected) < 5.0 * sqrt(expected));
    }
}

/* The same for the same seed, worker and step, and different for others. */
static void
test_draws_have_names(void **state)
{
    (void)state;
    const straggler s = read_good("exp:base=1,mean=1", 3);
    const straggler other = read_good("exp:base=1,mean=1", 4);
    for (uint32_t worker = 0; worker < 8; worker++) {
        for (uint64_t step = 1; step < 50; step++) {
            const double seconds = straggler_seconds(&s, worker, step);
            assert_true(seconds == straggler_seconds(&s, worker, step));
            assert_true(seconds != straggler_seconds(&s, worker, step + 1));
            assert_true(seconds != straggler_seconds(&s, worker + 1, step));
            assert_true(seconds != straggler_seconds(&other, worker, step));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read), cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_means), cmocka_unit_test(test_tail),
        cmocka_unit_test(test_draws_have_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
