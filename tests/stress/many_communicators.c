/* many_communicators.c - ten thousand communicators in one process, in every way they
 * can be made: after the first thousand, descriptors are equal and memory within 2 MiB.
 * ctest: timeout=240 label=slow label=noasan */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/leftover.h"
#include "lib/ranks.h"

#define COMMUNICATORS 10000
#define SETTLED       1000
#define GROWTH_KIB    2048

/* What is compared, taken after the first thousand. */
typedef struct level {
    leftover held;
    uint64_t resident_kib;
} level;

/* The service thread may still be at the last communicator's end: wait until nothing
 * has changed for a while. */
static level
level_take(void)
{
    leftover held = leftover_take();

    for (int calm = 0, looks = 0; calm < 10 && looks < 500; looks++) {
        rank_pause(5);
        const leftover now = leftover_take();

        calm = now.descriptors == held.descriptors && now.threads == held.threads
                   ? calm + 1
                   : 0;
        held = now;
    }
    return (level){held, leftover_resident_kib()};
}

static bool
level_kept(rank_self *self, const level *settled)
{
    char text[RANK_TEXT_MAX];
    const uint64_t now_kib = leftover_resident_kib();

    return rank_expect(self, leftover_same(&settled->held, text, sizeof text), "%.500s",
                       text) &&
           rank_expect(self, now_kib <= settled->resident_kib + GROWTH_KIB,
                       "resident memory grew from %d to %d KiB",
                       (int)settled->resident_kib, (int)now_kib);
}

static bool
sum_is_right(rank_self *self, rondo_comm *comm)
{
    const uint32_t mine = rondo_comm_rank(comm) + 1;
    const uint32_t nranks = rondo_comm_nranks(comm);
    uint32_t sum = 0;
    const rondo_status status =
        rondo_all_reduce(comm, &mine, &sum, 1, RONDO_UINT32, RONDO_SUM);

    return rank_expect_status(self, status, RONDO_OK, comm, "all_reduce") &&
           rank_expect(self, sum == nranks * (nranks + 1) / 2, "the sum is %u", sum);
}

/* --- one rank --------------------------------------------------------------------- */

static void
alone(rank_self *self)
{
    level settled = level_take();

    for (uint32_t i = 0; i < COMMUNICATORS; i++) {
        rondo_comm *comm = NULL;
        rank_note(self, "communicator %u", i);
        if (!rank_expect_status(self, rondo_comm_create(NULL, &comm), RONDO_OK, NULL,
                                "rondo_comm_create") ||
            !sum_is_right(self, comm)) {
            return;
        }
        rondo_comm_destroy(comm);
        settled = i + 1 == SETTLED ? level_take() : settled;
    }
    (void)level_kept(self, &settled);
}

static void
of_one_rank(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, alone, NULL, 60000);
}

/* --- two ranks in one thread ------------------------------------------------------ */

static bool
pair_create(rank_self *self, rondo_comm **pair)
{
    rondo_unique_id id;
    rondo_status status[2] = {RONDO_BUSY, RONDO_BUSY};
    const uint64_t until_ms = test_now_ms() + 10000;

    if (!rank_expect_status(self, rondo_unique_id_create(&id), RONDO_OK, NULL, "id")) {
        return false;
    }
    for (uint32_t r = 0; r < 2; r++) {
        rondo_comm_config config;
        rondo_comm_config_init(&config);
        config.rank = r;
        config.nranks = 2;
        config.id = &id;
        if (!rank_expect_status(self, rondo_comm_create_start(&config, &pair[r]),
                                RONDO_OK, NULL, "rondo_comm_create_start")) {
            return false;
        }
    }
    while (status[0] == RONDO_BUSY || status[1] == RONDO_BUSY) {
        for (uint32_t r = 0; r < 2; r++) {
            status[r] =
                status[r] == RONDO_BUSY ? rondo_comm_create_test(pair[r]) : status[r];
        }
        if (!rank_expect(self, test_now_ms() < until_ms, "creation does not end")) {
            return false;
        }
    }
    return rank_expect_status(self, status[0], RONDO_OK, pair[0], "first of a pair") &&
           rank_expect_status(self, status[1], RONDO_OK, pair[1], "second of a pair");
}

static bool
pair_sum_is_right(rank_self *self, rondo_comm **pair)
{
    const uint32_t mine[2] = {1, 2};
    uint32_t sum[2] = {0, 0};
    rondo_request *request[2] = {NULL, NULL};
    rondo_status status[2] = {RONDO_BUSY, RONDO_BUSY};

    for (int r = 0; r < 2; r++) {
        if (!rank_expect_status(self,
                                rondo_all_reduce_start(pair[r], &mine[r], &sum[r], 1,
                                                       RONDO_UINT32, RONDO_SUM,
                                                       &request[r]),
                                RONDO_OK, pair[r], "rondo_all_reduce_start")) {
            return false;
        }
    }
    const uint64_t until_ms = test_now_ms() + 10000;
    while (status[0] == RONDO_BUSY || status[1] == RONDO_BUSY) {
        for (int r = 0; r < 2; r++) {
            status[r] =
                status[r] == RONDO_BUSY ? rondo_request_test(request[r]) : status[r];
        }
        if (!rank_expect(self, test_now_ms() < until_ms, "all_reduce does not end")) {
            return false;
        }
    }
    return rank_expect(self, sum[0] == 3 && sum[1] == 3, "the sums are %u and %u",
                       sum[0], sum[1]);
}

