/* s12_stuck.c - a rank that is alive but stuck, with a time-out of 5 s: its peers are
 * told between 5 and 7 s and the rank is named; it is told itself when it comes back.
 * ctest: timeout=120 label=slow */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/blame.h"

#define TIMEOUT_MS 5000
#define STUCK      1
#define LOOPING    0
#define GAVE_UP    1

static _Atomic uint64_t *struck_ms;

static void
loop(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, CALL_ALL_REDUCE, 4096, &made) ||
        !rank_join(self, TIMEOUT_MS, &comm)) {
        return;
    }
    rank_mark(self, LOOPING);
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t took_ms = test_now_ms() - atomic_load(struck_ms);
    rank_mark(self, GAVE_UP);
    if (self->rank == STUCK) {
        rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_BROKEN,
                    "the late rank got %s", rondo_status_name(status));
    } else {
        rank_expect_status(self, status, RONDO_ERR_TIMEOUT, comm, "all_reduce");
        rank_expect_text(self, rondo_comm_error_text(comm), "all_reduce", "the text");
        blame_only(self, rondo_comm_error_text(comm), STUCK);
        rank_expect(self, took_ms + 100 >= TIMEOUT_MS && took_ms < TIMEOUT_MS + 2000,
                    "gave up after %d ms", (int)took_ms);
    }
    blame_leave(self, comm, &made, &before);
}

static void
stop_until_all_gave_up(const rank_stage *stage, void *user)
{
    (void)user;
    (void)stage_reached(stage, STUCK, LOOPING, 10000);
    rank_pause(200);
    atomic_store(struck_ms, test_now_ms());
    (void)kill(stage->pid[STUCK], SIGSTOP);
    (void)stage_reached(stage, 0, GAVE_UP, 12000);
    (void)stage_reached(stage, 2, GAVE_UP, 12000);
    (void)kill(stage->pid[STUCK], SIGCONT);
}

static void
stopped(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 3,
                          .kind = AS_PROCESSES,
                          .function = loop,
                          .deadline_ms = 25000,
                          .director = stop_until_all_gave_up};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

/* Stopped for 2 s, then continued: no false alarm, and the right sums. */
static void
sums(rank_self *self)
{
    rondo_comm *comm = NULL;
    uint64_t round = 0;

    if (!rank_join(self, TIMEOUT_MS, &comm)) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    for (int going = 1; going != 0; round++) {
        const int32_t mine[2] = {(int32_t)(self->rank + round),
                                 test_now_ms() < begin_ms + 3000};
        int32_t sum[2] = {0, 0};
        const rondo_status status =
            rondo_all_reduce(comm, mine, sum, 2, RONDO_INT32, RONDO_SUM);
        if (!rank_expect_status(self, status, RONDO_OK, comm, "all_reduce") ||
            !rank_expect(self, sum[0] == (int32_t)(3 + 3 * round), "round %d gave %d",
                         (int)round, sum[0])) {
            break;
        }
        going = sum[1];
        rank_mark(self, LOOPING);
    }
    rondo_comm_destroy(comm);
}

static void
stop_for_two_seconds(const rank_stage *stage, void *user)
{
    (void)user;
    (void)stage_reached(stage, STUCK, LOOPING, 10000);
    (void)kill(stage->pid[STUCK], SIGSTOP);
    rank_pause(2000);
    (void)kill(stage->pid[STUCK], SIGCONT);
}

static void
stopped_for_a_while(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 3,
                          .kind = AS_PROCESSES,
                          .function = sums,
                          .deadline_ms = 25000,
                          .director = stop_for_two_seconds};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

/* It sleeps in code of its own and never calls. */
static void
sleeper(rank_self *self)
{
    rondo_comm *comm = NULL;
    const int32_t mine = 1;
    int32_t sum = 0;

    if (!rank_join(self, TIMEOUT_MS, &comm) || !rank_meet(self, LOOPING, 10000)) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    if (self->rank == STUCK) {
        (void)rank_reached(self, 0, GAVE_UP, 12000);
        (void)rank_reached(self, 2, GAVE_UP, 12000);
    }
    const rondo_status status =
        rondo_all_reduce(comm, &mine, &sum, 1, RONDO_INT32, RONDO_SUM);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    rank_mark(self, GAVE_UP);
    rank_expect_status(self, status, RONDO_ERR_TIMEOUT, comm, "all_reduce");
    if (self->rank != STUCK) {
        blame_only(self, rondo_comm_error_text(comm), STUCK);
        rank_expect(self, took_ms + 100 >= TIMEOUT_MS && took_ms < TIMEOUT_MS + 2000,
                    "gave up after %d ms", (int)took_ms);
    }
    rondo_comm_destroy(comm);
}

static void
asleep(void **state)
{
    (void)state;
    run_ranks(3, AS_PROCESSES, sleeper, NULL, 25000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped),
        cmocka_unit_test(stopped_for_a_while),
        cmocka_unit_test(asleep),
    };

    struck_ms = test_shared(sizeof *struck_ms);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
