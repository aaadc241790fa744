/* exec_plan.c - what a plan refuses, where it says it stands, what it allocates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/stage.h"

/* --- what is refused -------------------------------------------------------------- */

struct bad_piece {
    uint64_t token;
    uint64_t first_bytes; /* 0: the bad piece is the first */
    uint64_t bytes;
    bool last;
};

/* Tokens and lengths of another call. Nothing is written past what was expected. */
static void
refuses_foreign_messages(void **state)
{
    static const struct bad_piece bad[] = {
        {.token = STAGE_TOKEN + 1, .bytes = 64, .last = true},
        {.token = STAGE_TOKEN, .bytes = 68, .last = true},
        {.token = STAGE_TOKEN, .bytes = 68, .last = false},
        {.token = STAGE_TOKEN, .bytes = 60, .last = true},
        {.token = STAGE_TOKEN, .bytes = 64, .last = false},
        {.token = STAGE_TOKEN, .bytes = 0, .last = true},
        {.token = STAGE_TOKEN, .bytes = 0, .last = false},
        {.token = STAGE_TOKEN, .bytes = 30, .last = false},
        {.token = STAGE_TOKEN, .bytes = UINT64_MAX, .last = false},
        {.token = STAGE_TOKEN, .first_bytes = 32, .bytes = 28, .last = true},
        {.token = STAGE_TOKEN, .first_bytes = 32, .bytes = 36, .last = true},
        {.token = STAGE_TOKEN, .first_bytes = 32, .bytes = 32, .last = false},
        {.token = STAGE_TOKEN - 1, .first_bytes = 32, .bytes = 32, .last = true},
        {.token = STAGE_TOKEN,
         .first_bytes = 32,
         .bytes = UINT64_MAX - 8,
         .last = false},
    };

    (void)state;
    for (uint64_t at = 0; at < sizeof bad / sizeof bad[0]; at++) {
        struct stage stage;
        rondo_standing standing;
        stage_set(&stage, false);
        rondo_schedule_send(stage.schedule, 1, stage_in(0, 4));
        rondo_schedule_recv(stage.schedule, 2, stage_out(8, 16));
        stage_start(&stage);
        if (bad[at].first_bytes != 0) {
            stage_give(&stage, 2, 0, bad[at].first_bytes / 4, false);
        }
        puppet_give(&stage.puppet, 2,
                    (rondo_incoming){.data = stage.wire[1] + bad[at].first_bytes / 4,
                                     .bytes = bad[at].bytes,
                                     .token = bad[at].token,
                                     .last = bad[at].last});
        rondo_status status = RONDO_BUSY;
        for (int polls = 0; polls < 4 && status == RONDO_BUSY; polls++) {
            status = rondo_plan_poll(stage.plan);
        }
        assert_int_equal(status, RONDO_ERR_MISMATCH);
        assert_int_equal(rondo_plan_poll(stage.plan), RONDO_ERR_MISMATCH);
        rondo_plan_standing(stage.plan, &standing);
        assert_int_equal(standing.peer, 2);
        assert_int_equal(standing.kind, RONDO_STEP_RECV);
        assert_int_equal(standing.step, 1);
        assert_int_equal(standing.nsteps, 2);
        assert_int_equal(standing.token_found, bad[at].token);
        assert_non_null(strstr(rondo_error_text(), "rank 2"));
        for (uint64_t element = 8 + bad[at].first_bytes / 4; element < STAGE_COUNT;
             element++) {
            assert_int_equal(stage.out[element], -1);
        }
        rondo_plan_destroy(stage.plan);
    }
}

/* A run that failed half-way leaves nothing behind that the next would trip over. */
static void
starts_again_after_a_failure(void **state)
{
    struct stage stage;
    rondo_standing standing;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_copy(stage.schedule, stage_out(0, 8), stage_in(0, 8));
    rondo_schedule_send(stage.schedule, 1, stage_in(0, STAGE_COUNT));
    stage_receive_and_reduce(&stage, false);
    stage_start(&stage);
    stage.puppet.fails[1] = RONDO_ERR_PEER;
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_ERR_PEER);
    rondo_plan_standing(stage.plan, &standing);
    assert_int_equal(standing.peer, 1);
    stage.puppet.fails[1] = RONDO_OK;
    stage.puppet.takes[1] = true;
    for (int run = 0; run < 3; run++) {
        stage_start(&stage);
        stage_give(&stage, 1, 0, STAGE_COUNT, true);
        assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
        assert_int_equal(stage.out[9], 1018);
        rondo_plan_standing(stage.plan, &standing);
        assert_int_equal(standing.step, standing.nsteps);
        assert_int_equal(standing.peer, UINT32_MAX);
    }
    rondo_plan_destroy(stage.plan);
}

