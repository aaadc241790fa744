/* s16_descriptors.c - communicators made and ended again and again, within 256
 * descriptors: by destroy, by abort, and where the start fails; and more of them alive
 * at once than the limit allows: an error that says so, and the ones before still work.
 * ctest: timeout=120 label=slow */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lib/leftover.h"
#include "lib/ranks.h"

#define RANKS  4
#define LIMIT  256
#define ALIVE  64
#define ROUNDS 500

/* The id of each round, made by rank 0. */
static rondo_unique_id *ids;
static _Atomic uint32_t *ids_made;

static bool
limit_set(rank_self *self, rlim_t descriptors)
{
    const struct rlimit limit = {descriptors, descriptors};

    return rank_expect(self, setrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit");
}

/* Make the id of a round, share it, join. */
static rondo_status
join_round(rank_self *self, uint32_t round, rondo_comm **comm)
{
    rondo_comm_config config;

    rondo_comm_config_init(&config);
    config.rank = self->rank;
    config.nranks = self->nranks;
    config.id = &ids[round];
    config.start_timeout_ms = 10000;
    config.op_timeout_ms = 10000;
    rank_note(self, "round %u", round);
    if (self->rank == 0) {
        const rondo_status status = rondo_unique_id_create(&ids[round]);
        *ids_made = round + 1;
        if (status != RONDO_OK) {
            return status;
        }
    }
    for (int wait = 0; *ids_made <= round; wait++) {
        if (!rank_expect(self, wait < 10000, "no id of round %u", round)) {
            return RONDO_ERR_START;
        }
        rank_pause(1);
    }
    return rondo_comm_create(&config, comm);
}

static bool
sum_is_right(rank_self *self, rondo_comm *comm)
{
    const int32_t mine = (int32_t)self->rank + 1;
    const int32_t want = (int32_t)(self->nranks * (self->nranks + 1) / 2);
    int32_t sum = 0;
    const rondo_status status =
        rondo_all_reduce(comm, &mine, &sum, 1, RONDO_INT32, RONDO_SUM);

    return rank_expect_status(self, status, RONDO_OK, comm, "all_reduce") &&
           rank_expect(self, sum == want, "the sum is %d, not %d", sum, want);
}

/* A rank that is done aborts, which may hit another one that is not yet. */
static bool
use(rank_self *self, rondo_comm *comm, bool by_abort)
{
    const int32_t mine = 1;
    int32_t sum = 0;

    if (!by_abort) {
        return sum_is_right(self, comm);
    }
    const rondo_status status =
        rondo_all_reduce(comm, &mine, &sum, 1, RONDO_INT32, RONDO_SUM);
    return rank_expect(self, status == RONDO_ERR_ABORTED || status == RONDO_OK,
                       "all_reduce gave %s", rondo_status_name(status)) &&
           rank_expect(self, status != RONDO_OK || sum == RANKS, "the sum is %d",
                       sum) &&
           rank_expect_status(self, rondo_comm_abort(comm), RONDO_OK, comm, "abort");
}

static void
rounds(rank_self *self)
{
    const bool by_abort = *(const bool *)self->user;
    const leftover before = leftover_take();
    char text[RANK_TEXT_MAX];

    if (!limit_set(self, LIMIT)) {
        return;
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        rondo_comm *comm = NULL;
        if (!rank_expect_status(self, join_round(self, round, &comm), RONDO_OK, NULL,
                                "rondo_comm_create") ||
            !use(self, comm, by_abort)) {
            break;
        }
        rondo_comm_destroy(comm);
        if (round % 50 == 49 &&
            !rank_expect(self, leftover_same(&before, text, sizeof text),
                         "after %u rounds: %.500s", round + 1, text)) {
            break;
        }
    }
}

static void
run_rounds(bool by_abort)
{
    *ids_made = 0;
    run_ranks(RANKS, AS_PROCESSES, rounds, &by_abort, 60000);
}

static void
made_and_destroyed(void **state)
{
    (void)state;
    run_rounds(false);
}

static void
made_and_aborted(void **state)
{
    (void)state;
    run_rounds(true);
}

/* A start that fails: an address where nobody listens, and a deadline soon over. */
static void
failing(rank_self *self)
{
    const leftover before = leftover_take();
    char text[RANK_TEXT_MAX];

    (void)setenv("RANK", "1", 1);
    (void)setenv("WORLD_SIZE", "2", 1);
    (void)limit_set(self, LIMIT);
    for (int round = 0; round < 100; round++) {
        rondo_comm_config config;
        rondo_comm *comm = NULL;
        rondo_comm_config_init(&config);
        config.start_timeout_ms = 20;
        if (!rank_expect_status(self, rondo_comm_create(&config, &comm),
                                RONDO_ERR_START, NULL, "a start with nobody there")) {
            return;
        }
    }
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
failed_starts(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, failing, NULL, 30000);
}

/* 64 alive at once, and they all work. */
static void
alive(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comms[ALIVE] = {NULL};
    char text[RANK_TEXT_MAX];
    uint32_t made = 0;

    for (; made < ALIVE; made++) {
        if (!rank_expect_status(self, join_round(self, made, &comms[made]), RONDO_OK,
                                NULL, "one of 64")) {
            break;
        }
    }
    for (uint32_t c = 0; c < made; c++) {
        (void)sum_is_right(self, comms[c]);
    }
    for (uint32_t c = 0; c < made; c++) {
        rondo_comm_destroy(comms[c]);
    }
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
sixty_four_alive(void **state)
{
    (void)state;
    *ids_made = 0;
    run_ranks(RANKS, AS_PROCESSES, alive, NULL, 60000);
}

/* So few descriptors that some communicator cannot be made: all ranks are told, rank 0
 * why, and the ones made before still work. */
static void
too_many(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comms[ALIVE] = {NULL};
    char text[RANK_TEXT_MAX];
    rondo_status status = RONDO_OK;
    uint32_t made = 0;

    /* The others have plenty: only rank 0 runs out. */
    (void)limit_set(self, self->rank == 0 ? before.descriptors + 8 : LIMIT);
    for (; status == RONDO_OK && made < ALIVE; made += status == RONDO_OK) {
        if (made > 0 && !sum_is_right(self, comms[made - 1])) {
            break;
        }
        status = join_round(self, made, &comms[made]);
    }
    (void)snprintf(text, sizeof text, "%s", rondo_error_text());
    if (status != RONDO_OK) {
        rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_SYSTEM,
                    "running out gave %s", rondo_status_name(status));
        rank_expect(self, self->rank != 0 || strstr(text, "open files") != NULL,
                    "rank 0 says \"%.500s\"", text);
    }
    for (uint32_t c = 0; c < made; c++) {
        (void)sum_is_right(self, comms[c]);
        rondo_comm_destroy(comms[c]);
    }
    rank_expect(self, leftover_same(&before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
more_than_the_limit(void **state)
{
    (void)state;
    *ids_made = 0;
    run_ranks(2, AS_PROCESSES, too_many, NULL, 60000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_and_destroyed),  cmocka_unit_test(made_and_aborted),
        cmocka_unit_test(failed_starts),       cmocka_unit_test(sixty_four_alive),
        cmocka_unit_test(more_than_the_limit),
    };

    ids = test_shared(ROUNDS * sizeof *ids);
    ids_made = test_shared(sizeof *ids_made);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
