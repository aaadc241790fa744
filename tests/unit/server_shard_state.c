/* server_shard_state.c - a shard's state: saved and loaded it goes on with the same
 * bits, also among other numbers of workers; damage is refused and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/server.h>

#include "base/hash.h"

#define COUNT   5
#define WORKERS 4

static void
descend(void *user, const rondo_shard_update *update, const float *gradient,
        float *parameters, uint64_t count)
{
    (void)user;
    for (uint64_t i = 0; i < count; i++) {
        parameters[i] -= 0.1F * gradient[i] / (float)update->staleness_of;
    }
}

/* Every rule, and what some of them keep beside. */
static rondo_shard_config
config_of(uint32_t which, uint32_t nworkers)
{
    rondo_shard_config config;

    rondo_shard_config_init(&config);
    config.nworkers = nworkers;
    config.update = descend;
    config.rule = which % 5 == 1   ? RONDO_SHARD_BACKUP
                  : which % 5 <= 0 ? RONDO_SHARD_ASYNC
                                   : RONDO_SHARD_BOUNDED;
    config.bound = which % 5 == 2 ? 0 : 2;
    config.quorum = which % 5 == 1 && nworkers > 2 ? 3 : 0;
    config.staleness_aware = which % 5 == 1 ? 0 : 1;
    config.compensation = which % 5 >= 3 ? 0.5F : 0;
    config.compensation_adaptive = which % 5 == 4 ? 1 : 0;
    return config;
}
#define CONFIGS 5

static rondo_shard *
make(uint32_t which, uint32_t nworkers)
{
    const rondo_shard_config config = config_of(which, nworkers);
    float begin[COUNT];
    rondo_shard *shard = NULL;

    for (int i = 0; i < COUNT; i++) {
        begin[i] = (float)i - 1.5F;
    }
    assert_int_equal(rondo_shard_create(&config, begin, COUNT, &shard), RONDO_OK);
    return shard;
}

/* Workers of a run, whom saving and loading do not touch. */
typedef struct workers {
    uint64_t clock[WORKERS];
    uint64_t version[WORKERS];
    bool computing[WORKERS];
    uint64_t seed;
} workers;

static void
one_event(rondo_shard *shard, workers *all, uint32_t nworkers)
{
    all->seed = rondo_hash_add(all->seed, 1);
    const uint32_t i = (uint32_t)(all->seed % nworkers);
    float gradient[COUNT];
    const float *parameters = NULL;
    rondo_push_outcome outcome = RONDO_PUSH_DROPPED;

    if (!all->computing[i]) {
        all->computing[i] = rondo_shard_pull(shard, i, all->clock[i], &parameters,
                                             &all->version[i]) == RONDO_OK;
        return;
    }
    for (int k = 0; k < COUNT; k++) {
        gradient[k] = (float)((all->seed >> (8 * k + 4)) % 256) / 17;
    }
    assert_int_equal(rondo_shard_push(shard, i, ++all->clock[i], all->version[i],
                                      1 + (double)(all->seed >> 60), gradient,
                                      &outcome),
                     RONDO_OK);
    all->computing[i] = false;
}

static void *
save(const rondo_shard *shard, uint64_t *bytes)
{
    *bytes = rondo_shard_state_bytes(shard);
    /* No byte more than it says, none less. */
    void *const state = malloc(*bytes);

    assert_non_null(state);
    assert_int_equal(rondo_shard_state_save(shard, state, *bytes), RONDO_OK);
    assert_int_equal(rondo_shard_state_save(shard, state, *bytes + 1), RONDO_ERR_ARG);
    assert_int_equal(rondo_shard_state_save(shard, NULL, *bytes), RONDO_ERR_ARG);
    return state;
}

static void
same_state(const rondo_shard *a, const rondo_shard *b)
{
    uint64_t a_bytes = 0;
    uint64_t b_bytes = 0;
    void *const a_state = save(a, &a_bytes);
    void *const b_state = save(b, &b_bytes);

    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a_state, b_state, a_bytes);
    free(a_state);
    free(b_state);
}

/* At every moment of a run: what is loaded goes on as what was saved. */
static void
goes_on_with_the_same_bits(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < CONFIGS; which++) {
        for (int moment = 0; moment < 60; moment++) {
            rondo_shard *const first = make(which, WORKERS);
            rondo_shard *const second = make(which, WORKERS);
            workers all = {.seed = which};
            uint64_t bytes = 0;
            for (int i = 0; i < moment; i++) {
                one_event(first, &all, WORKERS);
            }
            if (moment % 10 == 9) {
                assert_int_equal(rondo_shard_leave(first, 3), RONDO_OK);
            }
            void *const saved = save(first, &bytes);
            /* The other one has a past of its own. */
            workers past = {.seed = 99};
            for (int i = 0; i < moment % 7; i++) {
                one_event(second, &past, WORKERS);
            }
            assert_int_equal(rondo_shard_state_load(second, saved, bytes), RONDO_OK);
            same_state(first, second);
            workers again = all;
            const uint32_t nworkers = moment % 10 == 9 ? WORKERS - 1 : WORKERS;
            for (int i = 0; i < 60; i++) {
                one_event(first, &all, nworkers);
                one_event(second, &again, nworkers);
            }
            same_state(first, second);
            free(saved);
            rondo_shard_destroy(first);
            rondo_shard_destroy(second);
        }
    }
}

