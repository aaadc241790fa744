/* exec_fuse.c - where the bytes of a message land, and when steps run, on a transport
 * whose every answer the test decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/stage.h"

/* --- fusing ----------------------------------------------------------------------- */

/* Either operand first. */
static void
reduces_from_the_wire(void **state)
{
    (void)state;
    for (int heard_first = 0; heard_first < 2; heard_first++) {
        struct stage stage;
        stage_set(&stage, false);
        stage_receive_and_reduce(&stage, heard_first != 0);
        stage_start(&stage);
        stage_give(&stage, 1, 0, 16, false);
        assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
        assert_int_equal(stage.out[15], 1030);
        assert_int_equal(stage.out[16], -1);
        stage_give(&stage, 1, 16, 32, true);
        assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
        for (int32_t at = 0; at < STAGE_COUNT; at++) {
            assert_int_equal(stage.out[at], 1000 + 2 * at);
        }
        assert_true(stage_scratch_untouched(&stage));
        rondo_plan_destroy(stage.plan);
    }
}

static void
copies_from_the_wire(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    const rondo_slice heard = rondo_schedule_scratch(stage.schedule, STAGE_COUNT);
    rondo_schedule_recv(stage.schedule, 1, heard);
    rondo_schedule_copy(stage.schedule, stage_out(0, STAGE_COUNT), heard);
    stage_start(&stage);
    stage_give(&stage, 1, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_memory_equal(stage.out, stage.wire[0], sizeof stage.out);
    assert_true(stage_scratch_untouched(&stage));
    rondo_plan_destroy(stage.plan);
}

/* In place the reduction overwrites what is still being sent. The message is taken all
 * the same, to scratch; and once that is decided it stays so. */
static void
takes_what_it_cannot_reduce_yet(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, true);
    memcpy(stage.out, stage.in, sizeof stage.out);
    rondo_schedule_send(stage.schedule, 1, stage_in(0, STAGE_COUNT));
    stage_receive_and_reduce(&stage, false);
    stage_start(&stage);
    stage_give(&stage, 1, 0, 16, false);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(stage.puppet.consumed[1], 1);
    assert_memory_equal(stage.out, stage.in, sizeof stage.out);
    assert_false(stage_scratch_untouched(&stage));
    stage.puppet.takes[1] = true;
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    stage_give(&stage, 1, 16, 32, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    for (int32_t at = 0; at < STAGE_COUNT; at++) {
        assert_int_equal(stage.out[at], 1000 + 2 * at);
    }
    rondo_plan_destroy(stage.plan);
}

/* The send is taken before the message comes: nothing keeps the two apart. */
static void
fuses_in_place_when_it_may(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, true);
    memcpy(stage.out, stage.in, sizeof stage.out);
    rondo_schedule_send(stage.schedule, 1, stage_in(0, STAGE_COUNT));
    stage_receive_and_reduce(&stage, true);
    stage.puppet.takes[1] = true;
    stage_start(&stage);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    stage_give(&stage, 1, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[STAGE_COUNT - 1], 1000 + 2 * (STAGE_COUNT - 1));
    assert_true(stage_scratch_untouched(&stage));
    rondo_plan_destroy(stage.plan);
}

/* Two steps read the message: it must be kept. */
static void
keeps_what_two_steps_read(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    const rondo_slice heard = rondo_schedule_scratch(stage.schedule, STAGE_COUNT);
    rondo_schedule_recv(stage.schedule, 1, heard);
    rondo_schedule_reduce(stage.schedule, stage_out(0, STAGE_COUNT),
                          stage_in(0, STAGE_COUNT), heard);
    rondo_schedule_send(stage.schedule, 2, heard);
    stage.puppet.takes[2] = true;
    stage_start(&stage);
    stage_give(&stage, 1, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[7], 1014);
    assert_false(stage_scratch_untouched(&stage));
    assert_memory_equal(stage.puppet.sent[2].data, stage.wire[0], sizeof stage.in);
    rondo_plan_destroy(stage.plan);
}

