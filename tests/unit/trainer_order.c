/* trainer_order.c - random numbers, who takes which sample, and the learning rate. */
#include "trainer/random.h"
#include "trainer/rate.h"
#include "trainer/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 8u

/* --- random numbers -------------------------------------------------------------- */

static void
test_streams_are_functions_of_their_names(void **state)
{
    (void)state;
    /* Every pair of streams that differ in seed, use or index differs everywhere. */
    random_stream stream[3 * 2 * 3];
    uint32_t count = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        for (random_use use = RANDOM_SHUFFLE; use <= RANDOM_WEIGHTS; use++) {
            for (uint32_t index = 0; index < 3; index++) {
                stream[count] = random_open(seed, use, index);
                assert_int_equal(random_bits(stream[count], 7),
                                 random_bits(random_open(seed, use, index), 7));
                count++;
            }
        }
    }
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            for (uint64_t i = 0; i < 100; i++) {
                assert_int_not_equal(random_bits(stream[a], i),
                                     random_bits(stream[b], i));
            }
        }
    }
}

static void
test_below_is_even(void **state)
{
    (void)state;
    const uint32_t draws = 100000;
    for (uint32_t bound = 1; bound <= 12; bound++) {
        uint32_t seen[12] = {0};
        for (uint32_t i = 0; i < draws; i++) {
            const uint32_t value = random_below(random_open(3, 1, bound), i, bound);
            assert_true(value < bound);
            seen[value]++;
        }
        const double expected = (double)draws / bound;
        for (uint32_t value = 0; value < bound; value++) {
            assert_true(fabs(seen[value] - expected) < 5.0 * sqrt(expected));
        }
    }
}

static void
test_normal_has_mean_0_and_deviation_1(void **state)
{
    (void)state;
    const uint32_t draws = 200000;
    double sum = 0.0;
    double squares = 0.0;
    uint32_t beyond_two = 0;
    const random_stream stream = random_open(9, RANDOM_WEIGHTS, 4);
    for (uint32_t i = 0; i < draws; i++) {
        const double value = (double)random_normal(stream, i);
        assert_true(isfinite(value));
        sum += value;
        squares += value * value;
        beyond_two += fabs(value) > 2.0;
    }
    assert_true(fabs(sum / draws) < 0.01);
    assert_true(fabs(squares / draws - 1.0) < 0.02);
    assert_true(fabs((double)beyond_two / draws - 0.0455) < 0.003);
}

/* --- sampler --------------------------------------------------------------------- */

/* All ranks together take each sample of an epoch at most once, every step takes a
 * whole global batch, and its order does not depend on the number of ranks. */
static void
check_epoch(sampler *s, uint32_t ranks)
{
    uint32_t *seen = calloc(s->samples, sizeof *seen);
    assert_non_null(seen);
    uint32_t next = 0; /* Place in the permutation. */
    for (uint32_t step = 0; step < sampler_steps(s); step++) {
        uint32_t taken = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            const sampler_part part = sampler_take(s, step, rank, ranks);
            assert_in_range(part.count, s->global_batch / ranks,
                            sampler_part_max(s, ranks));
            for (uint32_t i = 0; i < part.count; i++) {
                assert_true(part.index[i] < s->samples);
                assert_int_equal(part.index[i], s->order[next]);
                seen[part.index[i]]++;
                next++;
            }
            taken += part.count;
        }
        assert_int_equal(taken, s->global_batch);
    }
    uint32_t total = 0;
    for (uint32_t i = 0; i < s->samples; i++) {
        assert_true(seen[i] <= 1);
        total += seen[i];
    }
    assert_int_equal(total, sampler_steps(s) * s->global_batch);
    assert_true(s->samples - total < s->global_batch);
    free(seen);
}

static void
check_sampler(uint32_t samples, uint32_t batch)
{
    sampler s;
    problem why;
    assert_true(sampler_create(5, samples, batch, &s, &why));
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        sampler_start_epoch(&s, epoch);
        for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
            check_epoch(&s, ranks);
        }
    }
    sampler_free(&s);
}

static void
test_ranks_partition_every_epoch(void **state)
{
    (void)state;
    static const uint32_t samples[] = {1, 2, 7, 64, 101, 1000};
    static const uint32_t batch[] = {1, 2, 3, 8, 20, 64, 100, 1000};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        for (size_t j = 0; j < sizeof batch / sizeof batch[0]; j++) {
            if (batch[j] <= samples[i]) {
                check_sampler(samples[i], batch[j]);
            }
        }
    }
}

