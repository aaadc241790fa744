/* server_shard_orders.c - shards under any order of events: what is true of each rule
 * whoever is fast, slow, leaves or comes back; and lockstep against a run by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/server.h>

#include "base/hash.h"

#define WORKERS_MAX 16

/* The same numbers every time. */
static uint64_t
draw(uint64_t *state)
{
    *state = rondo_hash_add(*state, 1);
    return *state;
}

static double
draw_unit(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}

static void
count_up(void *user, const rondo_shard_update *update, const float *gradient,
         float *parameters, uint64_t count)
{
    (void)user;
    for (uint64_t i = 0; i < count; i++) {
        parameters[i] += gradient[i] * (float)update->gradients;
    }
}

static rondo_shard *
make(rondo_shard_rule rule, uint32_t nworkers, uint32_t quorum, uint64_t bound)
{
    const float zero[1] = {0};
    rondo_shard_config config;
    rondo_shard *shard = NULL;

    rondo_shard_config_init(&config);
    config.rule = rule;
    config.nworkers = nworkers;
    config.quorum = quorum;
    config.bound = bound;
    config.update = count_up;
    assert_int_equal(rondo_shard_create(&config, zero, 1, &shard), RONDO_OK);
    return shard;
}

static rondo_shard_stats
stats_of(const rondo_shard *shard)
{
    rondo_shard_stats stats = {.size = sizeof stats};

    assert_int_equal(rondo_shard_stats_get(shard, &stats), RONDO_OK);
    return stats;
}

/* --- one gradient under way for each worker, pulled right after its push ---------- */

/* However different the speeds, a gradient is N - 1 updates old on average: between two
 * pushes of a worker lie all updates but its own. So the sum is (N - 1) T, short of
 * what has come since the last push of each worker; which is at most N N where speeds
 * are alike. */
static void
mean_staleness(uint32_t nworkers, uint64_t seed, uint64_t updates)
{
    const bool alike = seed % 2 == 0;
    rondo_shard *const shard = make(RONDO_SHARD_ASYNC, nworkers, 0, 0);
    double due[WORKERS_MAX];
    double speed[WORKERS_MAX];
    uint64_t version[WORKERS_MAX] = {0};
    uint64_t number[WORKERS_MAX] = {0};
    const float gradient[1] = {0};
    const float *parameters = NULL;
    rondo_push_outcome outcome = RONDO_PUSH_KEPT;

    for (uint32_t i = 0; i < nworkers; i++) {
        speed[i] = alike ? 1 : 0.05 + draw_unit(&seed);
        due[i] = (1 - log(1 - draw_unit(&seed))) / speed[i];
        assert_int_equal(rondo_shard_pull(shard, i, 0, &parameters, &version[i]), 0);
    }
    for (uint64_t made = 0; made < updates; made++) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < nworkers; i++) {
            next = due[i] < due[next] ? i : next;
        }
        assert_int_equal(rondo_shard_push(shard, next, ++number[next], version[next], 1,
                                          gradient, &outcome),
                         RONDO_OK);
        assert_int_equal(outcome, RONDO_PUSH_APPLIED);
        assert_int_equal(
            rondo_shard_pull(shard, next, number[next], &parameters, &version[next]),
            RONDO_OK);
        due[next] += (1 - log(1 - draw_unit(&seed))) / speed[next];
    }
    const rondo_shard_stats stats = stats_of(shard);
    uint64_t total = 0;
    for (int i = 0; i <= RONDO_STALENESS_MAX; i++) {
        total += stats.staleness[i];
    }
    assert_int_equal(total, updates);
    assert_int_equal(stats.used, updates);
    uint64_t since_last = 0;
    for (uint32_t i = 0; i < nworkers; i++) {
        since_last += updates - version[i];
    }
    assert_int_equal(stats.staleness_sum + since_last, (nworkers - 1) * updates);
    const double mean = (double)stats.staleness_sum / (double)updates;
    const double edge = (double)nworkers * nworkers / (double)updates;
    if (alike && fabs(mean - (nworkers - 1.0)) > edge) {
        fail_msg("%u workers: mean staleness %g", nworkers, mean);
    }
    rondo_shard_destroy(shard);
}

static void
staleness_is_n_minus_1(void **state)
{
    (void)state;
    for (uint32_t nworkers = 1; nworkers <= WORKERS_MAX; nworkers++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            mean_staleness(nworkers, seed, 2000);
        }
    }
}

/* --- random orders ---------------------------------------------------------------- */

/* What each worker is doing. */
typedef struct crowd {
    rondo_shard *shard;
    uint32_t nworkers;
    uint64_t bound; /* UINT64_MAX: not asserted */
    bool there[WORKERS_MAX];
    bool computing[WORKERS_MAX];
    uint64_t clock[WORKERS_MAX];
    uint64_t version[WORKERS_MAX];
    uint64_t started; /* gradients */
    uint64_t used;
    uint64_t dropped;
} crowd;

