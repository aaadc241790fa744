/* place.c - placements: their defaults, what is refused, and which part is whose. */
#include "server/place.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define CHANNEL 14U

void
rondo_placement_init(rondo_placement *placement)
{
    memset(placement, 0, sizeof *placement);
    placement->size = sizeof *placement;
    placement->nshards = 1;
    placement->nworkers = 1;
    placement->channel = CHANNEL;
}

static rondo_status
check_counts(const rondo_placement *placement)
{
    if (placement->size != sizeof *placement) {
        return rondo_error(RONDO_ERR_ARG,
                           "size of the placement is %zu; %zu is what "
                           "rondo_placement_init sets",
                           placement->size, sizeof *placement);
    }
    if (placement->owner == NULL || placement->rank_of == NULL) {
        return rondo_error(RONDO_ERR_ARG, "the placement's %s is null",
                           placement->owner == NULL ? "owner" : "rank_of");
    }
    if (placement->nshards == 0 || placement->nshards > placement->count ||
        placement->count > PTRDIFF_MAX / sizeof(float)) {
        return rondo_error(RONDO_ERR_ARG,
                           "the placement has %llu parameters in %u shards; at least 1 "
                           "shard is needed, and a parameter for each",
                           (unsigned long long)placement->count, placement->nshards);
    }
    if (placement->nworkers == 0) {
        return rondo_error(RONDO_ERR_ARG, "the placement has 0 workers; 1 is needed");
    }
    if (placement->channel >= RONDO_MESSAGE_CHANNELS) {
        return rondo_error(RONDO_ERR_ARG,
                           "the placement's channel is %u; allowed is 0 to %d",
                           placement->channel, RONDO_MESSAGE_CHANNELS - 1);
    }
    return RONDO_OK;
}

static bool
owns(const rondo_placement *placement, uint32_t rank)
{
    for (uint32_t i = 0; i < placement->nshards; i++) {
        if (placement->owner[i] == rank) {
            return true;
        }
    }
    return false;
}

static rondo_status
check_worker(const rondo_placement *placement, uint32_t worker, uint32_t nranks)
{
    const uint32_t rank = placement->rank_of[worker];

    if (rank == UINT32_MAX) {
        return RONDO_OK;
    }
    if (rank >= nranks) {
        return rondo_error(RONDO_ERR_ARG,
                           "worker %u is placed on rank %u; there are %u ranks", worker,
                           rank, nranks);
    }
    if (owns(placement, rank)) {
        return rondo_error(RONDO_ERR_ARG,
                           "worker %u is placed on rank %u, which is a server", worker,
                           rank);
    }
    for (uint32_t i = 0; i < worker; i++) {
        if (placement->rank_of[i] == rank) {
            return rondo_error(RONDO_ERR_ARG,
                               "workers %u and %u are both placed on rank %u", i,
                               worker, rank);
        }
    }
    return RONDO_OK;
}

static rondo_status
check_ranks(const rondo_placement *placement, uint32_t nranks)
{
    for (uint32_t i = 0; i < placement->nshards; i++) {
        if (placement->owner[i] >= nranks) {
            return rondo_error(RONDO_ERR_ARG,
                               "shard %u is placed on rank %u; there are %u ranks", i,
                               placement->owner[i], nranks);
        }
    }
    for (uint32_t i = 0; i < placement->nworkers; i++) {
        const rondo_status status = check_worker(placement, i, nranks);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

static rondo_status
copy_of(const uint32_t *ranks, uint32_t count, uint32_t **copy)
{
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(count * sizeof *ranks, &memory);

    if (status == RONDO_OK) {
        memcpy(memory, ranks, count * sizeof *ranks);
        *copy = memory;
    }
    return status;
}

rondo_status
rondo_place_make(const rondo_placement *placement, uint32_t rank, uint32_t nranks,
                 rondo_place *place)
{
    if (placement == NULL) {
        return rondo_error(RONDO_ERR_ARG, "the placement is null");
    }
    rondo_place made = {.rank = rank,
                        .count = placement->count,
                        .nshards = placement->nshards,
                        .nworkers = placement->nworkers,
                        .channel = placement->channel};
    rondo_status status = check_counts(placement);

    if (status == RONDO_OK) {
        status = check_ranks(placement, nranks);
    }
    if (status == RONDO_OK) {
        status = copy_of(placement->owner, placement->nshards, &made.owner);
    }
    if (status == RONDO_OK) {
        status = copy_of(placement->rank_of, placement->nworkers, &made.rank_of);
    }
    if (status != RONDO_OK) {
        rondo_place_end(&made);
        return status;
    }
    *place = made;
    return RONDO_OK;
}

rondo_status
rondo_place_same(const rondo_place *before, const rondo_place *after)
{
    if (before->count == after->count && before->nshards == after->nshards &&
        before->nworkers == after->nworkers) {
        return RONDO_OK;
    }
    return rondo_error(RONDO_ERR_ARG,
                       "the new placement has %llu parameters, %u shards and %u "
                       "workers; it was %llu, %u and %u",
                       (unsigned long long)after->count, after->nshards,
                       after->nworkers, (unsigned long long)before->count,
                       before->nshards, before->nworkers);
}

void
rondo_place_end(rondo_place *place)
{
    rondo_free(place->owner);
    rondo_free(place->rank_of);
    place->owner = NULL;
    place->rank_of = NULL;
}

/* Wide, since count * shard may not fit in 64 bits. */
uint64_t
rondo_place_first(const rondo_place *place, uint32_t shard)
{
    return (uint64_t)((unsigned __int128)place->count * shard / place->nshards);
}

uint64_t
rondo_place_count(const rondo_place *place, uint32_t shard)
{
    return rondo_place_first(place, shard + 1) - rondo_place_first(place, shard);
}
