/* trainer_virtual_parts.c - what a virtual run is made of: events in order, copies that
 * are shared, percentiles, orders of several epochs. */
#include "trainer/random.h"
#include "trainer/virtual/events.h"
#include "trainer/virtual/orders.h"
#include "trainer/virtual/samples.h"
#include "trainer/virtual/versions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- events ---------------------------------------------------------------------- */

/* For every number of events: out by time, and where times are equal as put in. */
static void
test_events_come_in_order(void **state)
{
    (void)state;
    problem why;
    const random_stream draw = random_open(1, RANDOM_STRAGGLER, 0);
    for (uint32_t count = 0; count < 130; count++) {
        events e = {.heap = NULL};
        for (uint32_t i = 0; i < count; i++) {
            const event what = {.time = random_below(draw, i, 16), .worker = i};
            assert_true(events_put(&e, &what, &why));
        }
        event before = {.time = -1.0};
        event what;
        uint32_t taken = 0;
        while (events_take(&e, &what)) {
            assert_true(what.time >= before.time);
            assert_true(what.time > before.time || what.worker > before.worker);
            assert_true(what.time == random_below(draw, what.worker, 16));
            before = what;
            taken++;
        }
        assert_int_equal(taken, count);
        events_free(&e);
    }
}

/* Put and taken in turns, as a run does: the same as a search through all. */
static void
test_events_in_turns(void **state)
{
    (void)state;
    enum { WORKERS = 37, TURNS = 5000 };
    problem why;
    events e = {.heap = NULL};
    double next[WORKERS];
    uint32_t order[WORKERS];
    uint32_t puts = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        const event what = {.worker = i};
        assert_true(events_put(&e, &what, &why));
        next[i] = 0.0;
        order[i] = puts++;
    }
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < WORKERS; i++) {
            const bool equal = !(next[i] < next[first]) && !(next[i] > next[first]);
            if (next[i] < next[first] || (equal && order[i] < order[first])) {
                first = i;
            }
        }
        event what;
        assert_true(events_take(&e, &what));
        assert_int_equal(what.worker, first);
        what.time += random_below(random_open(1, RANDOM_STRAGGLER, first), turn, 5);
        assert_true(events_put(&e, &what, &why));
        next[first] = what.time;
        order[first] = puts++;
    }
    events_free(&e);
}

/* --- versions -------------------------------------------------------------------- */

static void
test_versions_are_shared(void **state)
{
    (void)state;
    enum { COUNT = 10, WORKERS = 100 };
    problem why;
    versions v = versions_of(COUNT);
    float parameter[COUNT];
    version_copy *held[WORKERS];
    for (uint64_t version = 0; version < 20; version++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            parameter[i] = (float)version;
        }
        for (uint32_t i = 0; i < WORKERS; i++) {
            held[i] = versions_take(&v, version, parameter, &why);
            assert_non_null(held[i]);
            assert_ptr_equal(held[i], held[0]);
            assert_true(held[i]->parameter[COUNT - 1] == (float)version);
        }
        for (uint32_t i = 0; i < WORKERS; i++) {
            versions_drop(&v, held[i]);
        }
    }
    assert_int_equal(v.copies, 1);
    versions_drop(&v, NULL);
    versions_free(&v);
}

/* Each worker holds another version, the oldest is dropped: as many copies as workers,
 * and nobody's changes. */
static void
test_versions_of_all(void **state)
{
    (void)state;
    enum { COUNT = 3, WORKERS = 16 };
    problem why;
    versions v = versions_of(COUNT);
    version_copy *held[WORKERS] = {NULL};
    for (uint64_t version = 0; version < 200; version++) {
        const float parameter[COUNT] = {(float)version, 1.0f, -(float)version};
        const uint32_t worker = (uint32_t)(version * 7 % WORKERS);
        versions_drop(&v, held[worker]);
        held[worker] = versions_take(&v, version, parameter, &why);
        assert_non_null(held[worker]);
        for (uint32_t i = 0; i < WORKERS; i++) {
            assert_true(held[i] == NULL ||
                        held[i]->parameter[2] == -(float)held[i]->version);
        }
    }
    assert_int_equal(v.copies, WORKERS);
    for (uint32_t i = 0; i < WORKERS; i++) {
        versions_drop(&v, held[i]);
    }
    versions_free(&v);
}

/* --- samples --------------------------------------------------------------------- */

static void
test_percentiles(void **state)
{
    (void)state;
    problem why;
    for (uint32_t count = 0; count <= 1500; count += count < 20 ? 1 : 370) {
        samples s = {.value = NULL};
        for (uint32_t i = 0; i < count; i++) {
            assert_true(samples_add(&s, (double)((i * 7919u) % count) + 1.0, &why));
        }
        /* 7919 is a prime: the values are 1 .. count. */
        samples_sort(&s);
        for (uint32_t percent = 0; percent <= 100; percent++) {
            const double value = samples_at(&s, percent / 100.0);
            uint32_t least = 0;
            while (least < count && least * 100 < percent * count) {
                least++;
            }
            least = least < 1 ? 1 : least;
            const double expected = count > 0 ? least : 0.0;
            assert_true(value >= expected - 1e-9 && value <= expected + 1.0 + 1e-9);
        }
        assert_true(samples_at(&s, 1.0) == (double)count);
        assert_true(s.sum == count * (count + 1.0) / 2.0);
        samples_free(&s);
    }
}

/* --- orders ---------------------------------------------------------------------- */

/* What is taken is what a sampler gives that is in that epoch, whatever was taken
 * before. */
static void
test_orders(void **state)
{
    (void)state;
    enum { SAMPLES = 50, BATCH = 12, EPOCHS = 20, RANKS = 5 };
    problem why;
    sampler plain;
    assert_true(sampler_create(3, SAMPLES, BATCH, &plain, &why));
    const uint32_t steps = sampler_steps(&plain);
    orders o = orders_like(&plain);
    for (uint64_t turn = 0; turn < 600; turn++) {
        const uint64_t step =
            1 + random_below(random_open(1, RANDOM_STRAGGLER, 1), turn, EPOCHS * steps);
        const uint32_t rank = (uint32_t)(turn % RANKS);
        sampler_start_epoch(&plain, (uint32_t)((step - 1) / steps + 1));
        const sampler_part expected =
            sampler_take(&plain, (uint32_t)((step - 1) % steps), rank, RANKS);
        sampler_part part;
        assert_true(orders_take(&o, step, rank, RANKS, &part, &why));
        assert_int_equal(part.count, expected.count);
        assert_memory_equal(part.index, expected.index,
                            part.count * sizeof *part.index);
    }
    orders_free(&o);
    sampler_free(&plain);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_events_come_in_order),
                                       cmocka_unit_test(test_events_in_turns),
                                       cmocka_unit_test(test_versions_are_shared),
                                       cmocka_unit_test(test_versions_of_all),
                                       cmocka_unit_test(test_percentiles),
                                       cmocka_unit_test(test_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
