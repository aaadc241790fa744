/* exec_check.c - schedules that must not be run are refused, step and reason named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/stage.h"

/* A good schedule of one step of each kind that can be run. */
static void
make_good(struct stage *stage)
{
    stage_set(stage, false);
    const rondo_slice heard = rondo_schedule_scratch(stage->schedule, STAGE_COUNT);
    rondo_schedule_send(stage->schedule, 1, stage_in(0, STAGE_COUNT));
    rondo_schedule_recv(stage->schedule, 1, heard);
    rondo_schedule_reduce(stage->schedule, stage_out(0, STAGE_COUNT),
                          stage_in(0, STAGE_COUNT), heard);
    rondo_schedule_signal(stage->schedule);
    rondo_schedule_wait(stage->schedule, 2, 1);
    rondo_schedule_copy(stage->schedule, rondo_slice_of(1, RONDO_BUF_OUT, 0, 4),
                        stage_out(0, 4));
    assert_int_equal(rondo_schedule_seal(stage->schedule), RONDO_OK);
}

enum { SEND, RECV, REDUCE, SIGNAL, WAIT, COPY };

typedef void (*spoiler)(rondo_schedule *schedule);

static void
needs_itself(rondo_schedule *schedule)
{
    schedule->needs[schedule->steps[COPY].needs_at] = COPY;
}

static void
needs_beyond(rondo_schedule *schedule)
{
    schedule->steps[COPY].needs = schedule->nneeds + 1;
}

static void
needs_nowhere(rondo_schedule *schedule)
{
    schedule->steps[COPY].needs_at = UINT64_MAX;
}

static void
peer_beyond(rondo_schedule *schedule)
{
    schedule->steps[SEND].peer = STAGE_RANKS;
}

static void
peer_myself(rondo_schedule *schedule)
{
    schedule->steps[RECV].peer = 0;
}

static void
wait_for_myself(rondo_schedule *schedule)
{
    schedule->steps[WAIT].peer = 0;
}

static void
nothing_sent(rondo_schedule *schedule)
{
    schedule->steps[SEND].a.count = 0;
}

static void
too_long(rondo_schedule *schedule)
{
    schedule->steps[SEND].a.count = STAGE_COUNT + 1;
}

static void
too_far(rondo_schedule *schedule)
{
    schedule->steps[RECV].to.first = 1;
}

static void
wraps_round(rondo_schedule *schedule)
{
    schedule->steps[RECV].to.first = UINT64_MAX - 4;
}

static void
uneven(rondo_schedule *schedule)
{
    schedule->steps[REDUCE].b.count--;
}

static void
memory_of_nobody(rondo_schedule *schedule)
{
    schedule->steps[COPY].to.owner = STAGE_RANKS;
}

static void
scratch_of_others(rondo_schedule *schedule)
{
    schedule->steps[COPY].to.buffer = RONDO_BUF_SCRATCH;
}

static void
of_no_kind(rondo_schedule *schedule)
{
    schedule->steps[COPY].kind = (rondo_step_kind)77;
}

static void
refuses_and_leaves_it(void **state)
{
    static const spoiler spoilers[] = {
        needs_itself,    needs_beyond,     needs_nowhere, peer_beyond,      peer_myself,
        wait_for_myself, nothing_sent,     too_long,      too_far,          wraps_round,
        uneven,          memory_of_nobody, of_no_kind,    scratch_of_others};

    (void)state;
    for (uint64_t at = 0; at < sizeof spoilers / sizeof spoilers[0]; at++) {
        struct stage stage;
        make_good(&stage);
        spoilers[at](stage.schedule);
        assert_int_equal(rondo_plan_create(stage.schedule, &stage.plan), RONDO_ERR_ARG);
        assert_non_null(strstr(rondo_error_text(), "step"));
        assert_null(stage.plan);
        rondo_schedule_destroy(stage.schedule);
    }
}

static void
refuses_codecs(void **state)
{
    (void)state;
    for (int decode = 0; decode < 2; decode++) {
        struct stage stage;
        stage_set(&stage, false);
        const rondo_slice wire = rondo_schedule_wire(stage.schedule, 8);
        if (decode != 0) {
            rondo_schedule_recv(stage.schedule, 1, wire);
            rondo_schedule_decode(stage.schedule, stage_out(0, 8), wire);
        } else {
            rondo_schedule_encode(stage.schedule, wire, stage_in(0, 8));
            rondo_schedule_send(stage.schedule, 1, wire);
        }
        assert_int_equal(rondo_schedule_seal(stage.schedule), RONDO_OK);
        assert_int_equal(rondo_plan_create(stage.schedule, &stage.plan),
                         RONDO_ERR_UNSUPPORTED);
        assert_non_null(strstr(rondo_error_text(), "encoded"));
        assert_null(stage.plan);
        rondo_schedule_destroy(stage.schedule);
    }
}

/* The k-th allocation fails, for every k: no leak, the schedule is still ours. */
static void
survives_lack_of_memory(void **state)
{
    uint64_t failures = 0;
    bool again = true;

    (void)state;
    for (uint64_t nth = 1; again; nth++) {
        struct stage stage;
        make_good(&stage);
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status = rondo_plan_create(stage.schedule, &stage.plan);
        again = rondo_alloc_fail_after(0);
        assert_int_equal(status, again ? RONDO_ERR_MEMORY : RONDO_OK);
        if (status != RONDO_OK) {
            assert_null(stage.plan);
            rondo_schedule_destroy(stage.schedule);
            failures++;
        }
        rondo_plan_destroy(stage.plan);
    }
    assert_int_equal(failures, 2);
}

/* What is in order is not refused; nor is a reader that the schedule got wrong
 * believed: it is only not fused. */
static void
doubts_the_reader(void **state)
{
    static const uint64_t readers[] = {REDUCE, RECV,          SEND,      SIGNAL,
                                       COPY,   RONDO_NO_STEP, UINT32_MAX};

    (void)state;
    for (uint64_t at = 0; at < sizeof readers / sizeof readers[0]; at++) {
        struct stage stage;
        make_good(&stage);
        assert_int_equal(stage.schedule->steps[RECV].reader, REDUCE);
        stage.schedule->steps[RECV].reader = readers[at];
        assert_int_equal(rondo_plan_create(stage.schedule, &stage.plan), RONDO_OK);
        stage_start(&stage);
        stage.puppet.takes[1] = true;
        stage.puppet.signalled[2] = 51;
        stage_give(&stage, 1, 0, STAGE_COUNT, true);
        assert_int_equal(rondo_plan_poll(stage.plan), RONDO_OK);
        assert_int_equal(stage.out[3], 1006);
        assert_int_equal(stage.peer_out[3], 1006);
        assert_int_equal(stage_scratch_untouched(&stage), readers[at] == REDUCE);
        rondo_plan_destroy(stage.plan);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_and_leaves_it),
        cmocka_unit_test(refuses_codecs),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(doubts_the_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
