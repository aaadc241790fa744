/* server_shard_rules.c - the rules of a shard against sums done by hand: what becomes
 * of a push, who may pull, exact counts, what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/server.h>

#include "base/alloc.h"

#define COUNT   3
#define WORKERS 4

/* Adds the gradient and notes what it was told. */
typedef struct notes {
    uint32_t updates;
    rondo_shard_update last;
    float gradient[COUNT]; /* of the last one */
} notes;

static void
note(void *user, const rondo_shard_update *update, const float *gradient,
     float *parameters, uint64_t count)
{
    notes *const seen = user;

    assert_int_equal(count, COUNT);
    seen->updates++;
    seen->last = *update;
    memcpy(seen->gradient, gradient, sizeof seen->gradient);
    for (uint64_t i = 0; i < count; i++) {
        parameters[i] += gradient[i];
    }
}

static rondo_shard_config
config_of(rondo_shard_rule rule, uint32_t nworkers, notes *seen)
{
    rondo_shard_config config;

    rondo_shard_config_init(&config);
    config.rule = rule;
    config.nworkers = nworkers;
    config.update = note;
    config.user = seen;
    return config;
}

static rondo_shard *
make(const rondo_shard_config *config)
{
    const float zero[COUNT] = {0, 0, 0};
    rondo_shard *shard = NULL;

    assert_int_equal(rondo_shard_create(config, zero, COUNT, &shard), RONDO_OK);
    return shard;
}

static rondo_push_outcome
push(rondo_shard *shard, uint32_t worker, uint64_t number, uint64_t version,
     double weight, float value)
{
    const float gradient[COUNT] = {value, 2 * value, -value};
    rondo_push_outcome outcome = (rondo_push_outcome)99;
    const rondo_status status =
        rondo_shard_push(shard, worker, number, version, weight, gradient, &outcome);

    if (status != RONDO_OK) {
        fail_msg("push of worker %u: %s", worker, rondo_error_text());
    }
    return outcome;
}

static uint64_t
pull(rondo_shard *shard, uint32_t worker, uint64_t clock, float first)
{
    const float *parameters = NULL;
    uint64_t version = UINT64_MAX;

    assert_int_equal(rondo_shard_pull(shard, worker, clock, &parameters, &version),
                     RONDO_OK);
    assert_true(parameters[0] == first);
    assert_true(parameters[1] == 2 * first);
    assert_true(parameters[2] == -first);
    return version;
}

static void
must_wait(rondo_shard *shard, uint32_t worker, uint64_t clock)
{
    const float *parameters = NULL;
    uint64_t version = 7;

    assert_int_equal(rondo_shard_pull(shard, worker, clock, &parameters, &version),
                     RONDO_BUSY);
    assert_null(parameters);
    assert_int_equal(version, 7);
}

static rondo_shard_stats
stats_of(const rondo_shard *shard)
{
    rondo_shard_stats stats = {.size = sizeof stats};

    assert_int_equal(rondo_shard_stats_get(shard, &stats), RONDO_OK);
    return stats;
}

