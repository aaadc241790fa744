/*
 * rondo/rondo.h - everything. Read in this order:
 *
 *   status.h   what calls return          comm.h     ranks find each other
 *   types.h    elements and operators     coll.h     all_reduce and its siblings
 *   mem.h      buffers peers can map      message.h  active messages
 *   sync.h     gradients, bucket by bucket, while backward runs
 *   server.h   a parameter server's shards  client.h   servers and workers
 *   average.h  gossip, local steps: parameters are averaged instead
 *
 * First program: examples/all_reduce.c. Caveats worth knowing before the first run:
 *   - all ranks make the same collective calls in the same order;
 *   - after an error of the broken group only shrink and destroy are left;
 *   - nothing moves outside a call: test, wait or rondo_comm_progress move what is
 *     in flight.
 */
#ifndef RONDO_RONDO_H
#define RONDO_RONDO_H

#include <rondo/average.h>
#include <rondo/client.h>
#include <rondo/coll.h>
#include <rondo/comm.h>
#include <rondo/mem.h>
#include <rondo/message.h>
#include <rondo/server.h>
#include <rondo/status.h>
#include <rondo/sync.h>
#include <rondo/types.h>
#include <rondo/version.h>

#endif /* RONDO_RONDO_H */
