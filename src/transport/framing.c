/* framing.c - active messages as ordinary messages whose token describes them. */
#include "transport/framing.h"

#include <string.h>

#include <rondo/message.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* A token, from the top: mark, channel, bytes of header, bytes of payload. */
#define SIZE_BITS    21
#define CHANNEL_BITS 6
#define MARK         UINT64_C(0xa3e5)
#define MARK_SHIFT   (2 * SIZE_BITS + CHANNEL_BITS)
#define SIZE_MASK    ((UINT64_C(1) << SIZE_BITS) - 1)
#define CHANNEL_MASK ((UINT64_C(1) << CHANNEL_BITS) - 1)

/* Header and payload of messages up to this size are joined on the stack. */
#define JOIN_BYTES 512

/* Buffers up to this size stay with the peer when they are empty again. */
#define KEEP_BYTES ((uint64_t)64 << 10)

/* Pieces one poll takes at most. */
#define PIECES_PER_POLL 1024

/* Memory that grows to what is asked for; its content does not survive growing. */
struct buffer {
    unsigned char *data;
    uint64_t room;
};

/* What is kept per peer. */
struct peer {
    struct buffer out;      /* the rest of a message that found no room */
    rondo_outgoing sending; /* that rest, while `pending` */
    bool pending;
    bool handling;      /* a poll of this peer is running */
    bool joining;       /* `in` holds a message, or its beginning */
    bool whole;         /* all of it is there, but nobody has taken it yet */
    struct buffer in;   /* a message of several pieces, while it arrives */
    uint64_t in_filled; /* bytes of it that are there */
    uint64_t in_token;  /* the token its first piece had */
};

struct rondo_framing {
    rondo_transport *transport;
    uint32_t nranks;
    uint32_t npending; /* peers with something kept */
    struct peer peers[];
};

/* A token taken apart. */
struct frame {
    uint32_t channel;
    uint64_t header_bytes;
    uint64_t payload_bytes;
};

static uint64_t
frame_token(const rondo_am *message)
{
    return MARK << MARK_SHIFT | (uint64_t)message->channel << (2 * SIZE_BITS) |
           (uint64_t)message->header_bytes << SIZE_BITS |
           (uint64_t)message->payload_bytes;
}

/* Whether `token` describes a message that a sane sender could have sent. */
static bool
frame_read(uint64_t token, struct frame *frame)
{
    frame->channel = (uint32_t)(token >> (2 * SIZE_BITS) & CHANNEL_MASK);
    frame->header_bytes = token >> SIZE_BITS & SIZE_MASK;
    frame->payload_bytes = token & SIZE_MASK;
    return token >> MARK_SHIFT == MARK && frame->channel < RONDO_MESSAGE_CHANNELS &&
           frame->header_bytes + frame->payload_bytes <= RONDO_MESSAGE_BYTES_MAX;
}