static void
async_applies_at_once(void **state)
{
    (void)state;
    for (uint32_t aware = 0; aware < 2; aware++) {
        notes seen = {0};
        rondo_shard_config config = config_of(RONDO_SHARD_ASYNC, 3, &seen);
        config.staleness_aware = aware;
        rondo_shard *const shard = make(&config);

        assert_int_equal(pull(shard, 0, 0, 0), 0);
        assert_int_equal(pull(shard, 1, 0, 0), 0);
        for (uint64_t i = 1; i <= 4; i++) {
            assert_int_equal(push(shard, 0, i, i - 1, 1, 1), RONDO_PUSH_APPLIED);
            assert_int_equal(seen.last.staleness, 0);
            assert_int_equal(seen.last.staleness_of, 1);
            assert_int_equal(seen.last.version, i - 1);
            assert_int_equal(seen.last.worker, 0);
            assert_int_equal(seen.last.gradients, 1);
        }
        assert_int_equal(push(shard, 1, 1, 0, 1, 2), RONDO_PUSH_APPLIED);
        assert_int_equal(seen.last.staleness, 4);
        assert_int_equal(seen.last.staleness_of, aware == 1 ? 4 : 1);
        assert_int_equal(push(shard, 2, 1, 4, 1, 2), RONDO_PUSH_APPLIED);
        assert_int_equal(seen.last.staleness, 1);
        assert_int_equal(seen.last.staleness_of, 1);
        assert_int_equal(push(shard, 1, 1, 0, 1, 2), RONDO_PUSH_REPEATED);
        assert_int_equal(push(shard, 2, 2, 0, 0, 5), RONDO_PUSH_KEPT);
        assert_int_equal(seen.updates, 6);
        assert_int_equal(pull(shard, 1, 1, 8), 6);
        const rondo_shard_stats stats = stats_of(shard);
        assert_int_equal(stats.version, 6);
        assert_int_equal(stats.pushes, 6);
        assert_int_equal(stats.used, 6);
        assert_int_equal(stats.pulls, 3);
        assert_int_equal(stats.staleness_sum, 5);
        assert_int_equal(stats.staleness_largest, 4);
        assert_int_equal(stats.staleness[0], 4);
        assert_int_equal(stats.staleness[1], 1);
        assert_int_equal(stats.staleness[4], 1);
        assert_int_equal(stats.clock_least, 1);
        assert_int_equal(stats.clock_largest, 4);
        assert_int_equal(stats.spread_largest, 4);
        rondo_shard_destroy(shard);
    }
}

static void
very_stale_ones_share_a_place(void **state)
{
    notes seen = {0};
    const rondo_shard_config config = config_of(RONDO_SHARD_ASYNC, 2, &seen);
    rondo_shard *const shard = make(&config);

    (void)state;
    for (uint64_t i = 1; i <= 400; i++) {
        (void)push(shard, 0, i, 0, 1, 0);
    }
    const rondo_shard_stats stats = stats_of(shard);
    assert_int_equal(stats.staleness[RONDO_STALENESS_MAX - 1], 1);
    assert_int_equal(stats.staleness[RONDO_STALENESS_MAX], 400 - RONDO_STALENESS_MAX);
    assert_int_equal(stats.staleness_largest, 399);
    assert_int_equal(stats.staleness_sum, 399 * 400 / 2);
    rondo_shard_destroy(shard);
}

static void
backup_takes_the_first(void **state)
{
    notes seen = {0};
    rondo_shard_config config = config_of(RONDO_SHARD_BACKUP, WORKERS, &seen);

    (void)state;
    config.quorum = 3;
    rondo_shard *const shard = make(&config);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(pull(shard, i, 0, 0), 0);
    }
    assert_int_equal(push(shard, 3, 1, 0, 8, 3), RONDO_PUSH_KEPT);
    must_wait(shard, 3, 1);
    assert_int_equal(push(shard, 3, 2, 0, 8, 3), RONDO_PUSH_DROPPED);
    assert_int_equal(push(shard, 0, 1, 0, 8, 6), RONDO_PUSH_KEPT);
    assert_int_equal(pull(shard, 1, 0, 0), 0);
    assert_int_equal(push(shard, 1, 1, 0, 8, 9), RONDO_PUSH_APPLIED);
    assert_int_equal(seen.updates, 1);
    assert_int_equal(seen.last.staleness, 0);
    assert_int_equal(seen.last.staleness_of, 1);
    assert_int_equal(seen.last.worker, UINT32_MAX);
    assert_int_equal(seen.last.gradients, 3);
    assert_int_equal(push(shard, 2, 1, 0, 8, 100), RONDO_PUSH_DROPPED);
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(pull(shard, i, i == 3 ? 2 : 1, 6), 1);
    }
    const rondo_shard_stats stats = stats_of(shard);
    assert_int_equal(stats.pushes, 5);
    assert_int_equal(stats.used, 3);
    assert_int_equal(stats.dropped, 2);
    rondo_shard_destroy(shard);
}

