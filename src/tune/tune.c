/* tune.c - the built-in choice, by collective, bytes, ranks and cores. */
#include "tune/tune.h"

#include "tune/hosts.h"

/* One-shot sends the whole vector to everyone: it wins while a message is cheaper than
 * a turn, which depends on how much all of them together have to copy. */
#define ONE_SHOT_BYTES_2_RANKS (UINT64_C(48) << 10)
#define ONE_SHOT_BYTES_TOTAL   (UINT64_C(32) << 10)
#define ONE_SHOT_RANKS         16

/* Below this the recursive halving's few turns win over the ring's few bytes. */
#define HALVING_BYTES (UINT64_C(512) << 10)

/* A mapped run costs two signals of all ranks. */
#define MAPPED_BYTES (UINT64_C(16) << 10)

/* Segments keep what one phase leaves in cache for the next. */
#define SEGMENT_BYTES (UINT64_C(1) << 20)
#define SEGMENTS_MAX  UINT64_C(4096)

/* Pieces of the mapped run: input of all ranks and the sum stay in the first caches. */
#define MAPPED_PIECE_BYTES (UINT64_C(16) << 10)

static uint64_t
vector_bytes(const rondo_tune_query *query)
{
    return query->coll->count * query->element_bytes;
}

static uint32_t
hosts_of(const rondo_tune_query *query)
{
    return rondo_levels_hosts(query->coll->levels);
}

/* The row of the table that is a shape on all ranks alike. */
static rondo_algo_index
algo_of(rondo_shape shape)
{
    switch (shape) {
    case RONDO_SHAPE_ONE_SHOT:
        return RONDO_ALGO_all_reduce_one_shot;
    case RONDO_SHAPE_TREE:
        return RONDO_ALGO_all_reduce_tree;
    case RONDO_SHAPE_HALVING_DOUBLING:
        return RONDO_ALGO_all_reduce_halving_doubling;
    default:
        return RONDO_ALGO_all_reduce_ring;
    }
}

/* On one host: how all ranks work together. */
static rondo_shape
flat_shape(uint64_t bytes, uint32_t nranks)
{
    if (nranks <= 2
            ? bytes <= ONE_SHOT_BYTES_2_RANKS
            : nranks <= ONE_SHOT_RANKS && bytes * nranks <= ONE_SHOT_BYTES_TOTAL) {
        return RONDO_SHAPE_ONE_SHOT;
    }
    return bytes <= HALVING_BYTES && nranks > 2 ? RONDO_SHAPE_HALVING_DOUBLING
                                                : RONDO_SHAPE_RING;
}

static rondo_shape
outer_shape(const rondo_tune_query *query)
{
    const uint64_t bytes = vector_bytes(query);
    const uint32_t hosts = hosts_of(query);

    return hosts > 1 ? rondo_hosts_outer(bytes, hosts)
                     : flat_shape(bytes, query->coll->nranks);
}

static rondo_algo_index
all_reduce_algo(const rondo_tune_query *query)
{
    const uint64_t bytes = vector_bytes(query);
    const uint32_t nranks = query->coll->nranks;
    const uint32_t hosts = hosts_of(query);

    if (hosts > 1 && hosts < nranks) {
        return RONDO_ALGO_all_reduce_levels;
    }
    if (query->mapped && hosts == 1 && nranks > 1 && bytes >= MAPPED_BYTES) {
        return RONDO_ALGO_all_reduce_direct;
    }
    return algo_of(outer_shape(query));
}

static rondo_algo_index
usual_algo(const rondo_tune_query *query)
{
    switch (query->coll->kind) {
    case RONDO_COLL_ALL_REDUCE:
        return all_reduce_algo(query);
    case RONDO_COLL_REDUCE_SCATTER:
        return RONDO_ALGO_reduce_scatter_ring;
    case RONDO_COLL_ALL_GATHER:
        return RONDO_ALGO_all_gather_ring;
    case RONDO_COLL_BROADCAST:
        return RONDO_ALGO_broadcast_tree;
    case RONDO_COLL_REDUCE:
        return RONDO_ALGO_reduce_tree;
    case RONDO_COLL_BARRIER:
    case RONDO_COLLS:
        break;
    }
    return RONDO_ALGO_barrier_dissemination;
}

static uint64_t
segment_elements(const rondo_tune_query *query, uint32_t algo)
{
    const uint64_t bytes = vector_bytes(query);
    const bool direct = algo == RONDO_ALGO_all_reduce_direct;
    uint64_t segment = query->segment_bytes;

    if (segment == 0 && hosts_of(query) > 1) {
        segment = rondo_hosts_segment_bytes(bytes);
    } else if (segment == 0) {
        segment = direct ? MAPPED_PIECE_BYTES : SEGMENT_BYTES;
    }
    /* Vectors that fit into one segment share a plan whatever the setting. */
    if (bytes <= segment) {
        return query->coll->count;
    }
    if (bytes / segment > SEGMENTS_MAX) {
        segment = bytes / SEGMENTS_MAX;
    }
    const uint64_t elements = segment / query->element_bytes;
    return elements == 0 ? 1 : elements;
}

/* Mapped memory ends at the host. */
static bool
is_possible(const rondo_tune_query *query, uint32_t algo)
{
    return algo != RONDO_TUNE_FREE &&
           (rondo_algo_at(algo)->needs == 0 || (query->mapped && hosts_of(query) == 1));
}

rondo_choice
rondo_tune_choose(const rondo_tune_query *query)
{
    const rondo_tune_forced *const forced = query->forced;
    const uint32_t wish = forced->algo[query->coll->kind];
    const uint32_t algo = is_possible(query, wish) ? wish : (uint32_t)usual_algo(query);
    rondo_choice choice = {.algo = algo, .segment = segment_elements(query, algo)};

    /* Elsewhere shapes mean nothing and stay 0, so that plans are shared. */
    if (algo == RONDO_ALGO_all_reduce_levels) {
        choice.inner = forced->shapes ? forced->inner
                                      : rondo_hosts_inner(vector_bytes(query),
                                                          query->coll->levels);
        choice.outer = forced->shapes ? forced->outer : outer_shape(query);
    }
    return choice;
}

rondo_coll
rondo_tune_coll(const rondo_coll *coll, rondo_choice choice)
{
    rondo_coll told = *coll;

    told.segment = choice.segment;
    told.inner = choice.inner;
    told.outer = choice.outer;
    return told;
}

bool
rondo_tune_wants_mapped(const rondo_tune_query *query)
{
    rondo_tune_query mapped = *query;

    mapped.mapped = true;
    const rondo_choice choice = rondo_tune_choose(&mapped);
    return (rondo_algo_at(choice.algo)->needs & RONDO_NEEDS_MAPPED) != 0;
}