static void
check(const crowd *all)
{
    const rondo_shard_stats stats = stats_of(all->shard);
    uint64_t count = 0;
    const float *const parameters = rondo_shard_parameters(all->shard, &count);
    uint32_t there = 0;

    for (uint32_t i = 0; i < all->nworkers; i++) {
        there += all->there[i] ? 1 : 0;
    }
    assert_int_equal(stats.living, there);
    assert_int_equal(stats.pushes, all->started);
    assert_int_equal(stats.dropped, all->dropped);
    assert_true(stats.used + stats.dropped <= stats.pushes);
    assert_true(stats.pushes - stats.used - stats.dropped <= all->nworkers);
    assert_true((float)stats.used == parameters[0]);
    if (all->bound != UINT64_MAX) {
        assert_true(stats.clock_largest - stats.clock_least <= all->bound + 1);
        assert_true(stats.spread_largest <= all->bound + 1);
    }
}

static bool
try_pull(crowd *all, uint32_t worker)
{
    const float *parameters = NULL;
    const rondo_status status = rondo_shard_pull(all->shard, worker, all->clock[worker],
                                                 &parameters, &all->version[worker]);

    if (status == RONDO_BUSY) {
        return false;
    }
    assert_int_equal(status, RONDO_OK);
    all->computing[worker] = true;
    return true;
}

static void
do_push(crowd *all, uint32_t worker, double weight)
{
    const float gradient[1] = {1};
    rondo_push_outcome outcome = RONDO_PUSH_REPEATED;

    assert_int_equal(rondo_shard_push(all->shard, worker, ++all->clock[worker],
                                      all->version[worker], weight, gradient, &outcome),
                     RONDO_OK);
    assert_true(outcome != RONDO_PUSH_REPEATED);
    all->started += weight > 0 ? 1 : 0;
    all->dropped += outcome == RONDO_PUSH_DROPPED && weight > 0 ? 1 : 0;
    all->computing[worker] = false;
    assert_int_equal(rondo_shard_push(all->shard, worker, all->clock[worker],
                                      all->version[worker], 1, gradient, &outcome),
                     RONDO_OK);
    assert_int_equal(outcome, RONDO_PUSH_REPEATED);
}

static void
come_or_go(crowd *all, uint32_t worker)
{
    if (all->there[worker]) {
        assert_int_equal(rondo_shard_leave(all->shard, worker), RONDO_OK);
    } else {
        const rondo_shard_stats before = stats_of(all->shard);
        assert_int_equal(rondo_shard_join(all->shard, worker, &all->clock[worker]),
                         RONDO_OK);
        /* One further if a gradient of its for that clock still waits. */
        if (before.living > 0) {
            assert_in_range(all->clock[worker], before.clock_least,
                            before.clock_least + (all->bound == 0 ? 1 : 0));
        }
    }
    all->there[worker] = !all->there[worker];
    all->computing[worker] = false;
}

static void
anything(crowd *all, uint64_t *seed)
{
    const uint32_t worker = (uint32_t)(draw(seed) % all->nworkers);
    const uint64_t what = draw(seed) % 100;

    if (what < 4) {
        come_or_go(all, worker);
    } else if (!all->there[worker]) {
        return;
    } else if (!all->computing[worker]) {
        (void)try_pull(all, worker);
    } else if (what < 8) {
        all->clock[worker]++; /* Gives its step up; the next pull says so. */
        all->computing[worker] = false;
    } else {
        do_push(all, worker, what < 12 ? 0 : 1);
    }
}

/* With everybody waiting nobody would ever go on. */
static void
somebody_can_go_on(crowd *all)
{
    bool moves = false;
    bool there = false;

    for (uint32_t i = 0; i < all->nworkers; i++) {
        there |= all->there[i];
        moves |= all->there[i] && (all->computing[i] || try_pull(all, i));
    }
    assert_true(moves || !there);
}

static void
random_order(rondo_shard_rule rule, uint32_t nworkers, uint64_t extra, uint64_t seed)
{
    const bool bounded = rule == RONDO_SHARD_BOUNDED;
    crowd all = {
        .shard =
            make(rule, nworkers, bounded ? 0 : (uint32_t)extra, bounded ? extra : 0),
        .nworkers = nworkers,
        .bound = bounded ? extra : UINT64_MAX,
    };

    for (uint32_t i = 0; i < nworkers; i++) {
        all.there[i] = true;
    }
    for (int event = 0; event < 600; event++) {
        anything(&all, &seed);
        check(&all);
        if (event % 20 == 0) {
            somebody_can_go_on(&all);
        }
    }
    /* All leave: nothing waits for anybody any more. */
    for (uint32_t i = 0; i < nworkers; i++) {
        if (all.there[i]) {
            come_or_go(&all, i);
        }
    }
    const rondo_shard_stats stats = stats_of(all.shard);
    assert_int_equal(stats.used + stats.dropped, all.started);
    rondo_shard_destroy(all.shard);
}

