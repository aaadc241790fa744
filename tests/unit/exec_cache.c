/* exec_cache.c - plans found again, the least recently used dropped, none that runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "exec/plan.h"

/* A key whose padding is rubbish, so that comparing bytes would not find it. */
static rondo_plan_key
key_of(uint64_t count)
{
    static uint8_t rubbish;
    rondo_plan_key key;

    memset(&key, ++rubbish, sizeof key);
    key.algo = 3;
    key.coll.kind = RONDO_COLL_ALL_REDUCE;
    key.coll.rank = 1;
    key.coll.nranks = 4;
    key.coll.root = 0;
    key.coll.count = count;
    key.coll.segment = 0;
    key.coll.in_place = false;
    key.coll.inner = RONDO_SHAPE_RING;
    key.coll.outer = RONDO_SHAPE_TREE;
    key.coll.levels = NULL;
    return key;
}

/* A plan that needs scratch and one message before it can end. */
static rondo_plan *
new_plan(uint64_t count)
{
    const rondo_coll coll = {
        .kind = RONDO_COLL_ALL_REDUCE, .rank = 1, .nranks = 4, .count = count};
    rondo_schedule *schedule = NULL;
    rondo_plan *plan = NULL;

    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_OK);
    rondo_schedule_recv(schedule, 0, rondo_schedule_scratch(schedule, count));
    assert_int_equal(rondo_schedule_seal(schedule), RONDO_OK);
    assert_int_equal(rondo_plan_create(schedule, &plan), RONDO_OK);
    return plan;
}

static void
run_on_nothing(rondo_plan *plan)
{
    static rondo_transport nothing;
    static rondo_transport *routes[4] = {&nothing, NULL, &nothing, &nothing};
    const rondo_binding binding = {.routes = routes, .dtype = RONDO_INT8};

    assert_int_equal(rondo_plan_start(plan, &binding), RONDO_OK);
}

static void
insert(rondo_plan_cache *cache, uint64_t count)
{
    const rondo_plan_key key = key_of(count);

    assert_int_equal(rondo_plan_cache_insert(cache, &key, new_plan(count)), RONDO_OK);
}

static rondo_plan *
find(rondo_plan_cache *cache, uint64_t count)
{
    const rondo_plan_key key = key_of(count);

    return rondo_plan_cache_find(cache, &key);
}

static void
finds_what_was_put_in(void **state)
{
    rondo_plan_cache *cache = NULL;

    (void)state;
    assert_int_equal(rondo_plan_cache_create(100, UINT64_MAX, &cache), RONDO_OK);
    assert_null(find(cache, 1));
    for (uint64_t count = 1; count <= 100; count++) {
        insert(cache, count);
    }
    for (uint64_t count = 1; count <= 100; count++) {
        rondo_plan *const plan = find(cache, count);
        assert_non_null(plan);
        assert_int_equal(plan->scratch_count, count);
        assert_ptr_equal(find(cache, count), plan);
    }
    assert_null(find(cache, 101));
    rondo_plan_cache_destroy(cache);
    rondo_plan_cache_destroy(NULL);
}

/* Each field of the key tells plans apart. */
static void
every_field_counts(void **state)
{
    static const rondo_levels levels = {.nranks = 4};
    rondo_plan_cache *cache = NULL;
    rondo_plan_key keys[12];

    (void)state;
    assert_int_equal(rondo_plan_cache_create(100, UINT64_MAX, &cache), RONDO_OK);
    for (int at = 0; at < 12; at++) {
        keys[at] = key_of(5);
    }
    keys[1].algo++;
    keys[2].coll.kind = RONDO_COLL_REDUCE;
    keys[3].coll.rank++;
    keys[4].coll.nranks++;
    keys[5].coll.root++;
    keys[6].coll.count++;
    keys[7].coll.segment++;
    keys[8].coll.in_place = true;
    keys[9].coll.inner = RONDO_SHAPE_TREE;
    keys[10].coll.outer = RONDO_SHAPE_RING;
    keys[11].coll.levels = &levels;
    for (int at = 0; at < 12; at++) {
        assert_null(rondo_plan_cache_find(cache, &keys[at]));
        rondo_plan *const plan = new_plan((uint64_t)at + 1);
        assert_int_equal(rondo_plan_cache_insert(cache, &keys[at], plan), RONDO_OK);
    }
    for (int at = 0; at < 12; at++) {
        assert_int_equal(rondo_plan_cache_find(cache, &keys[at])->scratch_count,
                         at + 1);
    }
    rondo_plan_cache_destroy(cache);
}

