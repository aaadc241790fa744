/* shrink_chaos.c - ranks are killed one after the other at moments drawn from a seed,
 * also while the others shrink; whoever lives goes on until only they are left.
 * ctest: timeout=240 hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/blame.h"
#include "lib/onward.h"

#define READY  0
#define ROUNDS 120

typedef struct chaos {
    uint32_t seed;
    uint32_t nkills;
    uint32_t victims[RANKS_MAX];
    uint64_t waits_us[RANKS_MAX]; /* before each kill */
    atomic_bool over;             /* nobody is killed any more */
    _Atomic uint64_t longest_ms;  /* call of shrink */
    _Atomic uint32_t shrinks;
} chaos;

static chaos *now;

static uint32_t
draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* Whether all ranks know that it is over; the same for all of them. */
static rondo_status
ask_over(rondo_comm *comm, uint32_t *over)
{
    const uint32_t mine = atomic_load(&now->over);

    return rondo_all_reduce(comm, &mine, over, 1, RONDO_UINT32, RONDO_MIN);
}

static bool
shrink(rank_self *self, rondo_comm **comm)
{
    const uint64_t begin_ms = test_now_ms();
    rondo_comm *smaller = NULL;
    char reason[256];

    (void)snprintf(reason, sizeof reason, "%s", rondo_comm_error_text(*comm));
    rank_note(self, "shrinking %u ranks: %s", rondo_comm_nranks(*comm), reason);
    const rondo_status status = rondo_comm_shrink(*comm, 20000, &smaller);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    if (!rank_expect(self, status == RONDO_OK, "shrink failed: %s; after: %s",
                     rondo_comm_error_text(*comm), reason)) {
        return false;
    }
    if (took_ms > atomic_load(&now->longest_ms)) {
        atomic_store(&now->longest_ms, took_ms);
    }
    (void)atomic_fetch_add(&now->shrinks, 1);
    rank_expect(self, rondo_comm_nranks(smaller) <= rondo_comm_nranks(*comm),
                "it grew from %u to %u", rondo_comm_nranks(*comm),
                rondo_comm_nranks(smaller));
    rank_expect(self,
                rondo_comm_former_rank(smaller, rondo_comm_rank(smaller)) ==
                    rondo_comm_rank(*comm),
                "I was rank %u", rondo_comm_rank(*comm));
    rondo_comm_destroy(*comm);
    *comm = smaller;
    return true;
}

static void
live(rank_self *self)
{
    const leftover before = leftover_take();
    const uint32_t left = self->nranks - now->nkills;
    rondo_comm *comm = NULL;
    bool good = rank_join(self, 60000, &comm);
    uint32_t over = 0;

    rank_mark(self, READY);
    while (good && (over == 0 || rondo_comm_nranks(comm) != left)) {
        rank_note(self, "working among %u", rondo_comm_nranks(comm));
        rondo_status status = onward_among(self, comm);
        if (status == RONDO_OK) {
            status = ask_over(comm, &over);
        }
        if (status == RONDO_OK) {
            continue;
        }
        over = 0;
        /* In a part that cannot be made the reason is the part's own. */
        rank_expect(self, status == RONDO_ERR_PEER || status == RONDO_ERR_ABORTED,
                    "work failed with %s: %s", rondo_status_name(status),
                    rondo_error_text());
        good = shrink(self, &comm);
    }
    blame_leave(self, comm, NULL, &before);
}

static void
director(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, READY, 20000);
    }
    for (uint32_t i = 0; i < now->nkills; i++) {
        const struct timespec span = {.tv_nsec = (long)now->waits_us[i] * 1000};
        (void)nanosleep(&span, NULL);
        (void)kill(stage->pid[now->victims[i]], SIGKILL);
    }
    atomic_store(&now->over, true);
}

/* The lowest rank of each host has its links: without it the others are cut off. */
static void
choose_victims(uint32_t nranks, uint32_t seed)
{
    const uint32_t spared = test_over_hosts() ? 2 : 0;
    bool chosen[RANKS_MAX] = {false};

    memset((void *)now, 0, sizeof *now);
    now->seed = seed;
    seed = seed * 2654435761u;
    now->nkills = 1 + draw(&seed, nranks - 1 - spared);
    for (uint32_t i = 0; i < now->nkills; i++) {
        uint32_t victim = 0;
        do {
            victim = spared + draw(&seed, nranks - spared);
        } while (chosen[victim]);
        chosen[victim] = true;
        now->victims[i] = victim;
        now->waits_us[i] = i == 0 ? draw(&seed, 20000) : draw(&seed, 12000);
    }
}

static bool
expect_ends(const rank_report *report)
{
    bool good = true;

    for (uint32_t r = 0; r < report->nranks; r++) {
        bool victim = false;
        for (uint32_t i = 0; i < now->nkills; i++) {
            victim = victim || now->victims[i] == r;
        }
        if (report->outcome[r].end != (victim ? RANK_KILLED : RANK_RETURNED)) {
            print_error("seed %u, rank %u of %u: %s\n", now->seed, r, report->nranks,
                        report->outcome[r].text);
            good = false;
        }
    }
    return good;
}

static void
round_of(uint32_t nranks, uint32_t seed, uint64_t *longest_ms)
{
    static rank_report report;
    const rank_run run = {.nranks = nranks,
                          .kind = AS_PROCESSES,
                          .function = live,
                          .deadline_ms = 40000,
                          .director = director};

    choose_victims(nranks, seed);
    ranks_run(&run, &report);
    assert_true(expect_ends(&report));
    assert_true(atomic_load(&now->shrinks) >= nranks - now->nkills);
    const uint64_t took_ms = atomic_load(&now->longest_ms);
    *longest_ms = took_ms > *longest_ms ? took_ms : *longest_ms;
}

static void
at_random_moments(void **state)
{
    const char *const only = getenv("RONDO_TEST_SEED");
    const uint32_t first = only == NULL ? 1 : (uint32_t)strtoul(only, NULL, 10);
    const uint32_t last = only == NULL ? ROUNDS : first;
    uint64_t longest_ms = 0;

    (void)state;
    for (uint32_t seed = first; seed <= last; seed++) {
        round_of((test_over_hosts() ? 4 : 3) + seed % 4, seed, &longest_ms);
    }
    print_message("the longest shrink took %llu ms\n", (unsigned long long)longest_ms);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random_moments),
    };

    now = test_shared(sizeof *now);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