/* Unequal weights: 3 of weight 1 and 9 of weight 3 make 7.5. */
static void
means_are_weighted(void **state)
{
    (void)state;
    for (int bounded = 0; bounded < 2; bounded++) {
        notes seen = {0};
        const rondo_shard_config config = config_of(
            bounded == 1 ? RONDO_SHARD_BOUNDED : RONDO_SHARD_BACKUP, 3, &seen);
        rondo_shard *const shard = make(&config);

        assert_int_equal(push(shard, 2, 1, 0, 3, 9), RONDO_PUSH_KEPT);
        assert_int_equal(push(shard, 1, 1, 0, 0, 1000), RONDO_PUSH_KEPT);
        assert_int_equal(push(shard, 0, 1, 0, 1, 3), RONDO_PUSH_APPLIED);
        assert_int_equal(seen.last.gradients, 2);
        assert_true(seen.gradient[0] == 7.5F);
        /* Nobody has any sample: the clock goes on, the version does not. */
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(pull(shard, i, 1, 7.5F), 1);
            assert_int_equal(push(shard, i, 2, 1, 0, 1), RONDO_PUSH_KEPT);
        }
        assert_int_equal(seen.updates, 1);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(pull(shard, i, 2, 7.5F), 1);
        }
        /* One has some: it is told whose they are. */
        assert_int_equal(push(shard, 0, 3, 1, 0, 1), RONDO_PUSH_KEPT);
        assert_int_equal(push(shard, 1, 3, 1, 5, 0.5F), RONDO_PUSH_KEPT);
        assert_int_equal(push(shard, 2, 3, 1, 0, 1), RONDO_PUSH_APPLIED);
        assert_int_equal(seen.last.worker, 1);
        assert_int_equal(seen.last.gradients, 1);
        const rondo_shard_stats stats = stats_of(shard);
        assert_int_equal(stats.pushes, 3);
        assert_int_equal(stats.used, 3);
        rondo_shard_destroy(shard);
    }
}

static void
quorum_follows_the_living(void **state)
{
    notes seen = {0};
    rondo_shard_config config = config_of(RONDO_SHARD_BACKUP, WORKERS, &seen);
    uint64_t clock = 0;

    (void)state;
    config.quorum = 3;
    rondo_shard *const shard = make(&config);
    (void)push(shard, 0, 1, 0, 1, 2);
    (void)push(shard, 1, 1, 0, 1, 4);
    assert_int_equal(rondo_shard_leave(shard, 2), RONDO_OK);
    assert_int_equal(seen.updates, 0);
    assert_int_equal(rondo_shard_leave(shard, 3), RONDO_OK);
    assert_int_equal(seen.updates, 1);
    assert_int_equal(seen.last.gradients, 2);
    assert_int_equal(pull(shard, 0, 1, 3), 1);
    /* What somebody pushed before it left counts. */
    (void)push(shard, 0, 2, 1, 1, 10);
    assert_int_equal(rondo_shard_leave(shard, 0), RONDO_OK);
    assert_int_equal(seen.updates, 2);
    assert_int_equal(seen.last.worker, 0);
    assert_int_equal(stats_of(shard).living, 1);
    assert_int_equal(rondo_shard_join(shard, 3, &clock), RONDO_OK);
    assert_int_equal(clock, 1);
    assert_int_equal(pull(shard, 3, 1, 13), 2);
    assert_int_equal(push(shard, 3, 2, 2, 1, 1), RONDO_PUSH_KEPT);
    assert_int_equal(rondo_shard_leave(shard, 3), RONDO_OK);
    assert_int_equal(seen.updates, 3);
    assert_int_equal(rondo_shard_leave(shard, 1), RONDO_OK);
    assert_int_equal(stats_of(shard).living, 0);
    assert_int_equal(rondo_shard_join(shard, 1, &clock), RONDO_OK);
    assert_int_equal(clock, 2);
    rondo_shard_destroy(shard);
}

