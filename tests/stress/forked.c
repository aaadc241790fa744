/* forked.c - after fork the child's handles say RONDO_ERR_FORKED and can only be freed;
 * the parent goes on; the child can make communicators of its own.
 * ctest: label=notsan hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/calls.h"
#include "lib/ranks.h"

#define COUNT 1000

/* In the child: every call is refused, nothing hangs. 0, or the number of the check. */
static int
all_refused(rondo_comm *comm, rondo_request *request, void *block)
{
    static float in[4 * COUNT], out[4 * COUNT];
    rondo_comm *part = NULL;

    for (call_kind kind = 0; kind < CALLS; kind++) {
        const call made = {kind, in, out, COUNT, RONDO_FP32, RONDO_SUM, 0};
        call_flight flight;
        if (call_run(comm, &made) != RONDO_ERR_FORKED ||
            call_start(comm, &made, &flight) != RONDO_ERR_FORKED) {
            return 10 + (int)kind;
        }
    }
    if (rondo_request_test(request) != RONDO_ERR_FORKED) {
        return 2;
    }
    if (rondo_comm_progress(comm) != RONDO_ERR_FORKED) {
        return 3;
    }
    if (rondo_comm_split(comm, 0, 0, &part) != RONDO_ERR_FORKED) {
        return 4;
    }
    if (rondo_mem_register(comm, block) != RONDO_ERR_FORKED) {
        return 5;
    }
    if (rondo_comm_abort(comm) != RONDO_ERR_FORKED) {
        return 6;
    }
    if (strlen(rondo_error_text()) == 0) {
        return 7;
    }
    rondo_comm_destroy(comm);
    return 0;
}

/* In the child, afterwards: a communicator of its own works. */
static int
starts_anew(void)
{
    rondo_comm_config config;
    rondo_comm *comm = NULL;
    const float one = 1.0F;
    float sum = 0.0F;

    rondo_comm_config_init(&config);
    config.rank = 0;
    config.nranks = 1;
    if (rondo_comm_create(&config, &comm) != RONDO_OK) {
        return 8;
    }
    const rondo_status status =
        rondo_all_reduce(comm, &one, &sum, 1, RONDO_FP32, RONDO_SUM);
    rondo_comm_destroy(comm);
    return status == RONDO_OK && sum == 1.0F ? 0 : 9;
}

static void
fork_and_go_on(rank_self *self)
{
    static float in[COUNT], out[COUNT];
    rondo_comm *comm = NULL;
    rondo_request *request = NULL;
    void *block = NULL;
    int child_status = 0;

    if (!rank_join(self, 20000, &comm) ||
        !rank_expect_status(self, rondo_mem_alloc(4096, &block), RONDO_OK, NULL,
                            "alloc")) {
        return;
    }
    /* In flight across the fork: the last rank starts it only afterwards. */
    if (self->rank != self->nranks - 1) {
        rank_expect_status(self,
                           rondo_all_reduce_start(comm, in, out, COUNT, RONDO_FP32,
                                                  RONDO_SUM, &request),
                           RONDO_OK, comm, "start");
        const pid_t child = fork();
        if (child == 0) {
            const int refused = all_refused(comm, request, block);
            _exit(refused != 0 ? refused : starts_anew());
        }
        (void)waitpid(child, &child_status, 0);
        rank_expect(self, WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0,
                    "check %d of the child", WEXITSTATUS(child_status));
        rank_mark(self, 0);
    } else {
        for (uint32_t r = 0; r + 1 < self->nranks; r++) {
            (void)rank_reached(self, r, 0, 15000);
        }
        rank_expect_status(self,
                           rondo_all_reduce_start(comm, in, out, COUNT, RONDO_FP32,
                                                  RONDO_SUM, &request),
                           RONDO_OK, comm, "start");
    }
    rank_expect_status(self, rondo_request_wait(request, RONDO_WAIT_FOREVER), RONDO_OK,
                       comm, "the parent's all_reduce");
    rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "barrier");
    rondo_comm_destroy(comm);
    rondo_mem_free(block);
}

static void
processes(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, fork_and_go_on, NULL, 30000);
    run_ranks(3, AS_PROCESSES, fork_and_go_on, NULL, 30000);
}

/* A child that lives on keeps copies of all descriptors; the death of its parent must
 * be noticed all the same. */
static void
leave_a_child(rank_self *self)
{
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm) || !rank_meet(self, 1, 10000)) {
        return;
    }
    if (self->rank == 0) {
        const pid_t child = fork();
        if (child == 0) {
            rank_pause(3000);
            _exit(0);
        }
        rank_mark(self, 0);
        _exit(0);
    }
    (void)rank_reached(self, 0, 0, 10000);
    const uint64_t begin_ms = test_now_ms();
    rank_expect_status(self, rondo_barrier(comm), RONDO_ERR_PEER, comm, "barrier");
    rank_expect(self, test_now_ms() - begin_ms < 2000, "noticed after %d ms",
                (int)(test_now_ms() - begin_ms));
    rank_expect_text(self, rondo_comm_error_text(comm), "rank 0", "barrier");
    rondo_comm_destroy(comm);
}

static void
parent_dies_child_lives(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 3,
                          .kind = AS_PROCESSES,
                          .function = leave_a_child,
                          .deadline_ms = 15000};

    (void)state;
    ranks_run(&run, &report);
    /* Rank 0 ended by itself, as it was to do. */
    report.outcome[0].end = RANK_RETURNED;
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(parent_dies_child_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
