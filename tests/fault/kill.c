/* kill.c - SIGKILL of any rank in any collective, small and large: every other rank
 * gets an error that names it within two seconds, and leaves without a trace.
 * ctest: timeout=240 hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/blame.h"

#define BOUND_MS 2000
#define LOOPING  0

/* How the victim goes. */
typedef enum way { BY_KILL, BY_EXIT } way;

/* One strike; shared by the test and its ranks. */
typedef struct strike {
    call_kind kind;
    uint64_t count;
    uint32_t root;
    uint32_t victim;
    way way;
    uint64_t after_ms; /* of looping */
    bool mapped;       /* buffers that peers have mapped */
    bool idle;         /* survivors are outside any call when it happens */
    _Atomic uint64_t struck_ms;
} strike;

static strike *blow;

static void
survive(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, blow->kind, blow->count, &made) ||
        !rank_join(self, 20000, &comm)) {
        return;
    }
    if (blow->mapped && !blame_mapped(self, comm, &made)) {
        return;
    }
    made.root = blow->root;
    const rondo_status first = blame_loop(self, comm, &made, 3);
    rank_expect_status(self, first, RONDO_OK, comm, "before the strike");
    rank_mark(self, LOOPING);
    if (self->rank == blow->victim && blow->way == BY_EXIT) {
        (void)rank_reached(self, (self->rank + 1) % self->nranks, LOOPING, 10000);
        rank_pause(blow->after_ms);
        atomic_store(&blow->struck_ms, test_now_ms());
        _exit(0);
    }
    while (blow->idle && atomic_load(&blow->struck_ms) == 0) {
        rank_pause(1);
    }
    rank_pause(blow->idle ? 200 : 0);
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t noticed_ms = test_now_ms();
    const uint64_t struck_ms = atomic_load(&blow->struck_ms);
    rank_expect(self, struck_ms != 0, "failed before the strike: %s",
                rondo_comm_error_text(comm));
    rank_expect_status(self, status, RONDO_ERR_PEER, comm, call_text(blow->kind));
    rank_expect(self, noticed_ms <= struck_ms + BOUND_MS, "noticed after %d ms",
                (int)(noticed_ms - struck_ms));
    blame_only(self, rondo_comm_error_text(comm), blow->victim);
    rank_expect_status(self, rondo_barrier(comm), RONDO_ERR_PEER, comm, "a later call");
    blame_leave(self, comm, &made, &before);
}

static void
director(const rank_stage *stage, void *user)
{
    (void)user;
    if (blow->way == BY_EXIT) {
        return;
    }
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, LOOPING, 10000);
    }
    rank_pause(blow->after_ms);
    atomic_store(&blow->struck_ms, test_now_ms());
    (void)kill(stage->pid[blow->victim], SIGKILL);
}

static void
strike_once(uint32_t nranks, const strike *planned)
{
    static rank_report report;
    const rank_run run = {.nranks = nranks,
                          .kind = AS_PROCESSES,
                          .function = survive,
                          .deadline_ms = 20000,
                          .director = director};
    char what[128];

    blow->kind = planned->kind;
    blow->count = planned->count;
    blow->root = planned->root;
    blow->victim = planned->victim;
    blow->way = planned->way;
    blow->after_ms = planned->after_ms;
    blow->idle = planned->idle;
    blow->mapped = planned->mapped;
    atomic_store(&blow->struck_ms, 0);
    ranks_run(&run, &report);
    (void)snprintf(what, sizeof what, "%s of %d, victim %u of %u\n",
                   call_text(planned->kind), (int)planned->count, planned->victim,
                   nranks);
    if (planned->way == BY_EXIT) {
        /* It ended by itself, and early: that is what it was to do. */
        report.outcome[planned->victim].end = RANK_RETURNED;
    }
    for (uint32_t r = 0; r < nranks; r++) {
        const rank_end want = r == planned->victim && planned->way == BY_KILL
                                  ? RANK_KILLED
                                  : RANK_RETURNED;
        if (report.outcome[r].end != want) {
            print_error("%s", what);
        }
    }
    ranks_expect(&report, RANK_RETURNED,
                 planned->way == BY_KILL ? planned->victim : RANKS_MAX);
}

static void
each_call(uint64_t count, uint32_t nranks, bool mapped)
{
    for (call_kind kind = 0; kind < CALLS; kind++) {
        for (uint32_t victim = 0; victim < nranks; victim++) {
            const strike planned = {.kind = kind,
                                    .count = count,
                                    .root = (uint32_t)kind % nranks,
                                    .victim = victim,
                                    .after_ms = 3 + 5 * victim,
                                    .mapped = mapped};
            strike_once(nranks, &planned);
        }
    }
}

static void
small(void **state)
{
    (void)state;
    each_call(2, 4, false);
}

static void
large(void **state)
{
    (void)state;
    each_call((uint64_t)1 << 20, 4, false);
}

static void
large_and_mapped(void **state)
{
    (void)state;
    each_call((uint64_t)1 << 18, 3, true);
}

static void
two_ranks(void **state)
{
    (void)state;
    each_call(1000, 2, false);
}

static void
between_calls(void **state)
{
    (void)state;
    for (call_kind kind = 0; kind < CALLS; kind++) {
        const strike planned = {.kind = kind, .count = 100, .victim = 1, .idle = true};
        strike_once(3, &planned);
    }
}

static void
leaving_without_a_word(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim++) {
        const strike planned = {.kind = CALL_ALL_REDUCE,
                                .count = 1000,
                                .victim = victim,
                                .way = BY_EXIT,
                                .after_ms = 20};
        strike_once(3, &planned);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small),
        cmocka_unit_test(large),
        cmocka_unit_test(large_and_mapped),
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(between_calls),
        cmocka_unit_test(leaving_without_a_word),
    };

    blow = test_shared(sizeof *blow);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
