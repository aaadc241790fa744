/* traces_over_ucx.c - what a communicator leaves behind in a process of several hosts:
 * no signal's disposition, no descriptor, no thread, no growing memory (which a
 * sanitizer's quarantine hides). ctest: timeout=180 label=notsan label=noasan hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/leftover.h"
#include "lib/ranks.h"

#define SIGNALS   64
#define ROUNDS    300
#define WARM      50 /* rounds after which memory may not grow any more */
#define AT_ONCE   24
#define GROWN_KIB 2048

/* As the kernel has it: the C library would hide flags of its own. */
typedef struct disposition {
    _Alignas(8) unsigned char bytes[64];
} disposition;

static void
look_at_signals(disposition *all)
{
    memset(all, 0, (SIGNALS + 1) * sizeof *all);
    for (int number = 1; number <= SIGNALS; number++) {
        (void)syscall(SYS_rt_sigaction, number, NULL, &all[number], SIGNALS / 8);
    }
}

static void
handler(int number)
{
    (void)number;
}

/* Of every kind: default, ignored, a handler with and without flags. */
static void
vary_signals(void)
{
    for (int number = 1; number < SIGNALS; number++) {
        struct sigaction wanted = {.sa_handler = SIG_DFL};

        if (number == SIGKILL || number == SIGSTOP || number == SIGCHLD ||
            number == 32 || number == 33) {
            continue;
        }
        wanted.sa_handler = number % 4 == 1   ? handler
                            : number % 4 == 2 ? SIG_IGN
                            : number % 4 == 3 ? handler
                                              : SIG_DFL;
        wanted.sa_flags = number % 4 == 3 ? SA_RESTART | SA_NODEFER : 0;
        (void)sigaddset(&wanted.sa_mask, SIGUSR2);
        (void)sigaction(number, &wanted, NULL);
    }
}

static bool
used(rank_self *self, rondo_comm *comm)
{
    float value = 1.0F;
    float sum = 0.0F;
    const rondo_status status =
        rondo_all_reduce(comm, &value, &sum, 1, RONDO_FP32, RONDO_SUM);

    return rank_expect_status(self, status, RONDO_OK, comm, "all_reduce") &&
           rank_expect(self, sum == (float)self->nranks, "the sum is %g", (double)sum);
}

static void
signals_before_and_after(rank_self *self)
{
    static disposition before[SIGNALS + 1], with[SIGNALS + 1], after[SIGNALS + 1];
    const bool varied = *(const bool *)self->user;
    rondo_comm *comm = NULL;

    /* With its first thread the C library sets up a signal of its own. */
    (void)leftover_take();
    if (varied) {
        vary_signals();
    }
    look_at_signals(before);
    if (!rank_join(self, 20000, &comm) || !used(self, comm)) {
        return;
    }
    look_at_signals(with);
    rondo_comm_destroy(comm);
    look_at_signals(after);
    for (int number = 1; number <= SIGNALS; number++) {
        const size_t bytes = sizeof before[number];
        rank_expect(self, memcmp(&before[number], &with[number], bytes) == 0,
                    "signal %d differs while there is a communicator", number);
        rank_expect(self, memcmp(&before[number], &after[number], bytes) == 0,
                    "signal %d differs afterwards", number);
    }
}

static void
signals(void **state)
{
    (void)state;
    for (int varied = 0; varied < 2; varied++) {
        bool user = varied != 0;
        run_ranks(2, AS_PROCESSES, signals_before_and_after, &user, 20000);
    }
}

/* --- made and destroyed ----------------------------------------------------------- */

static void
nothing_left(rank_self *self, const leftover *before, const char *when)
{
    char text[RANK_TEXT_MAX];

    rank_expect(self, leftover_same(before, text, sizeof text),
                "%s: left behind: %.500s", when, text);
}

static void
one_after_another(rank_self *self)
{
    leftover before = leftover_take();
    uint64_t warm_kib = 0;

    for (int round = 0; round < ROUNDS; round++) {
        rondo_comm *comm = NULL;
        rank_note(self, "round %d", round);
        if (!rank_join(self, 20000, &comm) || !used(self, comm)) {
            return;
        }
        rondo_comm_destroy(comm);
        if (round == WARM) {
            warm_kib = leftover_resident_kib();
        }
    }
    const uint64_t kib = leftover_resident_kib();
    rank_expect(self, kib < warm_kib + GROWN_KIB, "memory grew from %d to %d KiB",
                (int)warm_kib, (int)kib);
    nothing_left(self, &before, "after 300");
}

static void
three_hundred(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, one_after_another, NULL, 90000);
}

/* Split off one of another, all alive, destroyed in an order of each rank's own. */
static void
many_at_once(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comms[AT_ONCE] = {NULL};

    if (!rank_join(self, 20000, &comms[0])) {
        return;
    }
    for (int i = 1; i < AT_ONCE; i++) {
        const rondo_status status = rondo_comm_split(comms[i / 2], 0, 0, &comms[i]);
        if (!rank_expect_status(self, status, RONDO_OK, comms[i / 2], "split")) {
            return;
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        (void)used(self, comms[i]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        rondo_comm_destroy(comms[self->rank == 0 ? i : AT_ONCE - 1 - i]);
    }
    nothing_left(self, &before, "after many at once");
}

static void
at_once(void **state)
{
    (void)state;
    for (uint32_t nranks = 2; nranks <= 4; nranks++) {
        run_ranks(nranks, AS_PROCESSES, many_at_once, NULL, 60000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals),
        cmocka_unit_test(three_hundred),
        cmocka_unit_test(at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