static void
bounded_waits(void **state)
{
    notes seen = {0};
    rondo_shard_config config = config_of(RONDO_SHARD_BOUNDED, 2, &seen);
    rondo_push_outcome outcome = RONDO_PUSH_KEPT;
    const float gradient[COUNT] = {1, 2, -1};

    (void)state;
    config.bound = 2;
    rondo_shard *const shard = make(&config);
    for (uint64_t i = 0; i <= 2; i++) {
        assert_int_equal(pull(shard, 0, i, (float)i), i);
        assert_int_equal(push(shard, 0, i + 1, i, 1, 1), RONDO_PUSH_APPLIED);
    }
    must_wait(shard, 0, 3);
    assert_int_equal(rondo_shard_push(shard, 0, 4, 3, 1, gradient, &outcome),
                     RONDO_ERR_STATE);
    assert_int_equal(stats_of(shard).spread_largest, 3);
    assert_int_equal(push(shard, 1, 1, 0, 1, 1), RONDO_PUSH_APPLIED);
    assert_int_equal(seen.last.staleness, 3);
    assert_int_equal(pull(shard, 0, 3, 4), 4);
    assert_int_equal(push(shard, 0, 4, 4, 1, 1), RONDO_PUSH_APPLIED);
    must_wait(shard, 0, 4);
    /* A step given up is told by the next pull, and a worker that is gone by leave. */
    assert_int_equal(pull(shard, 1, 2, 5), 5);
    assert_int_equal(pull(shard, 0, 4, 5), 5);
    assert_int_equal(push(shard, 0, 5, 5, 1, 1), RONDO_PUSH_APPLIED);
    must_wait(shard, 0, 5);
    assert_int_equal(rondo_shard_leave(shard, 1), RONDO_OK);
    assert_int_equal(pull(shard, 0, 5, 6), 6);
    rondo_shard_destroy(shard);
}

static void
bound_0_is_lockstep(void **state)
{
    notes seen = {0};
    const rondo_shard_config config = config_of(RONDO_SHARD_BOUNDED, 3, &seen);
    rondo_shard *const shard = make(&config);
    uint64_t clock = 0;

    (void)state;
    assert_int_equal(push(shard, 1, 1, 0, 1, 3), RONDO_PUSH_KEPT);
    must_wait(shard, 1, 1);
    assert_int_equal(push(shard, 0, 1, 0, 1, 6), RONDO_PUSH_KEPT);
    assert_int_equal(push(shard, 2, 1, 0, 1, 9), RONDO_PUSH_APPLIED);
    assert_int_equal(pull(shard, 1, 1, 6), 1);
    /* Gives its step up: nobody waits for it. */
    assert_int_equal(push(shard, 1, 2, 1, 1, 4), RONDO_PUSH_KEPT);
    assert_int_equal(push(shard, 2, 2, 1, 1, 6), RONDO_PUSH_KEPT);
    assert_int_equal(pull(shard, 0, 2, 11), 2);
    assert_int_equal(seen.last.gradients, 2);
    /* Leaves with a gradient that waits, comes back, and pushes the next one. */
    assert_int_equal(push(shard, 1, 3, 2, 1, 8), RONDO_PUSH_KEPT);
    assert_int_equal(rondo_shard_leave(shard, 1), RONDO_OK);
    assert_int_equal(rondo_shard_join(shard, 1, &clock), RONDO_OK);
    assert_int_equal(clock, 3);
    assert_int_equal(push(shard, 0, 3, 2, 1, 1), RONDO_PUSH_KEPT);
    assert_int_equal(push(shard, 2, 3, 2, 1, 3), RONDO_PUSH_APPLIED);
    assert_true(seen.gradient[0] == 4);
    /* The last one that is missing leaves, then all do. */
    assert_int_equal(push(shard, 0, 4, 3, 1, 5), RONDO_PUSH_KEPT);
    assert_int_equal(rondo_shard_leave(shard, 2), RONDO_OK);
    assert_int_equal(seen.updates, 3);
    assert_int_equal(rondo_shard_leave(shard, 0), RONDO_OK);
    assert_int_equal(seen.updates, 3);
    assert_int_equal(rondo_shard_leave(shard, 1), RONDO_OK);
    assert_int_equal(seen.updates, 4);
    rondo_shard_destroy(shard);
}