static void
test_epochs_and_seeds_differ_but_not_by_history(void **state)
{
    (void)state;
    enum { SAMPLES = 500 };
    const size_t bytes = SAMPLES * sizeof(uint32_t);
    problem why;
    sampler a;
    sampler b;
    sampler other;
    assert_true(sampler_create(1, SAMPLES, 10, &a, &why));
    assert_true(sampler_create(1, SAMPLES, 20, &b, &why));
    assert_true(sampler_create(2, SAMPLES, 10, &other, &why));
    for (uint32_t epoch = 1; epoch <= 5; epoch++) {
        sampler_start_epoch(&a, epoch); /* b goes there without the ones before. */
    }
    sampler_start_epoch(&b, 5);
    sampler_start_epoch(&other, 5);
    assert_memory_equal(a.order, b.order, bytes);
    assert_memory_not_equal(a.order, other.order, bytes);
    sampler_start_epoch(&b, 4);
    assert_memory_not_equal(a.order, b.order, bytes);

    /* Where a sample goes says nothing of where it was: each place sees many
     * samples. */
    uint32_t first_seen = 0;
    for (uint32_t epoch = 1; epoch <= 200; epoch++) {
        sampler_start_epoch(&a, epoch);
        first_seen += a.order[0] < SAMPLES / 2;
    }
    assert_in_range(first_seen, 65, 135);
    sampler_free(&a);
    sampler_free(&b);
    sampler_free(&other);
}

static void
test_a_batch_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const uint32_t batch[] = {0, 11, UINT32_MAX};
    for (size_t i = 0; i < sizeof batch / sizeof batch[0]; i++) {
        sampler s;
        problem why;
        assert_false(sampler_create(1, 10, batch[i], &s, &why));
        assert_non_null(strstr(why.text, "from 10 training images"));
    }
}

/* --- learning rate --------------------------------------------------------------- */

static double
rate_of(rate_schedule schedule, double base, uint64_t step, uint64_t steps)
{
    const rate_plan plan = {.schedule = schedule, .base = base, .steps = steps};
    return rate_at(&plan, step);
}

static void
test_rate(void **state)
{
    (void)state;
    for (uint64_t steps = 1; steps <= 1000; steps = steps * 3 + 1) {
        double before = 0.4;
        for (uint64_t step = 0; step < steps; step++) {
            assert_true(rate_of(RATE_CONSTANT, 0.3, step, steps) == 0.3);
            const double rate = rate_of(RATE_COSINE, 0.3, step, steps);
            assert_true(rate > 0.0);
            assert_true(rate < before);
            before = rate;
            /* Half a turn further on it is what it was, mirrored at half the base. */
            const double mirrored = rate_of(RATE_COSINE, 0.3, steps - step, steps);
            assert_true(fabs(rate + mirrored - 0.3) < 1e-12);
        }
        assert_true(fabs(rate_of(RATE_COSINE, 0.3, 0, steps) - 0.3) < 1e-15);
    }
    assert_true(fabs(rate_of(RATE_COSINE, 0.3, 50, 100) - 0.15) < 1e-12);
    assert_true(fabs(rate_of(RATE_COSINE, 0.3, 100, 300) - 0.225) < 1e-12);
}

static void
test_warm_up_leads_to_every_schedule(void **state)
{
    (void)state;
    for (rate_schedule schedule = RATE_CONSTANT; schedule <= RATE_STEPS; schedule++) {
        for (uint64_t warmup = 0; warmup < 20; warmup++) {
            rate_plan plan = {.schedule = schedule,
                              .base = 0.8,
                              .start = 0.1,
                              .warmup = warmup,
                              .steps = 50,
                              .decay_every = 25,
                              .decay_factor = 0.5};
            for (uint64_t step = 0; step < warmup; step++) {
                const double part = (double)(step + 1) / (double)warmup;
                assert_true(fabs(rate_at(&plan, step) - (0.1 + 0.7 * part)) < 1e-12);
            }
            assert_true(rate_at(&plan, warmup) == 0.8);
            for (uint64_t step = warmup + 1; step < 50; step++) {
                assert_true(rate_at(&plan, step) <= rate_at(&plan, step - 1));
                assert_true(rate_at(&plan, step) > 0.0);
            }
        }
    }
}

static void
test_steps_and_scaling(void **state)
{
    (void)state;
    const rate_plan plan = {.schedule = RATE_STEPS,
                            .base = 0.64,
                            .steps = 100,
                            .decay_every = 7,
                            .decay_factor = 0.25};
    double expected = 0.64;
    for (uint64_t step = 0; step < 100; step++) {
        if (step > 0 && step % 7 == 0) {
            expected *= 0.25;
        }
        assert_true(fabs(rate_at(&plan, step) / expected - 1.0) < 1e-12);
    }
    for (uint64_t batch = 1; batch <= 8192; batch *= 2) {
        assert_true(rate_scaled(0.03, 64, batch) == 0.03 * (double)batch / 64.0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_functions_of_their_names),
        cmocka_unit_test(test_below_is_even),
        cmocka_unit_test(test_normal_has_mean_0_and_deviation_1),
        cmocka_unit_test(test_ranks_partition_every_epoch),
        cmocka_unit_test(test_epochs_and_seeds_differ_but_not_by_history),
        cmocka_unit_test(test_a_batch_that_does_not_fit_is_refused),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_warm_up_leads_to_every_schedule),
        cmocka_unit_test(test_steps_and_scaling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
