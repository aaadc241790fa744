/* request.h - an operation in flight: from the call to its final status. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "api/comm.h"
#include "exec/kernels.h"

/* How far a collective has come. */
typedef enum rondo_stage {
    RONDO_STAGE_QUEUED, /* behind others of its communicator */
    RONDO_STAGE_CHECK,  /* comparing signatures first (RONDO_CHECK=1) */
    RONDO_STAGE_VOTE,   /* asking whether all ranks have mapped buffers */
    RONDO_STAGE_RUN,    /* its schedule runs */
    RONDO_STAGE_PAIR,   /* a send or a receive */
    RONDO_STAGE_DONE
} rondo_stage;

struct rondo_request {
    rondo_comm *comm;
    rondo_request *next;        /* in its queue, or among the spare ones */
    rondo_request *made_before; /* chain of all requests of the communicator */
    rondo_stage stage;
    rondo_status status; /* valid once DONE */
    rondo_coll coll;     /* collectives: what was called */
    rondo_dtype dtype;
    rondo_op op;
    const void *in;
    void *out;
    uint64_t sequence; /* collectives: number on this communicator, from 1 */
    rondo_signature signature;
    rondo_plan *plan;  /* while it runs */
    rondo_offer offer; /* mine, during the vote */
    uint64_t deadline_ns;
    uint64_t started_ns;  /* 0: nobody has had to wait yet */
    uint64_t compared_ns; /* when signatures were last compared */
    uint64_t glanced_ns;  /* when a poller last looked into why */
    bool warned;          /* the log has been told that it takes long */

    uint32_t peer;           /* send, recv */
    bool sending;            /* send, recv */
    uint64_t bytes;          /* send, recv */
    uint64_t token;          /* send, recv */
    rondo_outgoing outgoing; /* send */
    uint64_t received_bytes; /* recv */
};

/* rondo_request_take - a request of `comm` with everything zero. RONDO_ERR_MEMORY. */
RONDO_MUST_USE rondo_status
rondo_request_take(rondo_comm *comm, rondo_request **request);

/* rondo_request_give - back to the communicator's spare ones. */
void
rondo_request_give(rondo_request *request);

/* rondo_requests_submit - give it its place in the order and begin what can begin. */
void
rondo_request_submit(rondo_request *request);

/* rondo_requests_progress - move everything in flight on `comm` as far as it goes. */
void
rondo_requests_progress(rondo_comm *comm);

/* rondo_request_finish - it is over with `status`. */
void
rondo_request_finish(rondo_request *request, rondo_status status);

/* rondo_request_until - make progress until `request` is done or the moment has
 * come. */
void
rondo_request_until(rondo_request *request, uint64_t moment_ns);

/* rondo_requests_fail - everything in flight ends with the communicator's status. */
void
rondo_requests_fail(rondo_comm *comm);

/* Sends and receives. */
void
rondo_pair_submit(rondo_request *request);
void
rondo_pairs_progress(rondo_comm *comm);

/* Looking into why it takes so long: deadline, mismatch, peers that left. Breaks the
 * communicator when there is a reason. Called at most every millisecond or so. */
void
rondo_request_inspect(rondo_request *request, uint64_t now_ns);

/* rondo_comm_silent - ask the processes of all ranks; the first rank whose process does
 * not answer, UINT32_MAX: all do. Takes a second at most. */
uint32_t
rondo_comm_silent(const rondo_comm *comm);

/* rondo_request_glance - the same for callers that poll instead of waiting: looks at
 * the clock and inspects when it is time. Returns the communicator's status. */
RONDO_MUST_USE rondo_status
rondo_request_glance(rondo_request *request);

/* rondo_request_mismatch - a message of another call came from the peer in
 * `standing`. */
rondo_status
rondo_request_mismatch(rondo_request *request);

/* rondo_request_text - "all_reduce #57" or "send to rank 3", for sentences. */
void
rondo_request_text(const rondo_request *request, char *text, size_t text_bytes);

/* Mapped buffers. rondo_offer_find - where IN and OUT of the call lie. */
void
rondo_offer_find(rondo_comm *comm, const rondo_request *request, rondo_offer *offer);
/* rondo_offers_resolve - fill comm->peer_in and peer_out; RONDO_BUSY while some rank
 * has not published its offer, RONDO_ERR_UNSUPPORTED if one is not mapped. */
RONDO_MUST_USE rondo_status
rondo_offers_resolve(rondo_comm *comm, const rondo_request *request);

/* rondo_messages_poll - deliver active messages that have arrived. */
RONDO_MUST_USE rondo_status
rondo_messages_poll(rondo_comm *comm);

#endif /* API_REQUEST_H */