static void
bounds_hold(void **state)
{
    const uint64_t bounds[] = {0, 1, 3, 10, UINT64_MAX - 1};

    (void)state;
    for (uint32_t nworkers = 1; nworkers <= 8; nworkers++) {
        for (int i = 0; i < 5; i++) {
            for (uint64_t seed = 0; seed < 6; seed++) {
                random_order(RONDO_SHARD_BOUNDED, nworkers, bounds[i], seed);
            }
        }
    }
}

static void
backup_counts_are_exact(void **state)
{
    (void)state;
    for (uint32_t nworkers = 1; nworkers <= 8; nworkers++) {
        for (uint32_t quorum = 0; quorum <= nworkers; quorum++) {
            for (uint64_t seed = 0; seed < 6; seed++) {
                random_order(RONDO_SHARD_BACKUP, nworkers, quorum, seed);
            }
        }
    }
}

static void
async_counts_are_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        random_order(RONDO_SHARD_ASYNC, 5, 0, seed);
    }
}

/* --- lockstep --------------------------------------------------------------------- */

#define COUNT 37
#define STEPS 25

static void
descend(void *user, const rondo_shard_update *update, const float *gradient,
        float *parameters, uint64_t count)
{
    (void)user;
    assert_int_equal(update->staleness, 0);
    for (uint64_t i = 0; i < count; i++) {
        parameters[i] -= 0.1F * gradient[i];
    }
}

/* Depends on the parameters, so that one wrong bit spreads. */
static void
gradient_of(uint32_t worker, uint64_t step, const float *parameters, float *gradient)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t seed = (worker * UINT64_C(1000) + step) * 100 + i;
        gradient[i] = parameters[i] + (float)(draw_unit(&seed) - 0.3);
    }
}

static void
by_hand(uint32_t nworkers, float *parameters)
{
    float gradient[COUNT];
    float sum[COUNT];

    for (uint64_t step = 1; step <= STEPS; step++) {
        gradient_of(0, step, parameters, sum);
        for (uint32_t worker = 1; worker < nworkers; worker++) {
            gradient_of(worker, step, parameters, gradient);
            for (int i = 0; i < COUNT; i++) {
                sum[i] += gradient[i];
            }
        }
        for (int i = 0; i < COUNT; i++) {
            parameters[i] -= 0.1F * (sum[i] / (float)nworkers);
        }
    }
}

/* Workers come in another order in each step. */
static void
by_shard(rondo_shard *shard, uint32_t nworkers, uint64_t seed)
{
    for (uint64_t step = 1; step <= STEPS; step++) {
        const uint32_t turn = (uint32_t)(draw(&seed) % nworkers);
        float gradient[WORKERS_MAX][COUNT];
        uint64_t version[WORKERS_MAX];
        for (uint32_t i = 0; i < nworkers; i++) {
            const float *parameters = NULL;
            assert_int_equal(
                rondo_shard_pull(shard, i, step - 1, &parameters, &version[i]),
                RONDO_OK);
            gradient_of(i, step, parameters, gradient[i]);
        }
        for (uint32_t i = 0; i < nworkers; i++) {
            const uint32_t worker = seed % 2 == 0 ? (turn + i) % nworkers
                                                  : (turn + nworkers - i) % nworkers;
            rondo_push_outcome outcome = RONDO_PUSH_DROPPED;
            assert_int_equal(rondo_shard_push(shard, worker, step, version[worker], 32,
                                              gradient[worker], &outcome),
                             RONDO_OK);
            assert_int_equal(outcome,
                             i + 1 == nworkers ? RONDO_PUSH_APPLIED : RONDO_PUSH_KEPT);
        }
    }
}

static void
lockstep_has_the_bits_of_hand_work(void **state)
{
    (void)state;
    for (uint32_t nworkers = 1; nworkers <= WORKERS_MAX; nworkers++) {
        for (int backup = 0; backup < 2; backup++) {
            float begin[COUNT];
            rondo_shard_config config;
            rondo_shard *shard = NULL;
            rondo_shard_config_init(&config);
            config.rule = backup == 1 ? RONDO_SHARD_BACKUP : RONDO_SHARD_BOUNDED;
            config.nworkers = nworkers;
            config.update = descend;
            for (int i = 0; i < COUNT; i++) {
                begin[i] = (float)i / 7;
            }
            assert_int_equal(rondo_shard_create(&config, begin, COUNT, &shard),
                             RONDO_OK);
            by_shard(shard, nworkers, nworkers);
            by_hand(nworkers, begin);
            assert_memory_equal(rondo_shard_parameters(shard, NULL), begin,
                                sizeof begin);
            rondo_shard_destroy(shard);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staleness_is_n_minus_1),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(backup_counts_are_exact),
        cmocka_unit_test(async_counts_are_exact),
        cmocka_unit_test(lockstep_has_the_bits_of_hand_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
