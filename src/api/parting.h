/* parting.h - one call of rondo_comm_shrink, and how its ranks agree who goes on. */
#ifndef API_PARTING_H
#define API_PARTING_H

#include "api/comm.h"

/* Attempts whose shared memory may come too late. */
#define RONDO_PARTING_MISSED_MAX 8

typedef struct rondo_parting {
    rondo_comm *comm;
    uint64_t began_ns;
    uint64_t deadline_ns;
    bool decides; /* my board is that of rank 0's host */
    uint32_t attempt;
    uint64_t *bits; /* of the members */
    uint32_t *members;
    uint32_t nmembers;
    rondo_comm *made;
    rondo_status why; /* the attempt failed for me; RONDO_OK: it did not */
    char text[RONDO_ERROR_TEXT_MAX];
    rondo_segment_spec missed[RONDO_PARTING_MISSED_MAX];
    uint32_t nmissed;
} rondo_parting;

/* rondo_parting_agree - take part in attempts until it is known who goes on: attempt,
 * bits and members are set then. RONDO_ERR_TIMEOUT names who has not come;
 * RONDO_ERR_PEER: other hosts cannot be reached; RONDO_ERR_STATE: without me. */
RONDO_MUST_USE rondo_status
rondo_parting_agree(rondo_parting *self);

/* rondo_parting_quit - I do not take part in this attempt any more. */
void
rondo_parting_quit(rondo_parting *self);

/* rondo_parting_way - RONDO_ERR_PEER: what other hosts say cannot come any more. */
RONDO_MUST_USE rondo_status
rondo_parting_way(const rondo_parting *self);

/* rondo_parting_absent - a rank that is dead, or has destroyed its communicator. */
bool
rondo_parting_absent(const rondo_comm *comm, uint32_t rank);

/* rondo_parting_pause - until something may have happened, 1 ms at most.
 * rondo_parting_waited_s - since the call, in seconds. */
void
rondo_parting_pause(const rondo_parting *self);
double
rondo_parting_waited_s(const rondo_parting *self);

#endif /* API_PARTING_H */