static void
in_one_thread(rank_self *self)
{
    level settled = level_take();

    for (uint32_t i = 0; i < COMMUNICATORS / 2; i++) {
        rondo_comm *pair[2] = {NULL, NULL};
        rank_note(self, "pair %u", i);
        if (!pair_create(self, pair) || !pair_sum_is_right(self, pair)) {
            return;
        }
        rondo_comm_destroy(pair[i % 2]);
        rondo_comm_destroy(pair[1 - i % 2]);
        settled = 2 * (i + 1) == SETTLED ? level_take() : settled;
    }
    (void)level_kept(self, &settled);
}

static void
of_two_ranks_in_one_thread(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, in_one_thread, NULL, 100000);
}

/* --- by split --------------------------------------------------------------------- */

/* A rank ahead of the other has it hold more: count when both are at the same place. */
static level
level_of_both(rank_self *self, uint32_t mark)
{
    (void)rank_meet(self, mark, 30000);
    const level taken = level_take();
    (void)rank_meet(self, mark + 1, 30000);
    return taken;
}

static void
splitting(rank_self *self)
{
    rondo_comm *comm = NULL;
    level settled;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    settled = level_take();
    for (uint32_t i = 0; i < COMMUNICATORS / 2; i++) {
        rondo_comm *part = NULL;
        const int32_t color = i % 3 == 2 ? (int32_t)self->rank : 0;
        rank_note(self, "split %u", i);
        if (!rank_expect_status(self, rondo_comm_split(comm, color, 0, &part), RONDO_OK,
                                comm, "rondo_comm_split") ||
            !sum_is_right(self, part)) {
            return;
        }
        rondo_comm_destroy(part);
        if (2 * (i + 1) == SETTLED) {
            settled = level_of_both(self, 0);
        }
    }
    (void)rank_meet(self, 2, 10000);
    (void)level_kept(self, &settled);
    (void)rank_meet(self, 3, 10000);
    rondo_comm_destroy(comm);
}

static void
by_split_of_threads(void **state)
{
    (void)state;
    run_ranks(2, AS_THREADS, splitting, NULL, 100000);
}

/* --- registrations ---------------------------------------------------------------- */

static void
registering(rank_self *self)
{
    rondo_comm *comm = NULL;
    level settled = level_take();

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (uint32_t i = 0; i < 3000; i++) {
        void *block = NULL;
        rank_note(self, "registration %u", i);
        if (!rank_expect_status(self, rondo_mem_alloc(20000 + i, &block), RONDO_OK,
                                NULL, "rondo_mem_alloc") ||
            !rank_expect_status(self, rondo_mem_register(comm, block), RONDO_OK, comm,
                                "rondo_mem_register") ||
            !rank_expect_status(
                self, rondo_all_reduce(comm, block, block, 5000, RONDO_FP32, RONDO_SUM),
                RONDO_OK, comm, "all_reduce") ||
            !rank_expect_status(self, rondo_mem_deregister(comm, block), RONDO_OK, comm,
                                "rondo_mem_deregister")) {
            return;
        }
        rondo_mem_free(block);
        if (i == 300) {
            settled = level_of_both(self, 0);
        }
    }
    (void)rank_meet(self, 2, 10000);
    (void)level_kept(self, &settled);
    (void)rank_meet(self, 3, 10000);
    rondo_comm_destroy(comm);
}

static void
registered_again_and_again(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, registering, NULL, 60000);
}

/* --- alive at once ---------------------------------------------------------------- */

static void
sixty_four(rank_self *self)
{
    enum { ALIVE = 64 };
    const leftover before = leftover_take();
    rondo_comm *pairs[ALIVE / 2][2] = {{NULL}};
    char text[RANK_TEXT_MAX];
    bool good = true;

    for (int i = 0; good && i < ALIVE / 2; i++) {
        good = pair_create(self, pairs[i]);
    }
    for (int round = 0; good && round < 3; round++) {
        for (int i = 0; good && i < ALIVE / 2; i++) {
            good = pair_sum_is_right(self, pairs[i]);
        }
    }
    for (int i = 0; i < ALIVE; i++) {
        rondo_comm_destroy(pairs[i / 2][i % 2]);
    }
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
sixty_four_alive(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, sixty_four, NULL, 30000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_rank),
        cmocka_unit_test(of_two_ranks_in_one_thread),
        cmocka_unit_test(by_split_of_threads),
        cmocka_unit_test(registered_again_and_again),
        cmocka_unit_test(sixty_four_alive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
