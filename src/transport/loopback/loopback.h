/*
 * loopback.h - many ranks in one thread, for tests: deliveries in an order that a seed
 * decides, pieces of varied size, and, if wanted, no buffering at all.
 */
#ifndef TRANSPORT_LOOPBACK_LOOPBACK_H
#define TRANSPORT_LOOPBACK_LOOPBACK_H

#include "transport/transport.h"

typedef struct rondo_loopback rondo_loopback;

typedef struct rondo_loopback_config {
    uint32_t nranks;
    uint64_t seed;         /* decides which calls say RONDO_BUSY and where pieces end */
    uint32_t busy_percent; /* of calls that could have done something, 0 to 95 */
    uint64_t piece_bytes;  /* longest piece; 0: whole messages */
    bool unbuffered;       /* a send is taken only as its receiver consumes it */
} rondo_loopback_config;

/* rondo_loopback_create - the world; its transports live until it is destroyed. */
RONDO_MUST_USE rondo_status
rondo_loopback_create(const rondo_loopback_config *config, rondo_loopback **world);

/* rondo_loopback_at - the instance of `rank`; owned by the world. */
rondo_transport *
rondo_loopback_at(rondo_loopback *world, uint32_t rank);

/* rondo_loopback_idle - nothing sent is waiting to be consumed. */
bool
rondo_loopback_idle(const rondo_loopback *world);

/* rondo_loopback_destroy - null is allowed. */
void
rondo_loopback_destroy(rondo_loopback *world);

#endif /* TRANSPORT_LOOPBACK_LOOPBACK_H */