static void
compensation_by_hand(void **state)
{
    (void)state;
    for (uint32_t adaptive = 0; adaptive < 2; adaptive++) {
        notes seen = {0};
        rondo_shard_config config = config_of(RONDO_SHARD_ASYNC, 2, &seen);
        config.compensation = 0.5F;
        config.compensation_adaptive = adaptive;
        rondo_shard *const shard = make(&config);

        (void)pull(shard, 0, 0, 0);
        (void)pull(shard, 1, 0, 0);
        (void)push(shard, 0, 1, 0, 1, 2);
        assert_true(seen.gradient[0] == 2);
        /* Parameters have moved by 2, 4 and -2 since worker 1 pulled. */
        (void)push(shard, 1, 1, 0, 1, 3);
        double square = 0;
        for (int i = 0; i < COUNT; i++) {
            const double factor = i == 0 ? 1 : i == 1 ? 2 : -1;
            square = 0.95 * (0.05 * 4 * factor * factor) + 0.05 * 9 * factor * factor;
            const double lambda = adaptive == 1 ? 0.5 / sqrt(square + 1e-7) : 0.5;
            const double want =
                3 * factor + lambda * 9 * factor * factor * (2 * factor);
            assert_true(fabs((double)seen.gradient[i] - want) < 1e-5 * fabs(want));
        }
        /* Not what it pulled last: as it is. */
        (void)push(shard, 1, 2, 1, 1, 3);
        assert_true(seen.gradient[0] == 3);
        rondo_shard_destroy(shard);
    }
}

static void
settings_are_checked(void **state)
{
    const float parameters[1] = {1};
    rondo_shard *shard = NULL;

    (void)state;
    for (int which = 0; which < 14; which++) {
        rondo_shard_config config;
        rondo_shard_config_init(&config);
        assert_int_equal(config.size, sizeof config);
        config.update = which == 0 ? NULL : note;
        config.size = which == 1 ? 8 : config.size;
        config.rule = which == 2 ? (rondo_shard_rule)3 : config.rule;
        config.nworkers = which == 3 ? 0 : 4;
        config.quorum = which == 4 ? 5 : 0;
        config.staleness_aware = which == 5 ? 2 : 0;
        config.compensation = which == 6 ? -1 : which == 7 ? NAN : 0;
        config.compensation_adaptive = which == 8 ? 1 : which == 9 ? 2 : 0;
        if (which == 10 || which == 11) {
            config.rule = RONDO_SHARD_BACKUP;
            config.staleness_aware = which == 10 ? 1 : 0;
            config.compensation = which == 11 ? 1 : 0;
        }
        const uint64_t count = which == 12 ? 0 : 1;
        assert_int_equal(
            rondo_shard_create(&config, which == 13 ? NULL : parameters, count, &shard),
            RONDO_ERR_ARG);
        assert_null(shard);
        assert_true(strlen(rondo_error_text()) > 10);
    }
}

