/* world.h - what the loopback is made of; nobody outside this folder includes it. */
#ifndef TRANSPORT_LOOPBACK_WORLD_H
#define TRANSPORT_LOOPBACK_WORLD_H

#include "transport/framing.h"
#include "transport/loopback/loopback.h"

/* One piece under way, in memory of its own size so that overruns are found. */
struct rondo_loopback_piece {
    struct rondo_loopback_piece *next;
    uint64_t token;
    uint64_t bytes;
    bool last;
    unsigned char *data; /* of any alignment, inside this allocation */
};

/* Traffic of one lane from one rank to another. */
struct rondo_loopback_channel {
    struct rondo_loopback_piece *head;
    struct rondo_loopback_piece *tail;
    uint32_t pieces;
    bool shown;  /* the receiver has looked at the head: it must stay */
    bool midway; /* the message being taken has more to come */

    /* Unbuffered: the sender's own memory while a message waits for its receiver. */
    const rondo_outgoing *posted;
    rondo_outgoing offer; /* what was posted; done_bytes: consumed */
    uint64_t shown_bytes; /* of the piece shown */
    bool offer_taken;     /* all consumed; its sender does not know yet */
};

struct rondo_loopback_endpoint {
    rondo_transport transport; /* first: an endpoint is a transport */
    rondo_loopback *world;
    uint32_t rank;
    uint64_t signal;
    uint64_t *seen; /* by peer: its signal counter as this rank has seen it */
    rondo_framing *framing;
    rondo_transport_counters counters;
};

struct rondo_loopback {
    rondo_loopback_config config;
    uint64_t random;
    struct rondo_loopback_channel *channels; /* by sender, receiver, lane */
    uint64_t *seen;                          /* of all endpoints */
    struct rondo_loopback_endpoint endpoints[];
};

static inline struct rondo_loopback_endpoint *
rondo_loopback_endpoint_of(rondo_transport *transport)
{
    return (struct rondo_loopback_endpoint *)transport;
}

/* rondo_loopback_put_off - draw whether a call that could do something does nothing. */
bool
rondo_loopback_put_off(rondo_loopback *world);

/* channel.c: the operations of the same names. */
rondo_status
rondo_loopback_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
                    rondo_outgoing *message);
rondo_status
rondo_loopback_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
                    rondo_incoming *piece);
void
rondo_loopback_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane);

#endif /* TRANSPORT_LOOPBACK_WORLD_H */