/* The sum of three in rank order: the second term comes late, the third waits. */
static void
order_does_not_depend_on_arrival(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    const rondo_slice second = rondo_schedule_scratch(stage.schedule, STAGE_COUNT);
    const rondo_slice third = rondo_schedule_scratch(stage.schedule, STAGE_COUNT);
    rondo_schedule_recv(stage.schedule, 1, second);
    rondo_schedule_recv(stage.schedule, 2, third);
    rondo_schedule_reduce(stage.schedule, stage_out(0, STAGE_COUNT),
                          stage_in(0, STAGE_COUNT), second);
    rondo_schedule_reduce_final(stage.schedule, stage_out(0, STAGE_COUNT),
                                stage_out(0, STAGE_COUNT), third);
    stage_start(&stage);
    stage_give(&stage, 2, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(stage.puppet.consumed[2], 1);
    assert_int_equal(stage.out[0], -1);
    stage_give(&stage, 1, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[5], 5 + 1005 + 100005);
    rondo_plan_destroy(stage.plan);
}

/* The second message's reader also reads the first one, and needs it through the second
 * only: the first must not take it to be ready. */
static void
fuses_the_last_of_two(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    const rondo_slice first = rondo_schedule_scratch(stage.schedule, 24);
    const rondo_slice second = rondo_schedule_scratch(stage.schedule, 24);
    rondo_schedule_recv(stage.schedule, 1, first);
    rondo_schedule_recv(stage.schedule, 1, second);
    rondo_schedule_reduce(stage.schedule, stage_out(0, 24), first, second);
    stage_start(&stage);
    stage_give(&stage, 1, 0, 24, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(stage.out[0], -1);
    stage_give(&stage, 1, 24, 24, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[0], 1000 + 1024);
    assert_int_equal(stage.out[23], 1023 + 1047);
    rondo_plan_destroy(stage.plan);
}

/* x + x of one message: a kernel has but one place for it. */
static void
keeps_what_is_both_operands(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    const rondo_slice heard = rondo_schedule_scratch(stage.schedule, STAGE_COUNT);
    rondo_schedule_recv(stage.schedule, 1, heard);
    rondo_schedule_reduce(stage.schedule, stage_out(0, STAGE_COUNT), heard, heard);
    assert_int_equal(rondo_schedule_seal(stage.schedule), RONDO_OK);
    stage.schedule->steps[0].reader = 1;
    assert_int_equal(rondo_plan_create(stage.schedule, &stage.plan), RONDO_OK);
    stage_start(&stage);
    stage_give(&stage, 1, 0, STAGE_COUNT, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[9], 2018);
    rondo_plan_destroy(stage.plan);
}

/* What one step sets going goes in the same poll, as far as it can. */
static void
one_poll_goes_all_the_way(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_copy(stage.schedule, stage_out(0, 8), stage_in(0, 8));
    rondo_schedule_send(stage.schedule, 1, stage_out(0, 8));
    rondo_schedule_recv(stage.schedule, 1, stage_out(0, 8));
    rondo_schedule_reduce(stage.schedule, stage_out(8, 8), stage_out(0, 8),
                          stage_in(8, 8));
    rondo_schedule_send(stage.schedule, 2, stage_out(8, 8));
    stage.puppet.takes[1] = true;
    stage.puppet.takes[2] = true;
    stage_start(&stage);
    stage_give(&stage, 1, 0, 4, false);
    puppet_give(&stage.puppet, 1,
                (rondo_incoming){.data = &stage.wire[0][4],
                                 .bytes = 4 * sizeof(int32_t),
                                 .token = STAGE_TOKEN,
                                 .last = true});
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.out[8], 1008);
    rondo_plan_destroy(stage.plan);
}

/* Whoever waits sees from the count that something has moved, and only then. */
static void
counts_moves(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_recv(stage.schedule, 1, stage_out(0, STAGE_COUNT));
    rondo_schedule_send(stage.schedule, 2, stage_in(0, STAGE_COUNT));
    stage_start(&stage);
    const uint64_t before = rondo_plan_moves(stage.plan);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(rondo_plan_moves(stage.plan), before);
    stage_give(&stage, 1, 0, 16, false);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(rondo_plan_moves(stage.plan), before + 1);
    stage.puppet.takes[2] = true;
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(rondo_plan_moves(stage.plan), before + 2);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(rondo_plan_moves(stage.plan), before + 2);
    rondo_plan_destroy(stage.plan);
}

/* --- order ------------------------------------------------------------------------ */

/* Two messages to one peer, the second ready long before the first. */
static void
sends_in_program_order(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_recv(stage.schedule, 1, stage_out(0, 16));
    rondo_schedule_send(stage.schedule, 2, stage_out(0, 16));
    rondo_schedule_send(stage.schedule, 2, stage_in(16, 32));
    stage.puppet.takes[2] = true;
    stage_start(&stage);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(stage.puppet.send_calls[2], 0);
    stage_give(&stage, 1, 0, 16, true);
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.puppet.sends[2], 2);
    assert_ptr_equal(stage.puppet.sent[2].data, stage.in + 16);
    assert_int_equal(stage.puppet.sent[2].bytes, 32 * sizeof(int32_t));
    assert_int_equal(stage.puppet.sent[2].token, STAGE_TOKEN);
    rondo_plan_destroy(stage.plan);
}

