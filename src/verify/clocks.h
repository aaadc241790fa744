/* clocks.h - what each event knows of the other ranks, by messages and signals. */
#ifndef VERIFY_CLOCKS_H
#define VERIFY_CLOCKS_H

#include "verify/proof.h"

/* For every event and rank: how many of that rank's events, from its start on, are
 * known to be done. Null where nobody asks: without mapped memory, and no barrier. */
typedef struct rondo_clocks {
    uint32_t *known;
} rondo_clocks;

/* rondo_clocks_make - in the proof's order. A signal tells of all before it; a message,
 * with the needs of one step behind it, of no more than that its rank has begun. */
RONDO_MUST_USE rondo_status
rondo_clocks_make(const rondo_proof *proof, rondo_clocks *clocks);

void
rondo_clocks_clear(rondo_clocks *clocks);

/* rondo_clocks_know - whether `event` knows that `earlier`, of another rank, is
 * done. */
bool
rondo_clocks_know(const rondo_proof *proof, const rondo_clocks *clocks, uint64_t event,
                  uint64_t earlier);

#endif /* VERIFY_CLOCKS_H */
