/* shrink.c - ranks are killed, all at once; those that live shrink and go on.
 * ctest: timeout=180 hosts */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/blame.h"
#include "lib/onward.h"

#define READY 0

/* From the kill to the new communicator, on an idle machine a few milliseconds. */
#define BOUND_MS 4000

typedef struct blow {
    uint64_t victims; /* a bit each */
    bool idle;        /* they do nothing; otherwise they loop on an all-reduce */
    uint64_t pause_ms;
    _Atomic uint64_t struck_ms;
    _Atomic uint64_t took_ms[RANKS_MAX];
} blow;

static blow *now;

static bool
is_victim(uint32_t rank)
{
    return (now->victims >> rank & 1) != 0;
}

/* Hosts are reached through the process of rank 0, and the ranks of each through the
 * lowest of them: rank 1 where the odd ones are on another host. */
static bool
is_cut_off(uint32_t rank)
{
    return test_over_hosts() && (is_victim(0) || (rank % 2 == 1 && is_victim(1)));
}

static uint32_t
survivors(uint32_t nranks, uint32_t *ranks)
{
    uint32_t count = 0;

    for (uint32_t r = 0; r < nranks; r++) {
        if (!is_victim(r) && !is_cut_off(r)) {
            ranks[count++] = r;
        }
    }
    return count;
}

static rondo_status
loop(rondo_comm *comm)
{
    static _Thread_local float block[5000];
    rondo_status status = RONDO_OK;

    while (status == RONDO_OK) {
        if (now->idle) {
            rank_pause(1);
            status = rondo_comm_state(comm);
        } else {
            status = rondo_all_reduce(comm, block, block, 5000, RONDO_FP32, RONDO_SUM);
        }
    }
    return status;
}

static bool
shrink(rank_self *self, rondo_comm *comm, rondo_comm **smaller)
{
    rank_note(self, "shrinking");
    const rondo_status status = rondo_comm_shrink(comm, 10000, smaller);
    atomic_store(&now->took_ms[self->rank],
                 test_now_ms() - atomic_load(&now->struck_ms));
    if (is_cut_off(self->rank)) {
        rank_expect_status(self, status, RONDO_ERR_PEER, comm, "cut off");
        rank_expect_text(self, rondo_comm_error_text(comm), "cannot be reached",
                         "cut off");
        return false;
    }
    return rank_expect_status(self, status, RONDO_OK, comm, "shrink");
}

static void
survive(rank_self *self)
{
    const leftover before = leftover_take();
    uint32_t ranks[RANKS_MAX];
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;
    rondo_comm *twice = NULL;

    if (!rank_join(self, 60000, &comm)) {
        return;
    }
    rank_mark(self, READY);
    rank_note(self, "looping");
    rank_expect_status(self, loop(comm), RONDO_ERR_PEER, comm, "the loop");
    if (shrink(self, comm, &smaller)) {
        const uint32_t count = survivors(self->nranks, ranks);
        for (uint32_t i = 0; i < count; i++) {
            rank_expect(self, rondo_comm_former_rank(smaller, i) == ranks[i],
                        "rank %u was rank %u", i, rondo_comm_former_rank(smaller, i));
        }
        rank_note(self, "going on");
        (void)onward_works(self, smaller, ranks, count);
        rank_expect_status(self, rondo_comm_shrink(comm, 0, &twice), RONDO_ERR_STATE,
                           comm, "shrinking the same again");
        rank_expect_status(self, rondo_barrier(comm), RONDO_ERR_PEER, comm, "the old");
    }
    rondo_comm_destroy(comm);
    if (smaller != NULL) {
        rank_expect_status(self, rondo_barrier(smaller), RONDO_OK, smaller,
                           "after the old one's end");
    }
    blame_leave(self, smaller, NULL, &before);
}

static void
director(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, READY, 20000);
    }
    rank_pause(now->pause_ms);
    atomic_store(&now->struck_ms, test_now_ms());
    for (uint32_t r = 0; r < stage->nranks; r++) {
        if (is_victim(r)) {
            (void)kill(stage->pid[r], SIGKILL);
        }
    }
}

static void
expect_ends(const rank_report *report)
{
    bool good = true;

    for (uint32_t r = 0; r < report->nranks; r++) {
        const rank_outcome *const outcome = &report->outcome[r];
        if (outcome->end != (is_victim(r) ? RANK_KILLED : RANK_RETURNED)) {
            print_error("rank %u of %u: %s\n", r, report->nranks, outcome->text);
            good = false;
        }
    }
    assert_true(good);
}

