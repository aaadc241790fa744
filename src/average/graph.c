/* graph.c - who averages with whom in a round of gossip, and with what weight. */
#include <stdbool.h>

#include <rondo/average.h>

#include "base/error.h"

/* Neighbours are all at one distance to both sides, or everybody. */
typedef enum reach {
    REACH_NOBODY,
    REACH_BOTH_SIDES, /* two ranks, or one where both sides are the same */
    REACH_ALL
} reach;

typedef struct neighbourhood {
    reach reach;
    uint32_t distance; /* both sides: 1 to nranks - 1 */
    uint32_t others;   /* how many ranks besides the own one */
} neighbourhood;

/* The smallest k with 2^k >= nranks; nranks is at least 2. */
static uint32_t
log2_up(uint32_t nranks)
{
    return 32 - (uint32_t)__builtin_clz(nranks - 1);
}

static neighbourhood
both_sides(uint32_t nranks, uint32_t distance)
{
    const bool same = 2 * (uint64_t)distance == nranks;

    return (neighbourhood){REACH_BOTH_SIDES, distance, same ? 1 : 2};
}

static neighbourhood
neighbourhood_of(rondo_graph graph, uint32_t nranks, uint64_t round)
{
    if (nranks == 1) {
        return (neighbourhood){REACH_NOBODY, 0, 0};
    }
    if (graph == RONDO_GRAPH_COMPLETE) {
        return (neighbourhood){REACH_ALL, 0, nranks - 1};
    }
    if (graph == RONDO_GRAPH_RING) {
        return both_sides(nranks, 1);
    }
    return both_sides(nranks, UINT32_C(1) << round % log2_up(nranks));
}

static bool
takes_part(const neighbourhood *around, uint32_t nranks, uint32_t rank, uint32_t other)
{
    const uint32_t ahead = other >= rank ? other - rank : nranks - rank + other;

    if (ahead == 0 || around->reach == REACH_ALL) {
        return true;
    }
    return around->reach == REACH_BOTH_SIDES &&
           (ahead == around->distance || nranks - ahead == around->distance);
}

static rondo_status
check(rondo_graph graph, uint32_t nranks, uint32_t rank)
{
    if (graph != RONDO_GRAPH_RING && graph != RONDO_GRAPH_EXPONENTIAL &&
        graph != RONDO_GRAPH_COMPLETE) {
        return rondo_error(RONDO_ERR_ARG, "graph is %d; allowed is 0 to 2", (int)graph);
    }
    if (nranks == 0 || rank >= nranks) {
        return rondo_error(RONDO_ERR_ARG, "rank is %u of %u ranks", rank, nranks);
    }
    return RONDO_OK;
}

rondo_status
rondo_gossip_terms(rondo_graph graph, uint32_t nranks, uint32_t rank, uint64_t round,
                   rondo_gossip_term *terms, uint32_t room, uint32_t *nterms)
{
    if (terms == NULL || nterms == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_gossip_terms: a pointer is null");
    }
    const rondo_status status = check(graph, nranks, rank);
    if (status != RONDO_OK) {
        return status;
    }
    const neighbourhood around = neighbourhood_of(graph, nranks, round);
    if (room < around.others + 1) {
        return rondo_error(RONDO_ERR_ARG,
                           "room for %u terms; rank %u has %u in round %llu", room,
                           rank, around.others + 1, (unsigned long long)round);
    }
    /* The own weight is what the others leave of 1, so that sums are exact though 1/3
     * is not: otherwise every round would stretch the mean by the same little. */
    const float weight = 1.0F / (float)(around.others + 1);
    const float rest = (float)(1.0 - (double)around.others * (double)weight);
    uint32_t used = 0;

    for (uint32_t other = 0; other < nranks; other++) {
        if (takes_part(&around, nranks, rank, other)) {
            terms[used++] = (rondo_gossip_term){other, other == rank ? rest : weight};
        }
    }
    *nterms = used;
    return RONDO_OK;
}
