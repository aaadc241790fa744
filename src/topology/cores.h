/* cores.h - how many cores ranks share, and whether a rank that waits may poll. */
#ifndef TOPOLOGY_CORES_H
#define TOPOLOGY_CORES_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/status.h>

#include "base/cpu.h"

/* What ranks of one host may use together; starts as {0}. */
typedef struct rondo_cores {
    uint64_t cpus[RONDO_CPUS_MAX / 64]; /* all they may run on */
    uint32_t quota;                     /* the smallest of them; 0: no rank yet */
} rondo_cores;

/* rondo_cores_add - one rank more: its affinity mask and its quota. */
void
rondo_cores_add(rondo_cores *cores, const uint64_t mask[RONDO_CPUS_MAX / 64],
                uint32_t quota);

/* rondo_cores_count - cores the ranks share: all they may run on, but no more than
 * their smallest quota; at least 1. */
uint32_t
rondo_cores_count(const rondo_cores *cores);

/* rondo_cores_spins - polls before a waiting rank yields, `nranks` being those on this
 * host: none where they share cores, few where others are on other hosts, RONDO_SPIN
 * where it is given. RONDO_ERR_ARG: RONDO_SPIN cannot be read. */
RONDO_MUST_USE rondo_status
rondo_cores_spins(uint32_t nranks, uint32_t cores, bool network, uint32_t *spins);

#endif /* TOPOLOGY_CORES_H */
