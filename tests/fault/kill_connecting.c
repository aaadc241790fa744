/* kill_connecting.c - a rank that dies, or that the others leave, in each moment of the
 * making of its first connection: an error that names it, never the end of them all.
 * ctest: hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/blame.h"

/* Turns rank 1 takes at its connection before it stops taking part; it is up after a
 * few. */
#define TURNS  16
#define MET    0
#define TURNED 1
#define LEFT   2

typedef struct moment {
    int turns;
    bool dies; /* else the others leave while it does nothing */
} moment;

static void
begin_and_stop(rank_self *self, rondo_comm *comm, const moment *at)
{
    float value = 1.0F;
    rondo_request *request = NULL;
    rondo_status status = rondo_send_start(comm, &value, 1, RONDO_FP32, 0, &request);

    for (int turn = 0; turn < at->turns && status == RONDO_OK; turn++) {
        status = rondo_comm_progress(comm);
        rank_pause(2); /* the other side takes its turn */
    }
    rank_expect_status(self, status, RONDO_OK, comm, "sending");
    rank_mark(self, TURNED);
    if (at->dies) {
        (void)kill(getpid(), SIGKILL);
    }
    (void)rank_reached(self, 0, LEFT, 10000);
}

static void
connecting(rank_self *self)
{
    const moment *const at = self->user;
    float value = 0.0F;
    rondo_comm *comm = NULL;
    rondo_request *request = NULL;

    if (!rank_join(self, 8000, &comm) || !rank_meet(self, MET, 10000)) {
        return;
    }
    if (self->rank == 1) {
        begin_and_stop(self, comm, at);
        rondo_comm_destroy(comm);
        return;
    }
    rondo_status status = rondo_recv_start(comm, &value, 1, RONDO_FP32, 1, &request);
    while (status == RONDO_OK && !rank_reached(self, 1, TURNED, 0)) {
        status = rondo_comm_progress(comm);
    }
    if (at->dies) {
        status = rondo_barrier(comm);
        rank_expect_status(self, status, RONDO_ERR_PEER, comm, "the barrier");
        blame_only(self, rondo_comm_error_text(comm), 1);
    }
    rondo_comm_destroy(comm);
    rank_mark(self, LEFT);
}

static void
in_each_moment(bool dies)
{
    static rank_report report;

    for (int turns = 0; turns < TURNS; turns++) {
        moment at = {turns, dies};
        const rank_run run = {.nranks = 2,
                              .kind = AS_PROCESSES,
                              .function = connecting,
                              .user = &at,
                              .deadline_ms = 20000};
        ranks_run(&run, &report);
        if (report.outcome[0].end != RANK_RETURNED) {
            print_error("after %d turns\n", turns);
        }
        ranks_expect(&report, RANK_RETURNED, dies ? 1 : RANKS_MAX);
    }
}

static void
it_dies(void **state)
{
    (void)state;
    in_each_moment(true);
}

static void
it_is_left(void **state)
{
    (void)state;
    in_each_moment(false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_dies),
        cmocka_unit_test(it_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
