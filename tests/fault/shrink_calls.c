/* shrink_calls.c - shrinking and revoking without a death: whole communicators, ranks
 * that leave, that come late, that share a process; parts and parts of parts.
 * ctest: timeout=120 hosts */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/blame.h"
#include "lib/onward.h"

#define RANKS 4
#define READY 0
#define DONE  1

static const uint32_t everybody[RANKS] = {0, 1, 2, 3};

static bool
shrink(rank_self *self, rondo_comm *comm, rondo_comm **smaller)
{
    rank_note(self, "shrinking");
    return rank_expect_status(self, rondo_comm_shrink(comm, 10000, smaller), RONDO_OK,
                              comm, "shrink");
}

/* Calls until it breaks. */
static rondo_status
loop(rank_self *self, rondo_comm *comm)
{
    float block[1000] = {0};
    rondo_status status = RONDO_OK;

    rank_note(self, "looping");
    while (status == RONDO_OK) {
        status = rondo_all_reduce(comm, block, block, 1000, RONDO_FP32, RONDO_SUM);
    }
    return status;
}

static void
run_both(rank_function function)
{
    run_ranks(RANKS, AS_PROCESSES, function, NULL, 30000);
    run_ranks(RANKS, AS_THREADS, function, NULL, 30000);
}

/* --- whole ------------------------------------------------------------------------ */

static void
shrink_whole(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    rank_expect(self, rondo_comm_former_rank(comm, 3) == 3, "the world has no former");
    rank_expect(self, rondo_comm_former_rank(comm, RANKS) == UINT32_MAX, "no rank");
    if (shrink(self, comm, &smaller)) {
        (void)onward_works(self, smaller, everybody, RANKS);
        rank_expect_status(self, rondo_barrier(comm), RONDO_ERR_ABORTED, comm, "old");
        rank_expect_text(self, rondo_comm_error_text(comm), "shrinks", "old");
    }
    rondo_comm_destroy(comm);
    if (smaller != NULL) {
        rank_expect_status(self, rondo_barrier(smaller), RONDO_OK, smaller, "alone");
    }
    blame_leave(self, smaller, NULL, &before);
}

static void
whole(void **state)
{
    (void)state;
    run_both(shrink_whole);
}

/* --- one calls, the others do not know -------------------------------------------- */

static void
shrink_first(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    if (self->rank == 2) {
        rank_pause(50);
    } else {
        rank_expect_status(self, loop(self, comm), RONDO_ERR_ABORTED, comm, "loop");
        rank_expect_text(self, rondo_comm_error_text(comm), "rank 2 shrinks", "loop");
    }
    if (shrink(self, comm, &smaller)) {
        (void)onward_works(self, smaller, everybody, RANKS);
    }
    rondo_comm_destroy(comm);
    blame_leave(self, smaller, NULL, &before);
}

static void
one_is_first(void **state)
{
    (void)state;
    run_both(shrink_first);
}

/* --- revoked ---------------------------------------------------------------------- */

static void *
revoking(void *argument)
{
    rank_pause(50);
    const rondo_status once = rondo_comm_revoke(argument);
    const rondo_status twice = rondo_comm_revoke(argument);
    return once == RONDO_OK && twice == RONDO_OK ? argument : NULL;
}

static void
revoke_it(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;
    pthread_t thread;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    const bool revokes = self->rank == 1;
    if (revokes && pthread_create(&thread, NULL, revoking, comm) != 0) {
        rank_expect(self, false, "no thread");
        return;
    }
    rank_expect_status(self, loop(self, comm), RONDO_ERR_ABORTED, comm, "revoked");
    rank_expect_text(self, rondo_comm_error_text(comm), "rank 1 revoked", "revoked");
    rank_expect(self, rondo_comm_state(comm) == RONDO_ERR_ABORTED, "the state is %s",
                rondo_status_name(rondo_comm_state(comm)));
    if (revokes) {
        void *done = NULL;
        (void)pthread_join(thread, &done);
        rank_expect(self, done != NULL, "revoke failed");
    }
    if (shrink(self, comm, &smaller)) {
        (void)onward_works(self, smaller, everybody, RANKS);
    }
    rondo_comm_destroy(comm);
    blame_leave(self, smaller, NULL, &before);
}

static void
revoked(void **state)
{
    (void)state;
    run_both(revoke_it);
}

/* --- late ------------------------------------------------------------------------- */

/* Who has failed to shrink may try again. */
static void
come_late(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    if (self->rank != 3) {
        const uint64_t begin_ms = test_now_ms();
        rank_expect_status(self, rondo_comm_shrink(comm, 300, &smaller),
                           RONDO_ERR_TIMEOUT, comm, "without rank 3");
        const uint64_t took_ms = test_now_ms() - begin_ms;
        rank_expect(self, took_ms >= 290 && took_ms < 3000, "it took %d ms",
                    (int)took_ms);
        rank_expect_text(self, rondo_comm_error_text(comm), "rank 3 (process", "late");
        rank_expect(self, smaller == NULL, "it was set");
        rank_mark(self, READY);
    } else {
        for (uint32_t r = 0; r < 3; r++) {
            (void)rank_reached(self, r, READY, 10000);
        }
    }
    if (shrink(self, comm, &smaller)) {
        (void)onward_works(self, smaller, everybody, RANKS);
    }
    rondo_comm_destroy(comm);
    blame_leave(self, smaller, NULL, &before);
}

static void
one_is_late(void **state)
{
    (void)state;
    run_both(come_late);
}

/* --- again and again -------------------------------------------------------------- */

