/* framing.c - active messages as ordinary messages whose token describes them. */
#include "transport/framing_parts.h"

#include <string.h>

#include <rondo/message.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* Header and payload of messages up to this size are joined on the stack. */
#define JOIN_BYTES 512

rondo_status
rondo_framing_create(rondo_transport *transport, uint32_t nranks,
                     rondo_framing **framing)
{
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(
        sizeof(rondo_framing) + nranks * sizeof(struct rondo_framing_peer), &memory);

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
rondo_status
rondo_framing_flush_peer(rondo_framing *framing, uint32_t peer)
{
    struct rondo_framing_peer *const at = &framing->peers[peer];

    if (!at->pending) {
        return RONDO_OK;
    }
    const rondo_status status = pass_on(framing, peer, &at->sending);
    if (status == RONDO_OK) {
        at->pending = false;
        framing->npending--;
        rondo_buffer_rest(&at->out);
    }
    return status;
}

rondo_status
rondo_framing_flush(rondo_framing *framing)
{
    for (uint32_t peer = 0; framing->npending > 0 && peer < framing->nranks; peer++) {
        const rondo_status status = rondo_framing_flush_peer(framing, peer);
        if (status < 0) {
            return status;
        }
    }
    return RONDO_OK;
}

static void
join(void *to, const rondo_am *message)
{
    rondo_copy_bytes(to, message->header, message->header_bytes);
    rondo_copy_bytes((unsigned char *)to + message->header_bytes, message->payload,
                     message->payload_bytes);
}

/* Keep `sending` for later, as a copy from where it stands. */
static void
keep(rondo_framing *framing, uint32_t peer, const rondo_outgoing *sending)
{
    struct rondo_framing_peer *const at = &framing->peers[peer];

    at->sending = *sending;
    at->sending.data = at->out.data;
    at->pending = true;
    framing->npending++;
}

/* Then it must be finished, even if an error stopped it: whoever flushes meets the
 * error again, and the channel is not left with half a message. */
static bool
is_half_sent(const rondo_outgoing *sending, rondo_status status)
{
    return status != RONDO_OK && sending->done_bytes > 0;
}

/*
 * The buffer is reserved before anything is sent: once a piece is on its way there is
 * no turning back, whatever the heap says.
 */
static rondo_status
send_large(rondo_framing *framing, uint32_t peer, const rondo_am *message)
{
    struct rondo_framing_peer *const at = &framing->peers[peer];
    const uint64_t bytes = message->header_bytes + message->payload_bytes;
    rondo_status status = rondo_buffer_reserve(&at->out, bytes);

    if (status != RONDO_OK) {
        return status;
    }
    join(at->out.data, message);
    rondo_outgoing sending = {at->out.data, bytes, rondo_frame_token(message), 0};
    status = pass_on(framing, peer, &sending);
    if (status == RONDO_BUSY || is_half_sent(&sending, status)) {
        keep(framing, peer, &sending);
        return RONDO_OK;
    }
    rondo_buffer_rest(&at->out);
    return status;
}

static rondo_status
send_small(rondo_framing *framing, uint32_t peer, const rondo_am *message)
{
    unsigned char joined[JOIN_BYTES];
    struct rondo_framing_peer *const at = &framing->peers[peer];
    const uint64_t bytes = message->header_bytes + message->payload_bytes;

    /* Reserved once per peer: a small message must never be half sent. */
    rondo_status status = rondo_buffer_reserve(&at->out, JOIN_BYTES);
    if (status != RONDO_OK) {
        return status;
    }
    join(joined, message);
    rondo_outgoing sending = {joined, bytes, rondo_frame_token(message), 0};
    status = pass_on(framing, peer, &sending);
    if (!is_half_sent(&sending, status)) {
        return status;
    }
    rondo_copy_bytes(at->out.data, joined, bytes);
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
    const rondo_status status = rondo_framing_flush_peer(framing, peer);
    if (status != RONDO_OK) {
        return status;
    }
    if (message->header_bytes + message->payload_bytes <= JOIN_BYTES) {
        return send_small(framing, peer, message);
    }
    return send_large(framing, peer, message);
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
