/* onward.h - a communicator that was shrunk works like any other. */
#ifndef LIB_ONWARD_H
#define LIB_ONWARD_H

#include "lib/ranks.h"

/* onward_works - collectives, sends and receives, registered memory and parts of `comm`
 * do what they should among the ranks of `origin` (by rank of `comm`: its rank_self's);
 * false and noted otherwise. */
bool
onward_works(rank_self *self, rondo_comm *comm, const uint32_t *origin,
             uint32_t norigin);

/* onward_among - the status of the first call that fails; RONDO_OK: all as it should
 * be. For communicators that may lose a rank meanwhile. */
RONDO_MUST_USE rondo_status
onward_among(rank_self *self, rondo_comm *comm);

#endif /* LIB_ONWARD_H */
