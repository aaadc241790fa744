/*
 * fault.h - wraps any transport and makes it misbehave by a seeded plan, for tests:
 * calls that are put off, and peers that die after a number of calls.
 */
#ifndef TRANSPORT_FAULT_FAULT_H
#define TRANSPORT_FAULT_FAULT_H

#include "transport/transport.h"

/* For rondo_fault_plan.kill_peer: nobody dies. */
#define RONDO_FAULT_NOBODY UINT32_MAX

typedef struct rondo_fault_plan {
    uint64_t seed;          /* decides which calls are put off */
    uint32_t delay_percent; /* of send, peek and am calls that answer RONDO_BUSY */
    uint32_t delay_calls; /* how many calls in a row on that channel then do, from 1 */
    uint32_t kill_peer;   /* from call `kill_at` on, calls to it say RONDO_ERR_PEER */
    uint64_t kill_at;     /* counts all calls of the instance, from 1 */
} rondo_fault_plan;

/* rondo_fault_create - takes over `inner`: destroying the wrapper destroys it. On an
 * error `inner` stays the caller's. */
RONDO_MUST_USE rondo_status
rondo_fault_create(const rondo_fault_plan *plan, rondo_transport *inner,
                   uint32_t nranks, rondo_transport **transport);

#endif /* TRANSPORT_FAULT_FAULT_H */