static void
tells_where_it_stands(void **state)
{
    struct stage stage;
    rondo_standing standing;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_send(stage.schedule, 1, stage_in(0, STAGE_COUNT));
    rondo_schedule_recv(stage.schedule, 2, stage_out(0, STAGE_COUNT));
    stage_start(&stage);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    rondo_plan_standing(stage.plan, &standing);
    assert_int_equal(standing.step, 0);
    assert_int_equal(standing.peer, 1);
    assert_int_equal(standing.kind, RONDO_STEP_SEND);
    stage.puppet.takes[1] = true;
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    rondo_plan_standing(stage.plan, &standing);
    assert_int_equal(standing.step, 1);
    assert_int_equal(standing.peer, 2);
    assert_int_equal(standing.kind, RONDO_STEP_RECV);
    rondo_plan_destroy(stage.plan);
}

static void
refuses_bad_bindings(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    stage_receive_and_reduce(&stage, false);
    rondo_schedule_copy(stage.schedule, rondo_slice_of(2, RONDO_BUF_OUT, 0, 1),
                        stage_out(0, 1));
    stage_plan(&stage);
    for (int fault = 0; fault < 8; fault++) {
        rondo_binding binding = stage.binding;
        stage.routes[1] = fault == 0 ? NULL : &stage.puppet.transport;
        binding.in = fault == 1 ? NULL : binding.in;
        binding.out = fault == 2 ? NULL : binding.out;
        binding.peer_in = fault == 3 ? NULL : binding.peer_in;
        binding.peer_out = fault == 4 ? NULL : binding.peer_out;
        binding.dtype = fault == 5 ? (rondo_dtype)99 : binding.dtype;
        binding.op = fault == 6 ? (rondo_op)99 : binding.op;
        assert_int_equal(rondo_plan_start(stage.plan, &binding),
                         fault == 7 ? RONDO_OK : RONDO_ERR_ARG);
        assert_int_equal(rondo_plan_poll(stage.plan),
                         fault == 7 ? RONDO_BUSY : RONDO_OK);
    }
    rondo_plan_destroy(stage.plan);
}

/* Counts whose bytes memory cannot hold, and scratch that cannot be had. */
static void
refuses_what_memory_cannot_hold(void **state)
{
    const rondo_coll coll = {
        .kind = RONDO_COLL_ALL_REDUCE, .nranks = 2, .count = UINT64_MAX / 8};
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_destroy(stage.schedule);
    assert_int_equal(rondo_schedule_create(&coll, &stage.schedule), RONDO_OK);
    rondo_schedule_recv(stage.schedule, 1,
                        rondo_schedule_scratch(stage.schedule, UINT64_MAX / 8));
    stage_plan(&stage);
    stage.binding.dtype = RONDO_FP64;
    assert_int_equal(rondo_plan_start(stage.plan, &stage.binding), RONDO_ERR_ARG);
    rondo_plan_destroy(stage.plan);
    stage.plan = NULL;
    stage_set(&stage, false);
    stage_receive_and_reduce(&stage, false);
    stage_plan(&stage);
    (void)rondo_alloc_fail_after(1);
    assert_int_equal(rondo_plan_start(stage.plan, &stage.binding), RONDO_ERR_MEMORY);
    (void)rondo_alloc_fail_after(0);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    stage_start(&stage);
    stage_give(&stage, 1, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[9], 1018);
    rondo_plan_destroy(stage.plan);
}

/* After the first start on a type nothing is allocated; a wider one takes more room. */
static void
allocates_once(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    stage_receive_and_reduce(&stage, false);
    stage_plan(&stage);
    stage.binding.dtype = RONDO_INT8;
    assert_int_equal(rondo_plan_start(stage.plan, &stage.binding), RONDO_OK);
    const uint64_t narrow = rondo_plan_bytes(stage.plan);
    stage_give(&stage, 1, 0, STAGE_COUNT / 4, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    stage.binding.dtype = RONDO_INT32;
    stage_start(&stage);
    assert_int_equal(rondo_plan_bytes(stage.plan), narrow + 3 * STAGE_COUNT);
    const uint64_t before = rondo_alloc_count();
    for (int run = 0; run < 6; run++) {
        stage_give(&stage, 1, 0, run % 2 == 0 ? STAGE_COUNT : STAGE_COUNT / 4, true);
        assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
        stage.binding.dtype = run % 2 == 0 ? RONDO_INT8 : RONDO_INT32;
        stage_start(&stage);
    }
    assert_int_equal(rondo_alloc_count(), before);
    rondo_plan_destroy(stage.plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_foreign_messages),
        cmocka_unit_test(starts_again_after_a_failure),
        cmocka_unit_test(tells_where_it_stands),
        cmocka_unit_test(refuses_bad_bindings),
        cmocka_unit_test(refuses_what_memory_cannot_hold),
        cmocka_unit_test(allocates_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