static rondo_status
buffer_reserve(struct buffer *buffer, uint64_t bytes)
{
    if (bytes <= buffer->room) {
        return RONDO_OK;
    }
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(bytes, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_free(buffer->data);
    buffer->data = memory;
    buffer->room = bytes;
    return RONDO_OK;
}

/* A large buffer per peer would add up over many peers. */
static void
buffer_rest(struct buffer *buffer)
{
    if (buffer->room > KEEP_BYTES) {
        rondo_free(buffer->data);
        *buffer = (struct buffer){0};
    }
}

rondo_status
rondo_framing_create(rondo_transport *transport, uint32_t nranks,
                     rondo_framing **framing)
{
    void *memory = NULL;
    const rondo_status status =
        rondo_alloc_zero(sizeof(rondo_framing) + nranks * sizeof(struct peer), &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_framing *const made = memory;
    made->transport = transport;
    made->nranks = nranks;
    *framing = made;
    return RONDO_OK;
}

void
rondo_framing_destroy(rondo_framing *framing)
{
    if (framing == NULL) {
        return;
    }
    for (uint32_t peer = 0; peer < framing->nranks; peer++) {
        rondo_free(framing->peers[peer].out.data);
        rondo_free(framing->peers[peer].in.data);
    }
    rondo_free(framing);
}

static rondo_status
pass_on(rondo_framing *framing, uint32_t peer, rondo_outgoing *sending)
{
    return framing->transport->ops->send(framing->transport, peer, RONDO_LANE_MESSAGE,
                                         sending);
}

/* RONDO_OK: nothing is kept for `peer` any more. */
static rondo_status
flush_peer(rondo_framing *framing, uint32_t peer)
{
    struct peer *const at = &framing->peers[peer];

    if (!at->pending) {
        return RONDO_OK;
    }
    const rondo_status status = pass_on(framing, peer, &at->sending);
    if (status == RONDO_OK) {
        at->pending = false;
        framing->npending--;
        buffer_rest(&at->out);
    }
    return status;
}

rondo_status
rondo_framing_flush(rondo_framing *framing)
{
    for (uint32_t peer = 0; framing->npending > 0 && peer < framing->nranks; peer++) {
        const rondo_status status = flush_peer(framing, peer);
        if (status < 0) {
            return status;
        }
    }
    return RONDO_OK;
}

static void
copy_bytes(void *to, const void *from, uint64_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
}

static void
join(void *to, const rondo_am *message)
{
    copy_bytes(to, message->header, message->header_bytes);
    copy_bytes((unsigned char *)to + message->header_bytes, message->payload,
               message->payload_bytes);
}

/* Keep `sending` for later, as a copy from where it stands. */
static void
keep(rondo_framing *framing, uint32_t peer, const rondo_outgoing *sending)
{
    struct peer *const at = &framing->peers[peer];

    at->sending = *sending;
    at->sending.data = at->out.data;
    at->pending = true;
    framing->npending++;
}

/*
 * The buffer is reserved before anything is sent: once a piece is on its way there is
 * no turning back, whatever the heap says.
 */
static rondo_status
send_large(rondo_framing *framing, uint32_t peer, const rondo_am *message)
{
    struct peer *const at = &framing->peers[peer];
    const uint64_t bytes = message->header_bytes + message->payload_bytes;
    rondo_status status = buffer_reserve(&at->out, bytes);

    if (status != RONDO_OK) {
        return status;
    }
    join(at->out.data, message);
    rondo_outgoing sending = {at->out.data, bytes, frame_token(message), 0};
    status = pass_on(framing, peer, &sending);
    if (status == RONDO_BUSY) {
        keep(framing, peer, &sending);
        return RONDO_OK;
    }
    buffer_rest(&at->out);
    return status;
}

static rondo_status
send_small(rondo_framing *framing, uint32_t peer, const rondo_am *message)
{
    unsigned char joined[JOIN_BYTES];
    struct peer *const at = &framing->peers[peer];
    const uint64_t bytes = message->header_bytes + message->payload_bytes;

    /* Reserved once per peer: a small message must never be half sent. */
    rondo_status status = buffer_reserve(&at->out, JOIN_BYTES);
    if (status != RONDO_OK) {
        return status;
    }
    join(joined, message);
    rondo_outgoing sending = {joined, bytes, frame_token(message), 0};
    status = pass_on(framing, peer, &sending);
    if (status != RONDO_BUSY || sending.done_bytes == 0) {
        return status;
    }
    copy_bytes(at->out.data, joined, bytes);
    keep(framing, peer, &sending);
    return RONDO_OK;
}

rondo_status
rondo_framing_send(rondo_framing *framing, uint32_t peer, const rondo_am *message)
{
    RONDO_ASSERT(peer < framing->nranks);
    if (message->channel >= RONDO_MESSAGE_CHANNELS) {
        return rondo_error(RONDO_ERR_ARG, "channel %u: there are channels 0 to %d",
                           message->channel, RONDO_MESSAGE_CHANNELS - 1);
    }
    if (message->header_bytes > RONDO_MESSAGE_BYTES_MAX ||
        message->payload_bytes > RONDO_MESSAGE_BYTES_MAX - message->header_bytes) {
        return rondo_error(
            RONDO_ERR_ARG, "a message of %zu and %zu bytes: at most %zu together",
            message->header_bytes, message->payload_bytes, RONDO_MESSAGE_BYTES_MAX);
    }
    const rondo_status status = flush_peer(framing, peer);
    if (status != RONDO_OK) {
        return status;
    }
    if (message->header_bytes + message->payload_bytes <= JOIN_BYTES) {
        return send_small(framing, peer, message);
    }
    return send_large(framing, peer, message);
}

/* RONDO_BUSY: nobody took it. */
static rondo_status
deliver(uint32_t peer, uint64_t token, const void *data, rondo_am_function function,
        void *user)
{
    const unsigned char *const bytes = data;
    struct frame frame;

    (void)frame_read(token, &frame);
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
append(struct peer *at, uint32_t peer, const rondo_incoming *piece, uint64_t bytes)
{
    if (!at->joining) {
        const rondo_status status = buffer_reserve(&at->in, bytes);
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
    copy_bytes(at->in.data + at->in_filled, piece->data, piece->bytes);
    at->in_filled += piece->bytes;
    if (piece->last && at->in_filled != bytes) {
        return malformed(peer, "shorter than announced");
    }
    return RONDO_OK;
}

/* A message that came in pieces and is whole. RONDO_BUSY: nobody took it. */
static rondo_status
deliver_joined(struct peer *at, uint32_t peer, rondo_am_function function, void *user)
{
    const rondo_status status =
        deliver(peer, at->in_token, at->in.data, function, user);

    if (status == RONDO_OK) {
        at->joining = false;
        at->whole = false;
        buffer_rest(&at->in);
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
    struct peer *const at = &framing->peers[peer];
    rondo_incoming piece;
    struct frame frame;

    if (at->whole) {
        return deliver_joined(at, peer, function, user);
    }
    rondo_status status =
        transport->ops->peek(transport, peer, RONDO_LANE_MESSAGE, &piece);
    if (status != RONDO_OK) {
        return status;
    }
    if (!frame_read(piece.token, &frame)) {
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
    struct peer *const at = &framing->peers[peer];
    rondo_status status = at->handling ? RONDO_BUSY : flush_peer(framing, peer);

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

bool
rondo_framing_idle(const rondo_framing *framing)
{
    for (uint32_t peer = 0; peer < framing->nranks; peer++) {
        if (framing->peers[peer].pending || framing->peers[peer].joining) {
            return false;
        }
    }
    return true;
}
