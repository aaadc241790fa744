/* average_gossip.c - rounds of gossip between real ranks have the bits of the pure
 * arithmetic, on all graphs; what a rank may not ask for is refused.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/model.h"
#include "lib/ranks.h"

#define NRANKS_MAX  9
#define GRAPHS      3
#define ROUNDS      9
#define FIRST_ROUND 2
#define COUNTS      4

static const uint64_t counts[COUNTS] = {1, 7, 1025, 40001};

/* What all ranks hold, computed by every rank for itself. */
typedef struct crowd {
    uint32_t nranks;
    uint64_t count;
    float *now[NRANKS_MAX];
    float *next[NRANKS_MAX];
} crowd;

static void
crowd_fill(crowd *c, uint32_t nranks, uint64_t count, uint64_t seed)
{
    c->nranks = nranks;
    c->count = count;
    for (uint32_t r = 0; r < nranks; r++) {
        for (uint64_t i = 0; i < count; i++) {
            c->now[r][i] = (float)(model_random(&seed) % 200001) / 70000.0F - 1.0F;
        }
    }
}

static void
crowd_round(crowd *c, rondo_graph graph, uint64_t round)
{
    for (uint32_t r = 0; r < c->nranks; r++) {
        rondo_gossip_term terms[NRANKS_MAX];
        const float *vectors[NRANKS_MAX];
        uint32_t nterms = 0;

        if (rondo_gossip_terms(graph, c->nranks, r, round, terms, NRANKS_MAX,
                               &nterms) != RONDO_OK) {
            abort();
        }
        for (uint32_t t = 0; t < nterms; t++) {
            vectors[t] = c->now[terms[t].rank];
        }
        rondo_gossip_mix(terms, nterms, vectors, c->count, c->next[r]);
    }
    for (uint32_t r = 0; r < c->nranks; r++) {
        float *const old = c->now[r];
        c->now[r] = c->next[r];
        c->next[r] = old;
    }
}

/* Several gossips live on one communicator, one after the other. */
static bool
compare(rank_self *self, rondo_comm *comm, rondo_graph graph, crowd *c)
{
    rondo_gossip *gossip = NULL;
    const size_t bytes = c->count * sizeof(float);
    float *const mine = malloc(bytes);
    bool same = mine != NULL;

    if (!same ||
        !rank_expect_status(self, rondo_gossip_create(comm, graph, c->count, &gossip),
                            RONDO_OK, comm, "rondo_gossip_create")) {
        free(mine);
        return false;
    }
    memcpy(mine, c->now[self->rank], bytes);
    /* A run that goes on somewhere: the next rounds are those, not the first ones. */
    rondo_gossip_seek(gossip, FIRST_ROUND);
    for (uint64_t round = 0; round < (c->count < 10000 ? ROUNDS : ROUNDS / 2) && same;
         round++) {
        rank_note(self, "graph %d, %llu values, round %llu", (int)graph,
                  (unsigned long long)c->count, (unsigned long long)round);
        same = rank_expect_status(self, rondo_gossip_round(gossip, mine), RONDO_OK,
                                  comm, "rondo_gossip_round");
        crowd_round(c, graph, FIRST_ROUND + round);
        same = same &&
               rank_expect(self, memcmp(mine, c->now[self->rank], bytes) == 0,
                           "other bits: graph %d, %llu values, round %llu", (int)graph,
                           (unsigned long long)c->count, (unsigned long long)round);
    }
    rondo_gossip_destroy(gossip);
    free(mine);
    return same;
}

static void
rounds(rank_self *self)
{
    rondo_comm *comm = NULL;
    crowd c = {0};

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (uint32_t r = 0; r < self->nranks; r++) {
        c.now[r] = calloc(counts[COUNTS - 1], sizeof(float));
        c.next[r] = calloc(counts[COUNTS - 1], sizeof(float));
    }
    bool same = true;
    for (int graph = 0; graph < GRAPHS && same; graph++) {
        for (size_t i = 0; i < COUNTS && same; i++) {
            crowd_fill(&c, self->nranks, counts[i], (uint64_t)graph * 10 + i);
            same = compare(self, comm, (rondo_graph)graph, &c);
        }
    }
    if (same) {
        rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "at the end");
    }
    for (uint32_t r = 0; r < self->nranks; r++) {
        free(c.now[r]);
        free(c.next[r]);
    }
    rondo_comm_destroy(comm);
}