static void
damage_is_refused(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < CONFIGS; which++) {
        rondo_shard *const shard = make(which, WORKERS);
        rondo_shard *const other = make(which, WORKERS);
        rondo_shard *const fresh = make(which, WORKERS);
        workers all = {.seed = which};
        uint64_t bytes = 0;
        for (int i = 0; i < 23; i++) {
            one_event(shard, &all, WORKERS);
        }
        unsigned char *const saved = save(shard, &bytes);
        for (uint64_t at = 0; at < bytes; at++) {
            const unsigned char flip = (unsigned char)(1U << (at % 8));
            saved[at] ^= flip;
            assert_int_equal(rondo_shard_state_load(other, saved, bytes),
                             RONDO_ERR_ARG);
            saved[at] ^= flip;
        }
        for (uint64_t less = 0; less < bytes; less += 13) {
            assert_int_equal(rondo_shard_state_load(other, saved, less), RONDO_ERR_ARG);
        }
        assert_int_equal(rondo_shard_state_load(other, NULL, bytes), RONDO_ERR_ARG);
        assert_int_equal(rondo_shard_state_load(NULL, saved, bytes), RONDO_ERR_ARG);
        same_state(other, fresh);
        assert_int_equal(rondo_shard_state_load(other, saved, bytes), RONDO_OK);
        same_state(other, shard);
        free(saved);
        rondo_shard_destroy(shard);
        rondo_shard_destroy(other);
        rondo_shard_destroy(fresh);
    }
}

static rondo_shard_stats
stats_of(const rondo_shard *shard)
{
    rondo_shard_stats stats = {.size = sizeof stats};

    assert_int_equal(rondo_shard_stats_get(shard, &stats), RONDO_OK);
    return stats;
}

/* All go on from where the shard sees them, and nobody waits for who is not there. */
static void
goes_on(rondo_shard *shard, const workers *before, uint32_t nworkers, uint32_t later)
{
    const rondo_shard_stats begin = stats_of(shard);
    workers all = {.seed = 5};

    for (uint32_t i = 0; i < later; i++) {
        all.clock[i] = i < nworkers ? before->clock[i] : begin.clock_least;
    }
    for (int i = 0; i < 400; i++) {
        one_event(shard, &all, later);
    }
    const rondo_shard_stats end = stats_of(shard);
    assert_true(end.used > begin.used + 20);
    assert_true(end.pushes - end.used - end.dropped < later);
}

/* From `nworkers` to `later`, at any moment of a run. */
static void
change_number(uint32_t which, uint32_t nworkers, uint32_t later)
{
    for (int moment = 0; moment < 20; moment++) {
        rondo_shard *const first = make(which, nworkers);
        rondo_shard *const second = make(which, later);
        workers all = {.seed = which + nworkers};
        uint64_t bytes = 0;
        for (int i = 0; i < moment; i++) {
            one_event(first, &all, nworkers);
        }
        void *const saved = save(first, &bytes);
        assert_int_equal(rondo_shard_state_load(second, saved, bytes), RONDO_OK);
        assert_int_equal(stats_of(second).pushes, stats_of(first).pushes);
        assert_int_equal(stats_of(second).living, later);
        goes_on(second, &all, nworkers, later);
        free(saved);
        rondo_shard_destroy(first);
        rondo_shard_destroy(second);
    }
}

static void
other_numbers_of_workers(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < CONFIGS; which++) {
        for (uint32_t nworkers = 1; nworkers <= WORKERS; nworkers++) {
            for (uint32_t later = 1; later <= WORKERS; later++) {
                change_number(which, nworkers, later);
            }
        }
    }
}

static void
others_states_are_refused(void **state)
{
    rondo_shard *const shard = make(0, WORKERS);
    uint64_t bytes = 0;
    void *const saved = save(shard, &bytes);
    const float two[2] = {0, 0};
    rondo_shard *other = make(1, WORKERS);

    (void)state;
    assert_int_equal(rondo_shard_state_load(other, saved, bytes), RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "rule"));
    rondo_shard_destroy(other);
    const rondo_shard_config config = config_of(0, WORKERS);
    assert_int_equal(rondo_shard_create(&config, two, 2, &other), RONDO_OK);
    assert_int_equal(rondo_shard_state_load(other, saved, bytes), RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "parameters"));
    rondo_shard_destroy(other);
    rondo_shard_destroy(shard);
    free(saved);
    assert_int_equal(rondo_shard_state_bytes(NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_with_the_same_bits),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(other_numbers_of_workers),
        cmocka_unit_test(others_states_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
