/* kill_average.c - SIGKILL of any rank in gossip and in averages in pairs: the others
 * get an error within two seconds, and what they hold is of use: in gossip it is as
 * before the round, in pairs every piece is a whole. ctest: timeout=180 hosts */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/leftover.h"
#include "lib/model.h"
#include "lib/ranks.h"

#define BOUND_MS 2000
#define LOOPING  0
#define CHANNEL  3
#define PIECE    ((uint64_t)65536)

typedef enum way { BY_RING, BY_EXPONENTIAL, BY_COMPLETE, BY_PAIRS, LEAVING, WAYS } way;

/* One strike; shared by the test and its ranks. */
typedef struct strike {
    way way;
    uint64_t count;
    uint32_t victim;
    uint64_t after_ms; /* of averaging */
    _Atomic uint64_t struck_ms;
} strike;

static strike *blow;

static rondo_status
gossip_on(rank_self *self, rondo_comm *comm, float *values)
{
    rondo_gossip *gossip = NULL;
    rondo_status status =
        rondo_gossip_create(comm, (rondo_graph)blow->way, blow->count, &gossip);
    float *const before = malloc(blow->count * sizeof *before);

    rank_expect(self, before != NULL, "no memory");
    for (uint64_t round = 0; status == RONDO_OK; round++) {
        memcpy(before, values, blow->count * sizeof *before);
        status = rondo_gossip_round(gossip, values);
        if (round == 2) {
            rank_mark(self, LOOPING);
        }
    }
    rank_expect(self, memcmp(before, values, blow->count * sizeof *before) == 0,
                "a round that failed has changed the values");
    free(before);
    rondo_gossip_destroy(gossip);
    return status;
}

/* Whoever could leave before the strike learns of it afterwards. */
static rondo_status
wait_outside(rondo_pairs *pairs)
{
    rondo_status status = rondo_pairs_leave(pairs);

    while (status == RONDO_OK) {
        status = rondo_pairs_poll(pairs);
    }
    return status;
}

static rondo_status
pairs_on(rank_self *self, rondo_comm *comm, float *values)
{
    rondo_pairs *pairs = NULL;
    uint64_t seed = self->rank;
    rondo_status status =
        rondo_pairs_create(comm, CHANNEL, values, blow->count, &pairs);

    for (uint64_t step = 0; status == RONDO_OK; step++) {
        status = rondo_pairs_step(pairs, model_random(&seed));
        if (step == 2) {
            rank_mark(self, LOOPING);
        }
        if (blow->way == LEAVING && step >= 5 && self->rank != blow->victim) {
            status = wait_outside(pairs);
        }
    }
    for (uint64_t i = 0; i < blow->count; i++) {
        if (!rank_expect(self, values[i] == values[i - i % PIECE],
                         "value %d is not as its piece", (int)i)) {
            break;
        }
    }
    rondo_pairs_destroy(pairs);
    return status;
}

static void
survive(rank_self *self)
{
    const leftover before = leftover_take();
    float *const values = malloc(blow->count * sizeof *values);
    rondo_comm *comm = NULL;
    char text[256];

    if (values == NULL || !rank_join(self, 20000, &comm)) {
        free(values);
        return;
    }
    for (uint64_t i = 0; i < blow->count; i++) {
        values[i] = (float)(self->rank * 10 + i / PIECE);
    }
    const rondo_status status = blow->way < BY_PAIRS ? gossip_on(self, comm, values)
                                                     : pairs_on(self, comm, values);
    const uint64_t noticed_ms = test_now_ms();
    const uint64_t struck_ms = atomic_load(&blow->struck_ms);

    rank_expect_status(self, status, RONDO_ERR_PEER, comm, "the average");
    rank_expect(self, struck_ms != 0 && noticed_ms <= struck_ms + BOUND_MS,
                "noticed after %d ms", (int)(noticed_ms - struck_ms));
    (void)snprintf(text, sizeof text, "rank %u", blow->victim);
    rank_expect_text(self, rondo_comm_error_text(comm), text, "the sentence");
    for (uint64_t i = 0; i < blow->count; i++) {
        rank_expect(
            self, values[i] >= 0.0F && values[i] <= 10.0F * (float)self->nranks + 3.0F,
            "value %d is %g", (int)i, (double)values[i]);
    }
    rondo_comm_destroy(comm);
    free(values);
    rank_expect(self, leftover_same(&before, text, sizeof text), "%s", text);
}

static void
director(const rank_stage *stage, void *user)
{
    (void)user;
    for (uint32_t r = 0; r < stage->nranks; r++) {
        (void)stage_reached(stage, r, LOOPING, 10000);
    }
    usleep((useconds_t)blow->after_ms * 1000);
    atomic_store(&blow->struck_ms, test_now_ms());
    (void)kill(stage->pid[blow->victim], SIGKILL);
}

static void
strike_once(uint32_t nranks, way by, uint64_t count, uint32_t victim)
{
    static rank_report report;
    const rank_run run = {.nranks = nranks,
                          .kind = AS_PROCESSES,
                          .function = survive,
                          .deadline_ms = 20000,
                          .director = director};

    blow->way = by;
    blow->count = count;
    blow->victim = victim;
    blow->after_ms = 3 + 7 * victim;
    atomic_store(&blow->struck_ms, 0);
    ranks_run(&run, &report);
    for (uint32_t r = 0; r < nranks; r++) {
        if (report.outcome[r].end != (r == victim ? RANK_KILLED : RANK_RETURNED)) {
            print_error("way %d, %d values, victim %u of %u\n", (int)by, (int)count,
                        victim, nranks);
        }
    }
    ranks_expect(&report, RANK_RETURNED, victim);
}

static void
each_way(uint32_t nranks, uint64_t count)
{
    for (way by = 0; by < WAYS; by++) {
        for (uint32_t victim = 0; victim < nranks; victim++) {
            strike_once(nranks, by, count, victim);
        }
    }
}

static void
small(void **state)
{
    (void)state;
    each_way(4, 100);
}

static void
of_several_pieces(void **state)
{
    (void)state;
    each_way(3, 2 * PIECE + 100);
}

static void
two_ranks(void **state)
{
    (void)state;
    each_way(2, PIECE + 1);
}

static int
share(void **state)
{
    (void)state;
    blow = test_shared(sizeof *blow);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small),
        cmocka_unit_test(of_several_pieces),
        cmocka_unit_test(two_ranks),
    };

    return cmocka_run_group_tests(tests, share, NULL);
}
