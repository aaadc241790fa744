/* place.h - a placement, checked and copied: which rank holds which part of the
 * parameters, and which rank is which worker. */
#ifndef SERVER_PLACE_H
#define SERVER_PLACE_H

#include <rondo/client.h>

typedef struct rondo_place {
    uint32_t rank; /* the own one */
    uint64_t count;
    uint32_t nshards;
    uint32_t nworkers;
    uint32_t channel;
    uint32_t *owner;   /* by shard */
    uint32_t *rank_of; /* by worker; UINT32_MAX: it is gone */
} rondo_place;

/* rondo_place_make - a copy of `placement` for `rank` of `nranks`; ended by
 * rondo_place_end. RONDO_ERR_ARG: it makes no sense. RONDO_ERR_MEMORY. */
RONDO_MUST_USE rondo_status
rondo_place_make(const rondo_placement *placement, uint32_t rank, uint32_t nranks,
                 rondo_place *place);

/* rondo_place_same - both have the same counts of parameters, shards and workers. */
RONDO_MUST_USE rondo_status
rondo_place_same(const rondo_place *before, const rondo_place *after);

/* rondo_place_end - give its memory back; zeroes are allowed. */
void
rondo_place_end(rondo_place *place);

/* rondo_place_first, rondo_place_count - the part of the parameters that is `shard`. */
uint64_t
rondo_place_first(const rondo_place *place, uint32_t shard);
uint64_t
rondo_place_count(const rondo_place *place, uint32_t shard);

#endif /* SERVER_PLACE_H */
