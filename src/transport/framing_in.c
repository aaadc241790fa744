/* framing_in.c - active messages on their way in: checked, joined, handed over. */
#include "base/check.h"
#include "base/error.h"
#include "transport/framing_parts.h"

/* Pieces one poll takes at most. */
#define PIECES_PER_POLL 1024

/* RONDO_BUSY: nobody took it. */
static rondo_status
deliver(uint32_t peer, uint64_t token, const void *data, rondo_am_function function,
        void *user)
{
    const unsigned char *const bytes = data;
    struct rondo_frame frame;

    (void)rondo_frame_read(token, &frame);
    const void *const payload =
        frame.payload_bytes == 0 ? NULL : bytes + frame.header_bytes;
    const bool taken =
        function(peer, frame.channel, frame.header_bytes == 0 ? NULL : data,
                 frame.header_bytes, payload, frame.payload_bytes, user);
    return taken ? RONDO_OK : RONDO_BUSY;
}

static rondo_status
malformed(uint32_t peer, const char *what)
{
    return rondo_error(RONDO_ERR_WIRE, "a malformed active message from rank %u: %s",
                       peer, what);
}

/* Put a piece behind what is there of its message. */
static rondo_status
append(struct rondo_framing_peer *at, uint32_t peer, const rondo_incoming *piece,
       uint64_t bytes)
{
    if (!at->joining) {
        const rondo_status status = rondo_buffer_reserve(&at->in, bytes);
        if (status != RONDO_OK) {
            return status;
        }
        at->joining = true;
        at->in_filled = 0;
        at->in_token = piece->token;
    }
    if (piece->token != at->in_token) {
        return malformed(peer, "its pieces belong to different messages");
    }
    if (piece->bytes > bytes - at->in_filled) {
        return malformed(peer, "longer than announced");
    }
    rondo_copy_bytes(at->in.data + at->in_filled, piece->data, piece->bytes);
    at->in_filled += piece->bytes;
    if (piece->last && at->in_filled != bytes) {
        return malformed(peer, "shorter than announced");
    }
    return RONDO_OK;
}

/* A message that came in pieces and is whole. RONDO_BUSY: nobody took it. */
static rondo_status
deliver_joined(struct rondo_framing_peer *at, uint32_t peer, rondo_am_function function,
               void *user)
{
    const rondo_status status =
        deliver(peer, at->in_token, at->in.data, function, user);

    if (status == RONDO_OK) {
        at->joining = false;
        at->whole = false;
        rondo_buffer_rest(&at->in);
    }
    return status;
}

/* A message of one piece goes to the function straight from the transport's memory. */
static rondo_status
deliver_piece(rondo_framing *framing, uint32_t peer, const rondo_incoming *piece,
              rondo_am_function function, void *user)
{
    rondo_transport *const transport = framing->transport;
    const rondo_status status =
        deliver(peer, piece->token, piece->data, function, user);

    if (status == RONDO_OK) {
        transport->ops->consume(transport, peer, RONDO_LANE_MESSAGE);
    }
    return status;
}

/* Take the piece at the head of the lane. RONDO_BUSY: there is none, or nobody took the
 * message. */
static rondo_status
take_piece(rondo_framing *framing, uint32_t peer, rondo_am_function function,
           void *user)
{
    rondo_transport *const transport = framing->transport;
    struct rondo_framing_peer *const at = &framing->peers[peer];
    rondo_incoming piece;
    struct rondo_frame frame;

    if (at->whole) {
        return deliver_joined(at, peer, function, user);
    }
    rondo_status status =
        transport->ops->peek(transport, peer, RONDO_LANE_MESSAGE, &piece);
    if (status != RONDO_OK) {
        return status;
    }
    if (!rondo_frame_read(piece.token, &frame)) {
        return malformed(peer, "no description of one");
    }
    const uint64_t bytes = frame.header_bytes + frame.payload_bytes;
    if (!at->joining && piece.last) {
        return piece.bytes == bytes
                   ? deliver_piece(framing, peer, &piece, function, user)
                   : malformed(peer, "not as long as announced");
    }
    status = append(at, peer, &piece, bytes);
    if (status != RONDO_OK) {
        return status;
    }
    transport->ops->consume(transport, peer, RONDO_LANE_MESSAGE);
    at->whole = piece.last;
    return RONDO_OK;
}

rondo_status
rondo_framing_poll(rondo_framing *framing, uint32_t peer, rondo_am_function function,
                   void *user)
{
    RONDO_ASSERT(peer < framing->nranks);
    struct rondo_framing_peer *const at = &framing->peers[peer];
    rondo_status status =
        at->handling ? RONDO_BUSY : rondo_framing_flush_peer(framing, peer);

    if (status < 0) {
        return status;
    }
    if (at->handling) {
        return RONDO_OK;
    }
    at->handling = true;
    status = RONDO_OK;
    for (uint32_t pieces = 0; status == RONDO_OK && pieces < PIECES_PER_POLL;
         pieces++) {
        status = take_piece(framing, peer, function, user);
    }
    at->handling = false;
    return status < 0 ? status : RONDO_OK;
}
