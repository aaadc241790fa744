/* bootstrap_speed.c - how long ranks take to become a communicator, as processes that
 * begin at one moment. The best of some rounds counts: a busy machine is no fault.
 * ctest: timeout=180 serial */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/ranks.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

#define ROUNDS 5

/* Shared by the ranks: the longest that any of them took. */
typedef struct times {
    _Atomic uint64_t most_ms[ROUNDS];
} times;

static void
join_often(rank_self *self)
{
    times *const seen = self->user;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        rondo_comm *comm = NULL;
        if (!rank_meet(self, round, 60000)) {
            return;
        }
        const uint64_t begin_ms = test_now_ms();
        if (!rank_join(self, 60000, &comm)) {
            return;
        }
        const uint64_t took_ms = test_now_ms() - begin_ms;
        uint64_t most_ms = seen->most_ms[round];
        while (took_ms > most_ms && !atomic_compare_exchange_weak(&seen->most_ms[round],
                                                                  &most_ms, took_ms)) {
        }
        rondo_comm_destroy(comm);
    }
}

static void
expect_start(uint32_t nranks, uint64_t limit_ms)
{
    times *const seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t best_ms = UINT64_MAX;

    assert_ptr_not_equal(seen, MAP_FAILED);
    run_ranks(nranks, AS_PROCESSES, join_often, seen, 100000);
    (void)fprintf(stderr, "%u ranks:", nranks);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint64_t most_ms = seen->most_ms[round];
        (void)fprintf(stderr, " %llu", (unsigned long long)most_ms);
        best_ms = most_ms < best_ms ? most_ms : best_ms;
    }
    (void)fprintf(stderr, " ms\n");
    assert_true(best_ms < limit_ms * SLOWER);
    (void)munmap(seen, sizeof *seen);
}

static void
two_ranks(void **state)
{
    (void)state;
    expect_start(2, 100);
}

static void
sixty_four_ranks(void **state)
{
    (void)state;
    expect_start(64, 3000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(sixty_four_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
