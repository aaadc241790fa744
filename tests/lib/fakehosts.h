/*
 * fakehosts.h - ranks over fake wires: a "process" of its own each, or several in one;
 * what the tests of the transport between hosts set up first.
 */
#ifndef LIB_FAKEHOSTS_H
#define LIB_FAKEHOSTS_H

#include <stdatomic.h>

#include "lib/fakewire.h"
#include "transport/ucx/ucx.h"

typedef struct fakehosts {
    fakewire_plan wire;
    uint32_t nwires;
    uint32_t nranks; /* rank r is on wire r % nwires */
    uint64_t comm;
    uint64_t window_bytes;
    bool unknown; /* where peers are is not known yet */

    rondo_ucx *ucx[FAKEWIRES_MAX];
    rondo_transport *ranks[FAKEWIRES_MAX];
    _Atomic uint64_t wakes; /* of all ranks */
} fakehosts;

/* fakehosts_open - the wires; the caller has set the first group. */
void
fakehosts_open(fakehosts *hosts);

/* fakehosts_rank - an instance of `rank`, of communicator `comm`. */
rondo_transport *
fakehosts_rank(fakehosts *hosts, uint64_t comm, uint32_t rank);

/* fakehosts_make - the wires and all ranks of hosts->comm. */
void
fakehosts_make(fakehosts *hosts);

/* fakehosts_end - destroys and closes all; fails if anything is left behind. */
void
fakehosts_end(fakehosts *hosts);

#endif /* LIB_FAKEHOSTS_H */