static void
strike(uint32_t nranks, uint64_t victims, bool idle)
{
    static rank_report report;
    const rank_run run = {.nranks = nranks,
                          .kind = AS_PROCESSES,
                          .function = survive,
                          .deadline_ms = 30000,
                          .director = director};
    uint64_t longest_ms = 0;

    memset((void *)now, 0, sizeof *now);
    now->victims = victims;
    now->idle = idle;
    now->pause_ms = 30;
    ranks_run(&run, &report);
    expect_ends(&report);
    for (uint32_t r = 0; r < nranks; r++) {
        const uint64_t took_ms = atomic_load(&now->took_ms[r]);
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
    }
    print_message("%u ranks, killed %#llx %s: shrunk after %llu ms\n", nranks,
                  (unsigned long long)victims, idle ? "idle" : "in a collective",
                  (unsigned long long)longest_ms);
    assert_true(longest_ms < BOUND_MS);
}

static void
one_of_two(void **state)
{
    (void)state;
    for (uint64_t victims = 1; victims <= 2; victims++) {
        strike(2, victims, true);
        strike(2, victims, false);
    }
}

static void
any_of_three(void **state)
{
    (void)state;
    for (uint64_t victims = 1; victims < 7; victims++) {
        strike(3, victims, victims % 2 == 0);
    }
}

static void
of_eight(void **state)
{
    (void)state;
    strike(8, UINT64_C(1) << 5, false);
    strike(8, UINT64_C(1) << 0, false);
    strike(8, 1 << 1 | 1 << 4 | 1 << 6, false);
    strike(8, 1 << 2 | 1 << 3 | 1 << 7, true);
    strike(8, 0x7f, false);
    strike(8, 0xfe, false);
}

/* --- several ranks in each process ------------------------------------------------ */

#define EACH 2

/* A rank that is a thread of a process that is one rank for the test. */
typedef struct inner {
    rank_self *self;
    uint32_t number;
} inner;

static void *
live_inside(void *argument)
{
    const inner *const mine = argument;
    rank_self self = *mine->self;
    const uint32_t ranks[] = {0, 1, 4, 5};
    rondo_comm_config config = rank_config(&self);
    rondo_comm *comm = NULL;
    rondo_comm *smaller = NULL;

    config.rank = self.rank * EACH + mine->number;
    config.nranks = self.nranks * EACH;
    self.rank = config.rank;
    if (!rank_expect_status(&self, rondo_comm_create(&config, &comm), RONDO_OK, NULL,
                            "create")) {
        return NULL;
    }
    rank_mark(&self, READY + mine->number);
    rank_expect_status(&self, loop(comm), RONDO_ERR_PEER, comm, "the loop");
    rank_expect_status(&self, rondo_comm_shrink(comm, 10000, &smaller), RONDO_OK, comm,
                       "shrink");
    if (smaller != NULL) {
        (void)onward_works(&self, smaller, ranks, sizeof ranks / sizeof ranks[0]);
    }
    rondo_comm_destroy(comm);
    rondo_comm_destroy(smaller);
    return NULL;
}

static void
live_together(rank_self *self)
{
    const leftover before = leftover_take();
    inner ranks[EACH] = {{self, 0}, {self, 1}};
    pthread_t thread;
    char text[RANK_TEXT_MAX];

    if (!rank_expect(self, pthread_create(&thread, NULL, live_inside, &ranks[0]) == 0,
                     "no thread")) {
        return;
    }
    (void)live_inside(&ranks[1]);
    (void)pthread_join(thread, NULL);
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
kill_second(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks * EACH; r++) {
        (void)stage_reached(stage, r / EACH, READY + r % EACH, 20000);
    }
    rank_pause(20);
    (void)kill(stage->pid[1], SIGKILL);
}

static void
a_process_of_two_ranks(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 3,
                          .kind = AS_PROCESSES,
                          .function = live_together,
                          .deadline_ms = 30000,
                          .director = kill_second};

    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        memset((void *)now, 0, sizeof *now);
        now->idle = idle == 1;
        ranks_run(&run, &report);
        ranks_expect(&report, RANK_RETURNED, 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two),
        cmocka_unit_test(any_of_three),
        cmocka_unit_test(of_eight),
        cmocka_unit_test(a_process_of_two_ranks),
    };

    now = test_shared(sizeof *now);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
