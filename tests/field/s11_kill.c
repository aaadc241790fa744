/* s11_kill.c - kill -9 of one rank of four that loop on an all-reduce of 4 MiB, or that
 * are in a broadcast whose root it is; and of the process that made a unique id.
 * ctest: timeout=120 hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/blame.h"

#define VICTIM   2
#define BOUND_MS 2000
#define LOOPING  0

typedef struct strike {
    call_kind kind;
    uint64_t count;
    _Atomic uint64_t struck_ms;
    rondo_unique_id id;
} strike;

static strike *blow;

static void
survive(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, blow->kind, blow->count, &made) ||
        !rank_join(self, 60000, &comm)) {
        return;
    }
    made.root = VICTIM;
    rank_mark(self, LOOPING);
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t since_ms = test_now_ms() - atomic_load(&blow->struck_ms);
    rank_expect_status(self, status, RONDO_ERR_PEER, comm, call_text(blow->kind));
    rank_expect(self, rondo_comm_state(comm) == RONDO_ERR_PEER, "the state is %s",
                rondo_status_name(rondo_comm_state(comm)));
    rank_expect(self, since_ms < BOUND_MS, "noticed after %d ms", (int)since_ms);
    blame_only(self, rondo_comm_error_text(comm), VICTIM);
    rank_expect_status(self, rondo_comm_abort(comm), RONDO_OK, comm, "abort");
    blame_leave(self, comm, &made, &before);
}

static void
director(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, LOOPING, 10000);
    }
    rank_pause(blow->kind == CALL_ALL_REDUCE ? 1000 : 200);
    atomic_store(&blow->struck_ms, test_now_ms());
    (void)kill(stage->pid[VICTIM], SIGKILL);
}

static void
strike_once(call_kind kind, uint64_t count)
{
    static rank_report report;
    const rank_run run = {.nranks = 4,
                          .kind = AS_PROCESSES,
                          .function = survive,
                          .deadline_ms = 20000,
                          .director = director};

    blow->kind = kind;
    blow->count = count;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, VICTIM);
}

static void
in_a_loop_of_all_reduces(void **state)
{
    (void)state;
    strike_once(CALL_ALL_REDUCE, (uint64_t)1 << 20);
}

static void
as_the_root_of_a_broadcast(void **state)
{
    (void)state;
    strike_once(CALL_BROADCAST, (uint64_t)1 << 20);
    strike_once(CALL_BROADCAST, 1);
}

/* --- the process that made the id ------------------------------------------------- */

static void
meet_the_dead(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm_config config = rank_config(self);
    rondo_comm *comm = NULL;
    char text[RANK_TEXT_MAX];

    if (self->rank == 0) {
        rank_expect_status(self, rondo_unique_id_create(&blow->id), RONDO_OK, NULL,
                           "id");
        rank_mark(self, LOOPING);
        rank_pause(20000);
    }
    if (!rank_expect(self, rank_reached(self, 0, LOOPING, 10000), "no id")) {
        return;
    }
    while (atomic_load(&blow->struck_ms) == 0) {
        rank_pause(1);
    }
    rank_pause(100);
    config.rank = self->rank;
    config.nranks = self->nranks;
    config.id = &blow->id;
    config.start_timeout_ms = 1000;
    const uint64_t begin_ms = test_now_ms();
    const rondo_status status = rondo_comm_create(&config, &comm);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    rank_expect_status(self, status, RONDO_ERR_START, NULL, "joining by a dead id");
    rank_expect(self, took_ms < 1000 + BOUND_MS, "it took %d ms", (int)took_ms);
    rank_expect(self, strlen(rondo_error_text()) > 0, "it said nothing");
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
kill_the_maker(const rank_stage *stage, void *user)
{
    (void)user;
    (void)stage_reached(stage, 0, LOOPING, 10000);
    (void)kill(stage->pid[0], SIGKILL);
    atomic_store(&blow->struck_ms, test_now_ms());
}

static void
after_making_the_id(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 3,
                          .kind = AS_PROCESSES,
                          .function = meet_the_dead,
                          .deadline_ms = 15000,
                          .director = kill_the_maker};

    (void)state;
    atomic_store(&blow->struck_ms, 0);
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_loop_of_all_reduces),
        cmocka_unit_test(as_the_root_of_a_broadcast),
        cmocka_unit_test(after_making_the_id),
    };

    blow = test_shared(sizeof *blow);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