static void
ranks_have_the_bits_of_the_arithmetic(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= NRANKS_MAX; nranks++) {
        run_ranks(nranks, nranks % 2 == 0 ? AS_PROCESSES : AS_THREADS, rounds, NULL,
                  60000);
    }
}

static void
refusals(rank_self *self)
{
    rondo_comm *comm = NULL;
    rondo_gossip *gossip = NULL;
    float value = 1.0F;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    rank_expect_status(self, rondo_gossip_create(NULL, RONDO_GRAPH_RING, 1, &gossip),
                       RONDO_ERR_ARG, NULL, "no communicator");
    rank_expect_status(self, rondo_gossip_create(comm, (rondo_graph)3, 1, &gossip),
                       RONDO_ERR_ARG, NULL, "no such graph");
    rank_expect_status(self, rondo_gossip_create(comm, RONDO_GRAPH_RING, 0, &gossip),
                       RONDO_ERR_ARG, NULL, "no values");
    rank_expect_status(self, rondo_gossip_create(comm, RONDO_GRAPH_RING, 1, NULL),
                       RONDO_ERR_ARG, NULL, "nowhere to put it");
    rank_expect_status(
        self, rondo_gossip_create(comm, RONDO_GRAPH_COMPLETE, UINT64_MAX / 4, &gossip),
        RONDO_ERR_ARG, NULL, "too many values");
    rank_expect(self, gossip == NULL, "something was made");
    rank_expect_status(self, rondo_gossip_round(NULL, &value), RONDO_ERR_ARG, NULL,
                       "no gossip");
    rondo_gossip_seek(NULL, 1);
    rondo_gossip_destroy(NULL);
    /* Every allocation of create fails once; nothing is lost. */
    for (uint64_t nth = 1; gossip == NULL && nth < 20; nth++) {
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status =
            rondo_gossip_create(comm, RONDO_GRAPH_RING, 1, &gossip);
        (void)rondo_alloc_fail_after(0);
        rank_expect_status(self, status, gossip == NULL ? RONDO_ERR_MEMORY : RONDO_OK,
                           NULL, "a create without memory");
    }
    rank_expect_status(self, rondo_gossip_round(gossip, NULL), RONDO_ERR_ARG, NULL,
                       "no parameters");
    value = self->rank == 0 ? 3.0F : 5.0F;
    rank_expect_status(self, rondo_gossip_round(gossip, &value), RONDO_OK, comm,
                       "after refusals");
    rank_expect(self, value == 4.0F, "the mean of 3 and 5 is %g", (double)value);
    rondo_gossip_destroy(gossip);
    rondo_comm_destroy(comm);
}

static void
what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, refusals, NULL, 20000);
}

/* One rank has another count: both sides get an error, and no half of a mean. */
static void
unequal(rank_self *self)
{
    static float values[20];
    rondo_comm *comm = NULL;
    rondo_gossip *gossip = NULL;

    if (!rank_join(self, 5000, &comm)) {
        return;
    }
    for (uint32_t i = 0; i < 20; i++) {
        values[i] = 2.0F;
    }
    rank_expect_status(
        self, rondo_gossip_create(comm, RONDO_GRAPH_RING, 10 + self->rank, &gossip),
        RONDO_OK, comm, "rondo_gossip_create");
    const rondo_status status = rondo_gossip_round(gossip, values);
    rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_BROKEN,
                "counts of 10 and 11 gave %s", rondo_status_name(status));
    for (uint32_t i = 0; i < 20; i++) {
        rank_expect(self, values[i] == 2.0F, "value %u has changed", i);
    }
    rondo_gossip_destroy(gossip);
    rondo_comm_destroy(comm);
}

static void
unequal_counts_are_an_error(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, unequal, NULL, 20000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_have_the_bits_of_the_arithmetic),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(unequal_counts_are_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