static void
signals_and_waits(void **state)
{
    struct stage stage;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_signal(stage.schedule);
    rondo_schedule_wait(stage.schedule, 1, 1);
    rondo_schedule_wait(stage.schedule, 2, 1);
    rondo_schedule_reduce_final(stage.schedule, stage_out(0, STAGE_COUNT),
                                stage_in(0, STAGE_COUNT),
                                rondo_slice_of(1, RONDO_BUF_IN, 0, STAGE_COUNT));
    rondo_schedule_copy(stage.schedule,
                        rondo_slice_of(2, RONDO_BUF_OUT, 0, STAGE_COUNT),
                        stage_out(0, STAGE_COUNT));
    rondo_schedule_signal(stage.schedule);
    stage_start(&stage);
    assert_int_equal(stage.puppet.signal, 51);
    stage.puppet.signalled[2] = 51;
    stage.puppet.signalled[1] = 50;
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_BUSY);
    assert_int_equal(stage.out[0], -1);
    stage.puppet.signalled[1] = 52;
    assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
    assert_int_equal(stage.puppet.signal, 52);
    assert_int_equal(stage.out[3], 1006);
    assert_memory_equal(stage.peer_out, stage.out, sizeof stage.out);
    rondo_plan_destroy(stage.plan);
}

/* A reduction of many MiB is done a little at a time, and messages move in between. */
static void
computes_in_slices(void **state)
{
    const uint64_t count = UINT64_C(2) << 20;
    const rondo_coll coll = {
        .kind = RONDO_COLL_ALL_REDUCE, .nranks = 3, .count = count};
    int32_t *const large_in = calloc(count, sizeof(int32_t));
    int32_t *const large_out = calloc(count, sizeof(int32_t));
    struct stage stage;
    uint32_t polls = 1;

    (void)state;
    stage_set(&stage, false);
    rondo_schedule_destroy(stage.schedule);
    assert_int_equal(rondo_schedule_create(&coll, &stage.schedule), RONDO_OK);
    rondo_schedule_reduce(stage.schedule, stage_out(0, count), stage_in(0, count),
                          stage_in(0, count));
    rondo_schedule_send(stage.schedule, 1, stage_in(0, 1));
    for (uint64_t at = 0; at < count; at++) {
        large_in[at] = (int32_t)at;
    }
    stage.binding.in = large_in;
    stage.binding.out = large_out;
    stage_start(&stage);
    while (rondo_plan_poll(stage.plan) == RONDO_BUSY) {
        polls++;
        stage.puppet.takes[1] = polls == 3;
    }
    assert_in_range(polls, 5, 100);
    assert_true(stage.puppet.send_calls[1] > 2);
    for (uint64_t at = 0; at < count; at++) {
        if (large_out[at] != 2 * (int32_t)at) {
            fail_msg("element %llu", (unsigned long long)at);
        }
    }
    free(large_in);
    free(large_out);
    rondo_plan_destroy(stage.plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduces_from_the_wire),
        cmocka_unit_test(copies_from_the_wire),
        cmocka_unit_test(takes_what_it_cannot_reduce_yet),
        cmocka_unit_test(fuses_in_place_when_it_may),
        cmocka_unit_test(keeps_what_two_steps_read),
        cmocka_unit_test(fuses_the_last_of_two),
        cmocka_unit_test(keeps_what_is_both_operands),
        cmocka_unit_test(one_poll_goes_all_the_way),
        cmocka_unit_test(counts_moves),
        cmocka_unit_test(order_does_not_depend_on_arrival),
        cmocka_unit_test(sends_in_program_order),
        cmocka_unit_test(signals_and_waits),
        cmocka_unit_test(computes_in_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