/* A whole communicator breaks under whoever is still in a call on it. */
static bool
finished(rank_self *self, uint32_t nranks, uint32_t mark)
{
    bool all = true;

    rank_mark(self, mark);
    for (uint32_t r = 0; r < nranks; r++) {
        all = all && rank_reached(self, r, mark, 10000);
    }
    return rank_expect(self, all, "%u ranks have not finished", nranks);
}

/* The highest rank leaves each time, down to one; that one shrinks once more. */
static void
dwindle(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (uint32_t left = RANKS; left > 0; left--) {
        rank_note(self, "%u are left", left);
        if (!onward_works(self, comm, everybody, left) || !finished(self, left, left) ||
            self->rank == left - 1 || !shrink(self, comm, &smaller)) {
            break;
        }
        rondo_comm_destroy(comm);
        comm = smaller;
    }
    if (self->rank == 0 && shrink(self, comm, &smaller)) {
        (void)onward_works(self, smaller, everybody, 1);
        rondo_comm_destroy(smaller);
    }
    blame_leave(self, comm, NULL, &before);
}

static void
again_and_again(void **state)
{
    (void)state;
    run_both(dwindle);
}

/* --- parts ------------------------------------------------------------------------ */

/* Other communicators of the same ranks know nothing of it; a part shrinks, too. */
static void
shrink_apart(rank_self *self)
{
    const leftover before = leftover_take();
    const uint32_t mine[2] = {self->rank % 2, self->rank % 2 + 2};
    rondo_comm *comm = NULL;
    rondo_comm *part = NULL;
    rondo_comm *smaller = NULL;
    rondo_comm *of_part = NULL;

    if (!rank_join(self, 20000, &comm) ||
        !rank_expect_status(self,
                            rondo_comm_split(comm, (int32_t)(self->rank % 2), 0, &part),
                            RONDO_OK, comm, "split")) {
        return;
    }
    rank_expect(self, rondo_comm_former_rank(part, 1) == mine[1], "rank %u was 1",
                rondo_comm_former_rank(part, 1));
    if (finished(self, RANKS, READY) && shrink(self, comm, &smaller)) {
        (void)onward_works(self, part, mine, 2);
        (void)onward_works(self, smaller, everybody, RANKS);
    }
    if (finished(self, RANKS, DONE) && self->rank % 2 == 0 &&
        shrink(self, part, &of_part)) {
        (void)onward_works(self, of_part, mine, 2);
        rondo_comm_destroy(of_part);
    } else {
        (void)onward_works(self, part, mine, 2);
    }
    (void)onward_works(self, smaller, everybody, RANKS);
    rondo_comm_destroy(comm);
    rondo_comm_destroy(part);
    blame_leave(self, smaller, NULL, &before);
}

static void
parts_of_it(void **state)
{
    (void)state;
    run_both(shrink_apart);
}

/* --- arguments -------------------------------------------------------------------- */

static void
refuse(rank_self *self)
{
    rondo_comm *comm = NULL;
    rondo_comm *other = NULL;
    rondo_comm_config config = rank_config(self);
    int ended = 0;

    rank_expect_status(self, rondo_comm_shrink(NULL, 0, &other), RONDO_ERR_ARG, NULL,
                       "no communicator");
    rank_expect_status(self, rondo_comm_revoke(NULL), RONDO_ERR_ARG, NULL, "revoke");
    rank_expect(self, rondo_comm_former_rank(NULL, 0) == UINT32_MAX, "of none");
    if (!rank_expect_status(self, rondo_comm_create_start(&config, &comm), RONDO_OK,
                            NULL, "start")) {
        return;
    }
    if (self->rank == 0 && rondo_comm_create_test(comm) == RONDO_BUSY) {
        rank_expect_status(self, rondo_comm_shrink(comm, 0, &other), RONDO_ERR_STATE,
                           comm, "too early");
    }
    rank_mark(self, READY);
    (void)rank_reached(self, 0, READY, 10000);
    rondo_status status = RONDO_BUSY;
    while (status == RONDO_BUSY) {
        status = rondo_comm_create_test(comm);
    }
    rank_expect_status(self, status, RONDO_OK, comm, "created");
    rank_expect_status(self, rondo_comm_shrink(comm, 0, NULL), RONDO_ERR_ARG, comm,
                       "nowhere to");
    rank_expect(self, rondo_comm_state(comm) == RONDO_OK, "a refusal broke it");
    const pid_t child = fork();
    if (child == 0) {
        const bool forked = rondo_comm_shrink(comm, 0, &other) == RONDO_ERR_FORKED &&
                            rondo_comm_revoke(comm) == RONDO_ERR_FORKED;
        rondo_comm_destroy(comm);
        _exit(forked ? 0 : 1);
    }
    (void)waitpid(child, &ended, 0);
    rank_expect(self, WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "in the child");
    rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "after all that");
    rondo_comm_destroy(comm);
}

static void
refusals(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, refuse, NULL, 20000);
}

/* A start that was revoked fails; a rank that waits in shrink sees who leaves. */
static void
leave_meanwhile(rank_self *self)
{
    static const uint32_t others[RANKS] = {0, 1, 2};
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    if (self->rank == 3) {
        rank_pause(100);
    } else if (shrink(self, comm, &smaller)) {
        (void)onward_works(self, smaller, others, 3);
    }
    rondo_comm_destroy(comm);
    blame_leave(self, smaller, NULL, &before);
}

static void
one_leaves_meanwhile(void **state)
{
    (void)state;
    run_both(leave_meanwhile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),        cmocka_unit_test(whole),
        cmocka_unit_test(one_is_first),    cmocka_unit_test(revoked),
        cmocka_unit_test(one_is_late),     cmocka_unit_test(one_leaves_meanwhile),
        cmocka_unit_test(again_and_again), cmocka_unit_test(parts_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
