/* tune.c - the built-in choice, by collective, bytes, ranks and cores. */
#include "tune/tune.h"

#include <string.h>

#include "base/error.h"

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

static uint32_t
algo_index(rondo_coll_kind kind, const char *shape)
{
    for (uint32_t i = 0; i < rondo_algo_count(); i++) {
        const rondo_algo *const algo = rondo_algo_at(i);

        if (algo->kind == kind && strcmp(algo->shape, shape) == 0) {
            return i;
        }
    }
    return RONDO_TUNE_FREE;
}

/* Write the shapes of `kind` as "ring, tree". */
static void
list_shapes(rondo_coll_kind kind, char *list, size_t list_bytes)
{
    list[0] = '\0';
    for (uint32_t i = 0; i < rondo_algo_count(); i++) {
        const rondo_algo *const algo = rondo_algo_at(i);

        if (algo->kind == kind) {
            (void)strncat(list, list[0] == '\0' ? "" : ", ",
                          list_bytes - strlen(list) - 1);
            (void)strncat(list, algo->shape, list_bytes - strlen(list) - 1);
        }
    }
}

static rondo_status
force_one(const char *word, rondo_tune_forced *forced)
{
    const char *const equals = strchr(word, '=');
    char list[256];

    if (equals == NULL) {
        return rondo_error(RONDO_ERR_ARG,
                           "RONDO_ALGO has \"%s\"; allowed is collective=algorithm",
                           word);
    }
    for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
        const char *const text = rondo_coll_text((rondo_coll_kind)kind);

        if (strlen(text) != (size_t)(equals - word) ||
            strncmp(word, text, strlen(text)) != 0) {
            continue;
        }
        forced->algo[kind] = algo_index((rondo_coll_kind)kind, equals + 1);
        if (forced->algo[kind] != RONDO_TUNE_FREE) {
            return RONDO_OK;
        }
        list_shapes((rondo_coll_kind)kind, list, sizeof list);
        return rondo_error(RONDO_ERR_ARG, "RONDO_ALGO asks for \"%s\"; %s has %s", word,
                           text, list);
    }
    return rondo_error(RONDO_ERR_ARG, "RONDO_ALGO names no collective in \"%s\"", word);
}

rondo_status
rondo_tune_forced_parse(const char *text, rondo_tune_forced *forced)
{
    char words[256];
    char *rest = NULL;
    rondo_tune_forced read;

    if (strlen(text) >= sizeof words) {
        return rondo_error(RONDO_ERR_ARG, "RONDO_ALGO is longer than %zu characters",
                           sizeof words - 1);
    }
    memcpy(words, text, strlen(text) + 1);
    for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
        read.algo[kind] = RONDO_TUNE_FREE;
    }
    for (char *word = strtok_r(words, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        const rondo_status status = force_one(word, &read);

        if (status != RONDO_OK) {
            return status;
        }
    }
    *forced = read;
    return RONDO_OK;
}

static uint64_t
vector_bytes(const rondo_tune_query *query)
{
    return query->coll->count * query->element_bytes;
}

static rondo_algo_index
all_reduce_algo(const rondo_tune_query *query)
{
    const uint64_t bytes = vector_bytes(query);
    const uint32_t nranks = query->coll->nranks;

    if (query->mapped && nranks > 1 && bytes >= MAPPED_BYTES) {
        return RONDO_ALGO_all_reduce_direct;
    }
    if (nranks <= 2
            ? bytes <= ONE_SHOT_BYTES_2_RANKS
            : nranks <= ONE_SHOT_RANKS && bytes * nranks <= ONE_SHOT_BYTES_TOTAL) {
        return RONDO_ALGO_all_reduce_one_shot;
    }
    return bytes <= HALVING_BYTES && nranks > 2 ? RONDO_ALGO_all_reduce_halving_doubling
                                                : RONDO_ALGO_all_reduce_ring;
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

    if (segment == 0) {
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

rondo_choice
rondo_tune_choose(const rondo_tune_query *query)
{
    const uint32_t forced = query->forced->algo[query->coll->kind];
    const bool possible = forced != RONDO_TUNE_FREE &&
                          (rondo_algo_at(forced)->needs == 0 || query->mapped);
    const uint32_t algo = possible ? forced : (uint32_t)usual_algo(query);

    return (rondo_choice){.algo = algo, .segment = segment_elements(query, algo)};
}

bool
rondo_tune_wants_mapped(const rondo_tune_query *query)
{
    rondo_tune_query mapped = *query;

    mapped.mapped = true;
    const rondo_choice choice = rondo_tune_choose(&mapped);
    return (rondo_algo_at(choice.algo)->needs & RONDO_NEEDS_MAPPED) != 0;
}
