/*
 * transport.h - how bytes, messages and signals get from one rank to another: one table
 * of functions, implemented by loopback, shm, ucx (between hosts) and fault.
 *
 * An instance belongs to one rank of one communicator and is used by one thread at a
 * time; it shares no lock with any other, so communicators never wait for each other.
 * Which instance serves which peer is decided per pair (a table of routes).
 *
 * A channel is (peer, lane), FIFO in each direction. A message is a token and bytes; it
 * travels in pieces, so that a receiver can reduce a piece straight out of the
 * transport's memory while the next one is written. Nothing here blocks.
 */
#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

/* Traffic of different lanes between two ranks is independent. */
typedef enum rondo_lane {
    RONDO_LANE_COLL,    /* messages of schedules */
    RONDO_LANE_PAIR,    /* rondo_send and rondo_recv */
    RONDO_LANE_MESSAGE, /* active messages */
    RONDO_LANES
} rondo_lane;

/* A message on its way out. The caller sets all fields, `done_bytes` to 0, and keeps it
 * and the data alive until send returns RONDO_OK. */
typedef struct rondo_outgoing {
    const void *data;    /* may be null when bytes is 0 */
    uint64_t bytes;      /* of the whole message */
    uint64_t token;      /* handed to the receiver unchanged */
    uint64_t done_bytes; /* the transport's: how much it has taken */
} rondo_outgoing;

/* The next piece of the message at the head of a channel. All pieces but the last are
 * multiples of 64 bytes; `data` may have any alignment. */
typedef struct rondo_incoming {
    const void *data; /* valid until consume */
    uint64_t bytes;   /* of this piece; 0 only for an empty message */
    uint64_t token;   /* the sender's */
    bool last;        /* the message ends with this piece */
} rondo_incoming;

typedef struct rondo_transport rondo_transport;

/* Handles one active message; the memory is valid during the call only. False: not
 * taken (nobody listens on that channel yet); it stays at the head and is offered again
 * at the next am_poll, and nothing behind it from that peer is delivered before it. */
typedef bool (*rondo_am_function)(uint32_t from, uint32_t channel, const void *header,
                                  size_t header_bytes, const void *payload,
                                  size_t payload_bytes, void *user);

/* One active message. */
typedef struct rondo_am {
    uint32_t channel;    /* 0 .. RONDO_MESSAGE_CHANNELS - 1 */
    const void *header;  /* may be null when header_bytes is 0 */
    size_t header_bytes; /* header and payload: RONDO_MESSAGE_BYTES_MAX at most */
    const void *payload; /* may be null when payload_bytes is 0 */
    size_t payload_bytes;
} rondo_am;

/* What an instance has moved. */
typedef struct rondo_transport_counters {
    uint64_t sent_bytes;     /* payload taken from senders */
    uint64_t received_bytes; /* payload consumed by receivers */
    uint64_t messages;       /* messages sent */
} rondo_transport_counters;

typedef struct rondo_transport_ops {
    const char *name; /* "shm" */

    /* send - take what there is room for. RONDO_OK: all taken, the data may change;
     * RONDO_BUSY: call again; RONDO_ERR_PEER, _MEMORY, _WIRE. Two messages on one
     * channel: the second is not begun before the first is taken. */
    rondo_status (*send)(rondo_transport *transport, uint32_t peer, rondo_lane lane,
                         rondo_outgoing *message);

    /* peek - look at the next piece without taking it. RONDO_BUSY: nothing there. */
    rondo_status (*peek)(rondo_transport *transport, uint32_t peer, rondo_lane lane,
                         rondo_incoming *piece);

    /* consume - the piece last peeked on this channel is done with. */
    void (*consume)(rondo_transport *transport, uint32_t peer, rondo_lane lane);

    /* progress - pump what needs pumping. Null when nothing does. */
    rondo_status (*progress)(rondo_transport *transport);

    /* signal - set my signal counter (never decreases) to `value`; all earlier stores
     * of this thread are visible to whoever sees it. */
    void (*signal)(rondo_transport *transport, uint64_t value);

    /* signalled - the counter of `peer`, with the matching acquire. */
    uint64_t (*signalled)(rondo_transport *transport, uint32_t peer);

    /* am_send - RONDO_BUSY when the peer's buffer is full; copies header and
     * payload. */
    rondo_status (*am_send)(rondo_transport *transport, uint32_t peer,
                            const rondo_am *message);

    /* am_poll - hand every whole message that has arrived from `peer` to `function`.
     * RONDO_OK also when there was none; RONDO_ERR_WIRE for a malformed one. */
    rondo_status (*am_poll)(rondo_transport *transport, uint32_t peer,
                            rondo_am_function function, void *user);

    /* The waiting protocol: ticket = arm(); poll everything once more; sleep(ticket)
     * if still nothing. Returns when anything may have arrived for this rank, when
     * `ring`ed, or after `wait_ns`. Wake-ups may be spurious. Arm again after a sleep
     * that brought nothing; disarm only when there is work: who stays armed sleeps
     * longer. */
    uint32_t (*arm)(rondo_transport *transport);
    void (*sleep)(rondo_transport *transport, uint32_t ticket, uint64_t wait_ns);
    void (*disarm)(rondo_transport *transport);

    /* ring - wake `peer` if it sleeps (something outside the transport has changed);
     * one's own rank is allowed. The one call that any thread may make at any time. */
    void (*ring)(rondo_transport *transport, uint32_t peer);

    /* counters - a copy. */
    void (*counters)(const rondo_transport *transport,
                     rondo_transport_counters *counters);

    /* destroy - local; does not touch peers. */
    void (*destroy)(rondo_transport *transport);
} rondo_transport_ops;

/* First member of every implementation. */
struct rondo_transport {
    const rondo_transport_ops *ops;
};

#endif /* TRANSPORT_TRANSPORT_H */
