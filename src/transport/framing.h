/*
 * framing.h - active messages over a transport's MESSAGE lane: shared by all transports
 * that own ordinary channels.
 *
 * The description of a message (channel, bytes of header, bytes of payload) is packed
 * into the token, which every piece carries; the bytes are header and payload, one
 * behind the other. So a small message costs no more than its bytes.
 *
 * The transport's send on this lane must copy what it takes: nothing of the caller's
 * memory may be looked at after it has returned. What finds no room is kept in one
 * buffer per peer, one message at most, so memory is bounded however slow a peer is.
 */
#ifndef TRANSPORT_FRAMING_H
#define TRANSPORT_FRAMING_H

#include "transport/transport.h"

typedef struct rondo_framing rondo_framing;

/* rondo_framing_create - for `nranks` peers of `transport`, which must outlive it. */
RONDO_MUST_USE rondo_status
rondo_framing_create(rondo_transport *transport, uint32_t nranks,
                     rondo_framing **framing);

/* rondo_framing_destroy - null is allowed; what was not sent yet is dropped. */
void
rondo_framing_destroy(rondo_framing *framing);

/* rondo_framing_send - the transport's am_send. RONDO_ERR_ARG when too long. */
RONDO_MUST_USE rondo_status
rondo_framing_send(rondo_framing *framing, uint32_t peer, const rondo_am *message);

/* rondo_framing_poll - the transport's am_poll. Takes a bounded number of pieces, so
 * that a fast sender cannot keep the caller from its deadlines; and stops at a message
 * that nobody takes. From inside the function, polling the same peer does nothing. */
RONDO_MUST_USE rondo_status
rondo_framing_poll(rondo_framing *framing, uint32_t peer, rondo_am_function function,
                   void *user);

/* rondo_framing_flush - send what had found no room, as far as there is room now. */
RONDO_MUST_USE rondo_status
rondo_framing_flush(rondo_framing *framing);

/* rondo_framing_idle - nothing is kept for later. */
bool
rondo_framing_idle(const rondo_framing *framing);

#endif /* TRANSPORT_FRAMING_H */
