/* channel.c - the queues of the loopback: where pieces end and what is put off. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "transport/loopback/world.h"

/* Pieces a channel holds; a sender that is further ahead waits. */
#define PIECES_MAX 64

#define LINE_BYTES 64

static uint64_t
draw(rondo_loopback *world)
{
    world->random += UINT64_C(0x9e3779b97f4a7c15);
    return rondo_hash_mix(world->random);
}

bool
rondo_loopback_put_off(rondo_loopback *world)
{
    return draw(world) % 100 < world->config.busy_percent;
}

static struct rondo_loopback_channel *
channel_at(rondo_loopback *world, uint32_t from, uint32_t to, rondo_lane lane)
{
    const uint64_t pair = (uint64_t)from * world->config.nranks + to;

    RONDO_ASSERT(from < world->config.nranks);
    RONDO_ASSERT(to < world->config.nranks);
    RONDO_ASSERT(lane < RONDO_LANES);
    return &world->channels[pair * RONDO_LANES + lane];
}

/* How long the next piece is, of `left` bytes. */
static uint64_t
cut(rondo_loopback *world, uint64_t left)
{
    const uint64_t lines = world->config.piece_bytes / LINE_BYTES;

    if (world->config.piece_bytes == 0) {
        return left;
    }
    const uint64_t bytes = (lines == 0 ? 1 : draw(world) % lines + 1) * LINE_BYTES;
    return bytes < left ? bytes : left;
}

/* Copy the next piece of `message` into the queue. */
static rondo_status
enqueue(rondo_loopback *world, struct rondo_loopback_channel *channel,
        rondo_outgoing *message)
{
    const uint64_t bytes = cut(world, message->bytes - message->done_bytes);
    const uint64_t shift = draw(world) % LINE_BYTES;
    void *memory = NULL;
    const rondo_status status =
        rondo_alloc_zero(sizeof(struct rondo_loopback_piece) + shift + bytes, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    struct rondo_loopback_piece *const piece = memory;
    piece->token = message->token;
    piece->bytes = bytes;
    piece->data = (unsigned char *)(piece + 1) + shift;
    if (bytes > 0) {
        memcpy(piece->data, (const unsigned char *)message->data + message->done_bytes,
               bytes);
    }
    message->done_bytes += bytes;
    piece->last = message->done_bytes == message->bytes;
    if (channel->head == NULL) {
        channel->head = piece;
    } else {
        channel->tail->next = piece;
    }
    channel->tail = piece;
    channel->pieces++;
    channel->midway = !piece->last;
    return RONDO_OK;
}

static void
count_sent(struct rondo_loopback_endpoint *sender, uint64_t bytes, bool last)
{
    sender->counters.sent_bytes += bytes;
    sender->counters.messages += last ? 1 : 0;
}

static rondo_status
send_buffered(struct rondo_loopback_endpoint *sender,
              struct rondo_loopback_channel *channel, rondo_outgoing *message)
{
    rondo_loopback *const world = sender->world;

    if (channel->midway && message->done_bytes == 0) {
        return RONDO_BUSY; /* another message is not through yet */
    }
    do {
        if (channel->pieces == PIECES_MAX || rondo_loopback_put_off(world)) {
            return RONDO_BUSY;
        }
        const uint64_t before = message->done_bytes;
        const rondo_status status = enqueue(world, channel, message);
        if (status != RONDO_OK) {
            return status;
        }
        count_sent(sender, message->done_bytes - before, !channel->midway);
    } while (channel->midway);
    return RONDO_OK;
}

static rondo_status
send_unbuffered(struct rondo_loopback_endpoint *sender,
                struct rondo_loopback_channel *channel, rondo_outgoing *message)
{
    if (channel->posted == NULL) {
        if (!rondo_loopback_put_off(sender->world)) {
            channel->posted = message;
            channel->offer = *message;
            channel->shown = false;
            channel->offer_taken = false;
        }
        return RONDO_BUSY;
    }
    if (channel->posted != message) {
        return RONDO_BUSY;
    }
    message->done_bytes = channel->offer.done_bytes;
    if (!channel->offer_taken || rondo_loopback_put_off(sender->world)) {
        return RONDO_BUSY;
    }
    channel->posted = NULL;
    count_sent(sender, message->bytes, true);
    return RONDO_OK;
}

/* Active messages are copied by contract, so their lane is always buffered. */
static bool
is_unbuffered(const rondo_loopback *world, rondo_lane lane)
{
    return world->config.unbuffered && lane != RONDO_LANE_MESSAGE;
}

rondo_status
rondo_loopback_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
                    rondo_outgoing *message)
{
    struct rondo_loopback_endpoint *const sender =
        rondo_loopback_endpoint_of(transport);
    struct rondo_loopback_channel *const channel =
        channel_at(sender->world, sender->rank, peer, lane);

    RONDO_ASSERT(message->done_bytes <= message->bytes);
    if (is_unbuffered(sender->world, lane)) {
        return send_unbuffered(sender, channel, message);
    }
    return send_buffered(sender, channel, message);
}

static rondo_status
peek_offer(rondo_loopback *world, struct rondo_loopback_channel *channel,
           rondo_incoming *piece)
{
    const rondo_outgoing *const offer = &channel->offer;

    if (channel->posted == NULL || channel->offer_taken ||
        (!channel->shown && rondo_loopback_put_off(world))) {
        return RONDO_BUSY;
    }
    if (!channel->shown) {
        channel->shown = true;
        channel->shown_bytes = cut(world, offer->bytes - offer->done_bytes);
    }
    piece->data = channel->shown_bytes == 0
                      ? NULL
                      : (const unsigned char *)offer->data + offer->done_bytes;
    piece->bytes = channel->shown_bytes;
    piece->token = offer->token;
    piece->last = offer->done_bytes + channel->shown_bytes == offer->bytes;
    return RONDO_OK;
}

rondo_status
rondo_loopback_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
                    rondo_incoming *piece)
{
    struct rondo_loopback_endpoint *const receiver =
        rondo_loopback_endpoint_of(transport);
    rondo_loopback *const world = receiver->world;
    struct rondo_loopback_channel *const channel =
        channel_at(world, peer, receiver->rank, lane);

    if (is_unbuffered(world, lane)) {
        return peek_offer(world, channel, piece);
    }
    const struct rondo_loopback_piece *const head = channel->head;
    if (head == NULL || (!channel->shown && rondo_loopback_put_off(world))) {
        return RONDO_BUSY;
    }
    channel->shown = true;
    piece->data = head->data;
    piece->bytes = head->bytes;
    piece->token = head->token;
    piece->last = head->last;
    return RONDO_OK;
}

void
rondo_loopback_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane)
{
    struct rondo_loopback_endpoint *const receiver =
        rondo_loopback_endpoint_of(transport);
    rondo_loopback *const world = receiver->world;
    struct rondo_loopback_channel *const channel =
        channel_at(world, peer, receiver->rank, lane);

    RONDO_ASSERT(channel->shown);
    channel->shown = false;
    if (is_unbuffered(world, lane)) {
        receiver->counters.received_bytes += channel->shown_bytes;
        channel->offer.done_bytes += channel->shown_bytes;
        channel->offer_taken = channel->offer.done_bytes == channel->offer.bytes;
        return;
    }
    struct rondo_loopback_piece *const head = channel->head;
    receiver->counters.received_bytes += head->bytes;
    channel->head = head->next;
    channel->pieces--;
    rondo_free(head);
}
