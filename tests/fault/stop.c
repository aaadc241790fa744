/* stop.c - a rank that is alive but stuck: stopped, or in code of its own. At the
 * deadline the others are told which rank it is, and it is told itself when it comes
 * back; a stop that ends before the deadline does no harm.
 * ctest: timeout=240 label=slow hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/blame.h"

#define TIMEOUT_MS 1500
#define LATE_MS    2000 /* over the deadline: asking around, a busy machine */
#define LOOPING    0
#define GAVE_UP    1

typedef struct strike {
    call_kind kind;
    uint64_t count;
    uint32_t victim;
    bool mapped; /* buffers that peers have mapped */
    _Atomic uint64_t struck_ms;
} strike;

static strike *blow;

static void
stuck(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, blow->kind, blow->count, &made) ||
        !rank_join(self, TIMEOUT_MS, &comm)) {
        return;
    }
    if (blow->mapped && !blame_mapped(self, comm, &made)) {
        return;
    }
    made.root = 1;
    rank_expect_status(self, blame_loop(self, comm, &made, 3), RONDO_OK, comm,
                       "before");
    rank_mark(self, LOOPING);
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t took_ms = test_now_ms() - atomic_load(&blow->struck_ms);
    rank_mark(self, GAVE_UP);
    if (self->rank == blow->victim) {
        rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_BROKEN,
                    "the late rank got %s", rondo_status_name(status));
    } else {
        rank_expect_status(self, status, RONDO_ERR_TIMEOUT, comm, "the others");
        blame_only(self, rondo_comm_error_text(comm), blow->victim);
        rank_expect(self, took_ms + 100 >= TIMEOUT_MS, "gave up after %d ms already",
                    (int)took_ms);
        rank_expect(self, took_ms < TIMEOUT_MS + LATE_MS, "gave up after %d ms only",
                    (int)took_ms);
    }
    blame_leave(self, comm, &made, &before);
}

static void
stop_and_continue_late(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, LOOPING, 10000);
    }
    rank_pause(5);
    atomic_store(&blow->struck_ms, test_now_ms());
    (void)kill(stage->pid[blow->victim], SIGSTOP);
    for (uint32_t r = 0; r < stage->nranks; r++) {
        if (r != blow->victim) {
            (void)stage_reached(stage, r, GAVE_UP, 10000);
        }
    }
    (void)kill(stage->pid[blow->victim], SIGCONT);
}

static void
strike_once(uint32_t nranks, call_kind kind, uint64_t count, uint32_t victim)
{
    static rank_report report;
    const rank_run run = {.nranks = nranks,
                          .kind = AS_PROCESSES,
                          .function = stuck,
                          .deadline_ms = 20000,
                          .director = stop_and_continue_late};

    blow->kind = kind;
    blow->count = count;
    blow->victim = victim;
    atomic_store(&blow->struck_ms, 0);
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

static void
stopped(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 4; victim++) {
        strike_once(4, CALL_ALL_REDUCE, 1 << 20, victim);
    }
    if (test_over_hosts()) {
        return; /* whoever connects its host, or does not: all four are different */
    }
    for (call_kind kind = 0; kind < CALLS; kind++) {
        strike_once(4, kind, kind % 2 == 0 ? 1000 : 1 << 18, (uint32_t)kind % 4);
    }
    blow->mapped = true;
    strike_once(3, CALL_ALL_REDUCE, 1 << 18, 2);
    blow->mapped = false;
    strike_once(2, CALL_ALL_REDUCE, 16, 0);
    strike_once(2, CALL_ALL_REDUCE, 16, 1);
}

/* --- stopped for two seconds only ------------------------------------------------- */

static void
paused(rank_self *self)
{
    enum { COUNT = 1 << 16 };
    static float in[COUNT], out[COUNT];
    rondo_comm *comm = NULL;

    if (!rank_join(self, 8000, &comm)) {
        return;
    }
    const uint64_t until_ms = test_now_ms() + 2500;
    for (uint64_t round = 0, going = 1; going != 0; round++) {
        for (int i = 0; i < COUNT; i++) {
            in[i] = (float)((self->rank + 1) * ((round + (uint64_t)i) % 1000));
        }
        rank_note(self, "round %d", (int)round);
        rondo_status status =
            rondo_all_reduce(comm, in, out, COUNT, RONDO_FP32, RONDO_SUM);
        if (!rank_expect_status(self, status, RONDO_OK, comm, "all_reduce")) {
            break;
        }
        for (int i = 0; i < COUNT; i++) {
            const float want = (float)(6 * ((round + (uint64_t)i) % 1000));
            if (!rank_expect(self, out[i] == want, "round %d: element %d is %g, not %g",
                             (int)round, i, (double)out[i], (double)want)) {
                break;
            }
        }
        rank_mark(self, LOOPING);
        const uint64_t mine = test_now_ms() < until_ms || round < 10;
        status = rondo_all_reduce(comm, &mine, &going, 1, RONDO_UINT64, RONDO_MAX);
        if (!rank_expect_status(self, status, RONDO_OK, comm, "going on")) {
            break;
        }
    }
    rondo_comm_destroy(comm);
}

static void
stop_for_two_seconds(const rank_stage *stage, void *user)
{
    (void)user;
    (void)stage_reached(stage, 1, LOOPING, 10000);
    rank_pause(100);
    (void)kill(stage->pid[1], SIGSTOP);
    rank_pause(2000);
    (void)kill(stage->pid[1], SIGCONT);
}

static void
a_pause_does_no_harm(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 3,
                          .kind = AS_PROCESSES,
                          .function = paused,
                          .deadline_ms = 30000,
                          .director = stop_for_two_seconds};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

/* --- a rank that does not call ---------------------------------------------------- */

static void
one_does_not_call(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, blow->kind, blow->count, &made) ||
        !rank_join(self, TIMEOUT_MS, &comm)) {
        return;
    }
    made.root = 0;
    rank_expect_status(self, blame_loop(self, comm, &made, 3), RONDO_OK, comm,
                       "before");
    if (!rank_meet(self, LOOPING, 10000)) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    if (self->rank == blow->victim) {
        rank_pause(TIMEOUT_MS + LATE_MS);
    }
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    if (self->rank == blow->victim) {
        rank_expect_status(self, status, RONDO_ERR_TIMEOUT, comm, "the late rank");
        rank_expect(self, took_ms < TIMEOUT_MS + 2 * LATE_MS, "it was told late");
    } else {
        rank_expect_status(self, status, RONDO_ERR_TIMEOUT, comm, "the others");
        blame_only(self, rondo_comm_error_text(comm), blow->victim);
        rank_expect(self, took_ms + 100 >= TIMEOUT_MS && took_ms < TIMEOUT_MS + LATE_MS,
                    "gave up after %d ms", (int)took_ms);
    }
    blame_leave(self, comm, &made, &before);
}

static void
not_calling(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim++) {
        blow->kind = victim == 1 ? CALL_ALL_REDUCE : CALL_BARRIER;
        blow->count = victim == 1 ? 1 << 20 : 1;
        blow->victim = victim;
        run_ranks(3, AS_PROCESSES, one_does_not_call, NULL, 20000);
        if (!test_over_hosts()) {
            run_ranks(3, AS_THREADS, one_does_not_call, NULL, 20000);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped),
        cmocka_unit_test(a_pause_does_no_harm),
        cmocka_unit_test(not_calling),
    };

    blow = test_shared(sizeof *blow);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
