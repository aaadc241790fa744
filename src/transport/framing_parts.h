/* framing_parts.h - what the two halves of framing share; nobody else includes it. */
#ifndef TRANSPORT_FRAMING_PARTS_H
#define TRANSPORT_FRAMING_PARTS_H

#include <string.h>

#include <rondo/message.h>

#include "transport/framing.h"

/* Memory that grows to what is asked for; its content does not survive growing. */
struct rondo_buffer {
    unsigned char *data;
    uint64_t room;
};

/* What is kept per peer. */
struct rondo_framing_peer {
    struct rondo_buffer out; /* the rest of a message that found no room */
    rondo_outgoing sending;  /* that rest, while `pending` */
    bool pending;
    bool handling;          /* a poll of this peer is running */
    bool joining;           /* `in` holds a message, or its beginning */
    bool whole;             /* all of it is there, but nobody has taken it yet */
    struct rondo_buffer in; /* a message of several pieces, while it arrives */
    uint64_t in_filled;     /* bytes of it that are there */
    uint64_t in_token;      /* the token its first piece had */
};

struct rondo_framing {
    rondo_transport *transport;
    uint32_t nranks;
    uint32_t npending; /* peers with something kept */
    struct rondo_framing_peer peers[];
};

/* A token taken apart. */
struct rondo_frame {
    uint32_t channel;
    uint64_t header_bytes;
    uint64_t payload_bytes;
};

/* rondo_frame_token - the token of `message`, whose sizes have been checked. */
uint64_t
rondo_frame_token(const rondo_am *message);

/* rondo_frame_read - false when no sane sender could have sent `token`. */
bool
rondo_frame_read(uint64_t token, struct rondo_frame *frame);

RONDO_MUST_USE rondo_status
rondo_buffer_reserve(struct rondo_buffer *buffer, uint64_t bytes);

/* rondo_buffer_rest - not needed for now: a large one is given back, since one per peer
 * would add up over many peers. */
void
rondo_buffer_rest(struct rondo_buffer *buffer);

/* rondo_framing_flush_peer - RONDO_OK: nothing is kept for `peer` any more. */
RONDO_MUST_USE rondo_status
rondo_framing_flush_peer(rondo_framing *framing, uint32_t peer);

/* memcpy, for pointers that may be null when there is nothing to copy. */
static inline void
rondo_copy_bytes(void *to, const void *from, uint64_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
}

#endif /* TRANSPORT_FRAMING_PARTS_H */