/* Against a list that is kept the slow way. */
static void
drops_the_least_recent(void **state)
{
    enum { MOST = 7, KEYS = 12 };
    rondo_plan_cache *cache = NULL;
    uint64_t used_at[KEYS] = {0}; /* 0: not inside */

    (void)state;
    assert_int_equal(rondo_plan_cache_create(MOST, UINT64_MAX, &cache), RONDO_OK);
    for (uint64_t turn = 1; turn < 2000; turn++) {
        const uint64_t key = rondo_hash_mix(turn) % KEYS;
        const bool there = find(cache, key + 1) != NULL;

        assert_int_equal(there, used_at[key] != 0);
        if (!there) {
            uint64_t inside = 0;
            uint64_t oldest = KEYS;
            for (uint64_t at = 0; at < KEYS; at++) {
                inside += used_at[at] != 0 ? 1 : 0;
                if (used_at[at] != 0 &&
                    (oldest == KEYS || used_at[at] < used_at[oldest])) {
                    oldest = at;
                }
            }
            insert(cache, key + 1);
            if (inside == MOST) {
                used_at[oldest] = 0;
            }
        }
        used_at[key] = turn;
    }
    rondo_plan_cache_destroy(cache);
}

static void
keeps_what_runs(void **state)
{
    rondo_plan_cache *cache = NULL;

    (void)state;
    assert_int_equal(rondo_plan_cache_create(2, UINT64_MAX, &cache), RONDO_OK);
    insert(cache, 1);
    insert(cache, 2);
    run_on_nothing(find(cache, 1));
    (void)find(cache, 2);
    insert(cache, 3);
    assert_non_null(find(cache, 1));
    assert_null(find(cache, 2));
    run_on_nothing(find(cache, 3));
    rondo_plan *const homeless = new_plan(4);
    const rondo_plan_key key = key_of(4);
    assert_int_equal(rondo_plan_cache_insert(cache, &key, homeless), RONDO_ERR_STATE);
    rondo_plan_destroy(homeless);
    assert_non_null(find(cache, 3));
    rondo_plan_cache_destroy(cache);
}

/* Scratch that came after the insertion counts as well; the newest always stays. */
static void
obeys_the_bytes(void **state)
{
    rondo_plan_cache *cache = NULL;
    rondo_plan *const probe = new_plan(1);
    const uint64_t each = rondo_plan_bytes(probe);

    (void)state;
    rondo_plan_destroy(probe);
    assert_int_equal(rondo_plan_cache_create(50, 4 * each + 100, &cache), RONDO_OK);
    for (uint64_t count = 1; count <= 4; count++) {
        insert(cache, count);
    }
    assert_non_null(find(cache, 1));
    insert(cache, 5);
    assert_null(find(cache, 2));
    assert_non_null(find(cache, 1));
    insert(cache, 100000);
    run_on_nothing(find(cache, 100000));
    assert_true(rondo_plan_bytes(find(cache, 100000)) >= 100000);
    insert(cache, 6);
    assert_non_null(find(cache, 6));
    assert_non_null(find(cache, 100000));
    assert_null(find(cache, 1));
    assert_null(find(cache, 5));
    rondo_plan_cache_destroy(cache);
}

static void
says_when_it_cannot_be_made(void **state)
{
    rondo_plan_cache *cache = NULL;

    (void)state;
    assert_int_equal(rondo_plan_cache_create(0, 1, &cache), RONDO_ERR_ARG);
    (void)rondo_alloc_fail_after(1);
    assert_int_equal(rondo_plan_cache_create(4, 1, &cache), RONDO_ERR_MEMORY);
    (void)rondo_alloc_fail_after(0);
    assert_null(cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_put_in),
        cmocka_unit_test(every_field_counts),
        cmocka_unit_test(drops_the_least_recent),
        cmocka_unit_test(keeps_what_runs),
        cmocka_unit_test(obeys_the_bytes),
        cmocka_unit_test(says_when_it_cannot_be_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
