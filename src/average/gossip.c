/* gossip.c - D-PSGD on a communicator: a round is vectors to and from the neighbours,
 * all at once, then the mix. */
#include <rondo/average.h>

#include "base/alloc.h"
#include "base/error.h"

struct rondo_gossip {
    rondo_comm *comm; /* not ours */
    rondo_graph graph;
    uint32_t rank;
    uint32_t nranks;
    uint64_t count;
    uint64_t round;
    float *received; /* a vector for each neighbour of a round */
    rondo_gossip_term *terms;
    const float **vectors; /* by term */
    rondo_request **requests;
    uint32_t nrequests; /* in flight */
};

/* Neighbours of any round, at most. */
static uint32_t
neighbours_max(rondo_graph graph, uint32_t nranks)
{
    return graph == RONDO_GRAPH_COMPLETE || nranks < 3 ? nranks - 1 : 2;
}

static rondo_status
take(uint64_t count, uint64_t width, void **memory)
{
    uint64_t bytes = 0;
    const rondo_status status = rondo_size(count, width, &bytes);

    return status == RONDO_OK ? rondo_alloc_zero(bytes, memory) : status;
}

static rondo_status
memory_get(rondo_gossip *gossip)
{
    const uint32_t neighbours = neighbours_max(gossip->graph, gossip->nranks);
    const uint64_t terms = neighbours + UINT64_C(1);
    void *memory = NULL;
    uint64_t vector_bytes = 0;

    rondo_status status = rondo_size(gossip->count, sizeof(float), &vector_bytes);
    if (status == RONDO_OK && neighbours != 0) {
        status = take(neighbours, vector_bytes, &memory);
        gossip->received = memory;
    }
    if (status == RONDO_OK) {
        status = take(terms, sizeof *gossip->terms, &memory);
        gossip->terms = status == RONDO_OK ? memory : NULL;
    }
    if (status == RONDO_OK) {
        status = take(terms, sizeof *gossip->vectors, &memory);
        gossip->vectors = status == RONDO_OK ? memory : NULL;
    }
    if (status == RONDO_OK) {
        status = take(2 * terms, sizeof(rondo_request *), &memory);
        gossip->requests = status == RONDO_OK ? memory : NULL;
    }
    return status;
}

rondo_status
rondo_gossip_create(rondo_comm *comm, rondo_graph graph, uint64_t count,
                    rondo_gossip **gossip)
{
    void *memory = NULL;

    if (comm == NULL || gossip == NULL || count == 0) {
        return rondo_error(RONDO_ERR_ARG, "rondo_gossip_create: %s",
                           count == 0 ? "count is 0" : "a pointer is null");
    }
    if (graph != RONDO_GRAPH_RING && graph != RONDO_GRAPH_EXPONENTIAL &&
        graph != RONDO_GRAPH_COMPLETE) {
        return rondo_error(RONDO_ERR_ARG, "graph is %d; allowed is 0 to 2", (int)graph);
    }
    rondo_status status = rondo_alloc_zero(sizeof **gossip, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_gossip *const made = memory;
    made->comm = comm;
    made->graph = graph;
    made->rank = rondo_comm_rank(comm);
    made->nranks = rondo_comm_nranks(comm);
    made->count = count;
    status = memory_get(made);
    if (status != RONDO_OK) {
        rondo_gossip_destroy(made);
        return status;
    }
    *gossip = made;
    return RONDO_OK;
}

/* Receives first: they give what neighbours send a place at once. */
static rondo_status
start_all(rondo_gossip *gossip, uint32_t nterms, const float *parameters)
{
    rondo_status status = RONDO_OK;
    float *place = gossip->received;

    for (uint32_t t = 0; t < nterms && status == RONDO_OK; t++) {
        if (gossip->terms[t].rank == gossip->rank) {
            gossip->vectors[t] = parameters;
            continue;
        }
        status = rondo_recv_start(gossip->comm, place, gossip->count, RONDO_FP32,
                                  gossip->terms[t].rank,
                                  &gossip->requests[gossip->nrequests]);
        gossip->nrequests += status == RONDO_OK ? 1 : 0;
        gossip->vectors[t] = place;
        place += gossip->count;
    }
    for (uint32_t t = 0; t < nterms && status == RONDO_OK; t++) {
        if (gossip->terms[t].rank == gossip->rank) {
            continue;
        }
        status = rondo_send_start(gossip->comm, parameters, gossip->count, RONDO_FP32,
                                  gossip->terms[t].rank,
                                  &gossip->requests[gossip->nrequests]);
        gossip->nrequests += status == RONDO_OK ? 1 : 0;
    }
    return status;
}

/* The first error of all that is in flight; nothing is in flight afterwards. */
static rondo_status
end_all(rondo_gossip *gossip)
{
    rondo_status result = RONDO_OK;

    for (uint32_t i = 0; i < gossip->nrequests; i++) {
        const rondo_status status =
            rondo_request_wait(gossip->requests[i], RONDO_WAIT_FOREVER);
        result = result == RONDO_OK ? status : result;
    }
    gossip->nrequests = 0;
    return result;
}

rondo_status
rondo_gossip_round(rondo_gossip *gossip, float *parameters)
{
    uint32_t nterms = 0;

    if (gossip == NULL || parameters == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_gossip_round: a pointer is null");
    }
    rondo_status status = rondo_gossip_terms(
        gossip->graph, gossip->nranks, gossip->rank, gossip->round, gossip->terms,
        neighbours_max(gossip->graph, gossip->nranks) + 1, &nterms);
    if (status != RONDO_OK) {
        return status;
    }
    status = start_all(gossip, nterms, parameters);
    if (status != RONDO_OK && gossip->nrequests != 0) {
        /* Neighbours have half a round from this rank: there is no way back. */
        (void)!rondo_comm_abort(gossip->comm);
    }
    const rondo_status ended = end_all(gossip);
    status = status == RONDO_OK ? ended : status;
    if (status != RONDO_OK) {
        return status;
    }
    rondo_gossip_mix(gossip->terms, nterms, gossip->vectors, gossip->count, parameters);
    gossip->round++;
    return RONDO_OK;
}

void
rondo_gossip_seek(rondo_gossip *gossip, uint64_t round)
{
    if (gossip != NULL) {
        gossip->round = round;
    }
}

void
rondo_gossip_destroy(rondo_gossip *gossip)
{
    if (gossip == NULL) {
        return;
    }
    rondo_free(gossip->received);
    rondo_free(gossip->terms);
    rondo_free(gossip->vectors);
    rondo_free(gossip->requests);
    rondo_free(gossip);
}