static void
calls_are_checked(void **state)
{
    notes seen = {0};
    const rondo_shard_config config = config_of(RONDO_SHARD_ASYNC, 2, &seen);
    rondo_shard *const shard = make(&config);
    const float gradient[COUNT] = {1, 1, 1};
    const float *parameters = NULL;
    uint64_t number = 0;
    rondo_push_outcome outcome = RONDO_PUSH_DROPPED;
    rondo_shard_stats small = {.size = sizeof small - 1};

    (void)state;
#define REFUSED(call, want) assert_int_equal((call), (want))
    REFUSED(rondo_shard_push(NULL, 0, 1, 0, 1, gradient, &outcome), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 2, 1, 0, 1, gradient, &outcome), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 0, 1, 1, 1, gradient, &outcome), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 0, 1, 0, -1, gradient, &outcome), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 0, 1, 0, NAN, gradient, &outcome), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 0, 1, 0, 1, NULL, &outcome), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 0, 1, 0, 1, gradient, NULL), RONDO_ERR_ARG);
    REFUSED(rondo_shard_push(shard, 0, UINT64_MAX, 0, 1, gradient, &outcome),
            RONDO_ERR_ARG);
    REFUSED(rondo_shard_pull(NULL, 0, 0, &parameters, &number), RONDO_ERR_ARG);
    REFUSED(rondo_shard_pull(shard, 2, 0, &parameters, &number), RONDO_ERR_ARG);
    REFUSED(rondo_shard_pull(shard, 0, 0, NULL, &number), RONDO_ERR_ARG);
    REFUSED(rondo_shard_pull(shard, 0, 0, &parameters, NULL), RONDO_ERR_ARG);
    REFUSED(rondo_shard_leave(shard, 2), RONDO_ERR_ARG);
    REFUSED(rondo_shard_leave(NULL, 0), RONDO_ERR_ARG);
    REFUSED(rondo_shard_join(shard, 2, &number), RONDO_ERR_ARG);
    REFUSED(rondo_shard_join(shard, 1, NULL), RONDO_ERR_ARG);
    REFUSED(rondo_shard_stats_get(shard, &small), RONDO_ERR_ARG);
    REFUSED(rondo_shard_leave(shard, 1), RONDO_OK);
    REFUSED(rondo_shard_push(shard, 1, 1, 0, 1, gradient, &outcome), RONDO_ERR_STATE);
    REFUSED(rondo_shard_pull(shard, 1, 0, &parameters, &number), RONDO_ERR_STATE);
#undef REFUSED
    assert_int_equal(outcome, RONDO_PUSH_DROPPED);
    assert_int_equal(seen.updates, 0);
    assert_null(rondo_shard_parameters(NULL, NULL));
    assert_non_null(rondo_shard_parameters(shard, &number));
    assert_int_equal(number, COUNT);
    rondo_shard_destroy(shard);
    rondo_shard_destroy(NULL);
}

static void
memory_may_be_refused(void **state)
{
    const float parameters[COUNT] = {1, 2, 3};
    notes seen = {0};
    rondo_shard *shard = NULL;
    uint64_t nth = 1;

    (void)state;
    for (; nth < 100; nth++) {
        rondo_shard_config config = config_of(RONDO_SHARD_BOUNDED, 2, &seen);
        config.compensation = 1;
        config.compensation_adaptive = 1;
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status =
            rondo_shard_create(&config, parameters, COUNT, &shard);
        if (!rondo_alloc_fail_after(0)) {
            assert_int_equal(status, RONDO_OK);
            break;
        }
        assert_int_equal(status, RONDO_ERR_MEMORY);
        assert_null(shard);
    }
    assert_in_range(nth, 7, 12);
    rondo_shard_destroy(shard);
    const rondo_shard_config config = config_of(RONDO_SHARD_BACKUP, 2, &seen);
    shard = NULL;
    assert_int_equal(rondo_shard_create(&config, parameters, UINT64_MAX / 2, &shard),
                     RONDO_ERR_ARG);
    assert_null(shard);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(async_applies_at_once),
        cmocka_unit_test(very_stale_ones_share_a_place),
        cmocka_unit_test(backup_takes_the_first),
        cmocka_unit_test(means_are_weighted),
        cmocka_unit_test(quorum_follows_the_living),
        cmocka_unit_test(bounded_waits),
        cmocka_unit_test(bound_0_is_lockstep),
        cmocka_unit_test(compensation_by_hand),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(calls_are_checked),
        cmocka_unit_test(memory_may_be_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
