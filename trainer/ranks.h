/* ranks.h - the other ranks of this run: who we are, and the few things all ranks do
 * together outside the exchange of gradients. Every call is made by all ranks. */
#ifndef TRAINER_RANKS_H
#define TRAINER_RANKS_H

#include "problem.h"

#include <rondo/rondo.h>
#include <stdint.h>

typedef struct ranks {
    rondo_comm *comm;
    uint32_t rank;
    uint32_t count;
} ranks;

/* By the environment (RANK, WORLD_SIZE, ... as rondo-run and torchrun set them);
 * without it we are the only rank. */
TRAINER_MUST_USE bool
ranks_join(ranks *all, problem *why);

/* For the end of a run that all ranks reach; for one that this rank alone ends. */
void
ranks_leave(ranks *all);
void
ranks_abandon(ranks *all);

/* Rank 0's vector, to all. */
TRAINER_MUST_USE bool
ranks_share(const ranks *all, float *vector, uint64_t count, problem *why);

/* Rank `root`'s bytes, to all. */
TRAINER_MUST_USE bool
ranks_adopt(const ranks *all, uint32_t root, void *bytes, uint64_t count, problem *why);

/* `bytes` bytes of each rank, in rank order, to `gathered` of every rank. */
TRAINER_MUST_USE bool
ranks_gather(const ranks *all, const void *mine, uint64_t bytes, void *gathered,
             problem *why);

TRAINER_MUST_USE bool
ranks_sum(const ranks *all, uint64_t *value, problem *why);
TRAINER_MUST_USE bool
ranks_sum_all(const ranks *all, uint64_t *values, uint64_t count, problem *why);
TRAINER_MUST_USE bool
ranks_largest(const ranks *all, double *value, problem *why);

/* Passes on what the library says about a failed call; always false. */
bool
ranks_fail(const ranks *all, rondo_status status, const char *what, problem *why);

#endif
