/* bags.h - sets of ranks, each kept once, named by a number. */
#ifndef VERIFY_BAGS_H
#define VERIFY_BAGS_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/status.h>

/* Bag 0: nothing. Also what a union of bags that share a rank comes to. */
#define RONDO_BAG_NONE 0

typedef struct rondo_bags {
    uint32_t nranks;
    uint32_t words;     /* of one bag */
    uint64_t *bits;     /* `words` words a bag */
    uint64_t nbags;     /* bags there are */
    uint64_t bits_room; /* words that fit into bits */
    uint64_t *slots;    /* hash table: 1 + bag, or 0 */
    uint64_t nslots;    /* a power of two, at least twice the bags */
    uint64_t all;       /* the bag of all ranks */
} rondo_bags;

/* rondo_bags_make - with a bag for each rank alone and one for all. */
RONDO_MUST_USE rondo_status
rondo_bags_make(uint32_t nranks, rondo_bags *bags);

void
rondo_bags_clear(rondo_bags *bags);

/* rondo_bags_of - the bag of `rank` alone. */
static inline uint64_t
rondo_bags_of(uint32_t rank)
{
    return (uint64_t)rank + 1;
}

/* rondo_bags_union - the bag of both, or RONDO_BAG_NONE if they share a rank. */
RONDO_MUST_USE rondo_status
rondo_bags_union(rondo_bags *bags, uint64_t one, uint64_t other, uint64_t *both);

/* rondo_bags_shared - the lowest rank that is in both bags, which share one. */
uint32_t
rondo_bags_shared(const rondo_bags *bags, uint64_t one, uint64_t other);

/* rondo_bags_missing - the lowest rank that is not in `bag`, which is not all. */
uint32_t
rondo_bags_missing(const rondo_bags *bags, uint64_t bag);

#endif /* VERIFY_BAGS_H */
