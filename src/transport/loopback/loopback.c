/* loopback.c - many ranks in one thread: queues of pieces, and a seed that decides. */
#include "transport/loopback/loopback.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "transport/framing.h"

/* Pieces a channel holds; a sender that is further ahead waits. */
#define PIECES_MAX 64

#define LINE_BYTES 64

/* One piece under way, in memory of its own size so that overruns are found. */
struct piece {
    struct piece *next;
    uint64_t token;
    uint64_t bytes;
    bool last;
    unsigned char *data; /* of any alignment, inside this allocation */
};

/* Traffic of one lane from one rank to another. */
struct channel {
    struct piece *head;
    struct piece *tail;
    uint32_t pieces;
    bool shown;  /* the receiver has looked at the head: it must stay */
    bool midway; /* the message being taken has more to come */

    /* Unbuffered: the sender's own memory while a message waits for its receiver. */
    const rondo_outgoing *posted;
    rondo_outgoing offer; /* what was posted; done_bytes: consumed */
    uint64_t shown_bytes; /* of the piece shown */
    bool offer_taken;     /* all consumed; its sender does not know yet */
};

struct endpoint {
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
    struct channel *channels; /* by sender, receiver, lane */
    uint64_t *seen;           /* of all endpoints */
    struct endpoint endpoints[];
};

static uint64_t
draw(rondo_loopback *world)
{
    world->random += UINT64_C(0x9e3779b97f4a7c15);
    return rondo_hash_mix(world->random);
}

static bool
put_off(rondo_loopback *world)
{
    return draw(world) % 100 < world->config.busy_percent;
}

static struct endpoint *
endpoint_of(rondo_transport *transport)
{
    return (struct endpoint *)transport;
}

static struct channel *
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
enqueue(rondo_loopback *world, struct channel *channel, rondo_outgoing *message)
{
    const uint64_t bytes = cut(world, message->bytes - message->done_bytes);
    const uint64_t shift = draw(world) % LINE_BYTES;
    void *memory = NULL;
    const rondo_status status =
        rondo_alloc_zero(sizeof(struct piece) + shift + bytes, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    struct piece *const piece = memory;
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
count_sent(struct endpoint *sender, uint64_t bytes, bool last)
{
    sender->counters.sent_bytes += bytes;
    sender->counters.messages += last ? 1 : 0;
}

static rondo_status
send_buffered(struct endpoint *sender, struct channel *channel, rondo_outgoing *message)
{
    rondo_loopback *const world = sender->world;

    if (channel->midway && message->done_bytes == 0) {
        return RONDO_BUSY; /* another message is not through yet */
    }
    do {
        if (channel->pieces == PIECES_MAX || put_off(world)) {
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
send_unbuffered(struct endpoint *sender, struct channel *channel,
                rondo_outgoing *message)
{
    if (channel->posted == NULL) {
        if (!put_off(sender->world)) {
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
    if (!channel->offer_taken || put_off(sender->world)) {
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

static rondo_status
loopback_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
              rondo_outgoing *message)
{
    struct endpoint *const sender = endpoint_of(transport);
    struct channel *const channel = channel_at(sender->world, sender->rank, peer, lane);

    RONDO_ASSERT(message->done_bytes <= message->bytes);
    if (is_unbuffered(sender->world, lane)) {
        return send_unbuffered(sender, channel, message);
    }
    return send_buffered(sender, channel, message);
}

static rondo_status
peek_offer(rondo_loopback *world, struct channel *channel, rondo_incoming *piece)
{
    const rondo_outgoing *const offer = &channel->offer;

    if (channel->posted == NULL || channel->offer_taken ||
        (!channel->shown && put_off(world))) {
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

static rondo_status
loopback_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
              rondo_incoming *piece)
{
    struct endpoint *const receiver = endpoint_of(transport);
    rondo_loopback *const world = receiver->world;
    struct channel *const channel = channel_at(world, peer, receiver->rank, lane);

    if (is_unbuffered(world, lane)) {
        return peek_offer(world, channel, piece);
    }
    const struct piece *const head = channel->head;
    if (head == NULL || (!channel->shown && put_off(world))) {
        return RONDO_BUSY;
    }
    channel->shown = true;
    piece->data = head->data;
    piece->bytes = head->bytes;
    piece->token = head->token;
    piece->last = head->last;
    return RONDO_OK;
}

static void
loopback_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane)
{
    struct endpoint *const receiver = endpoint_of(transport);
    rondo_loopback *const world = receiver->world;
    struct channel *const channel = channel_at(world, peer, receiver->rank, lane);

    RONDO_ASSERT(channel->shown);
    channel->shown = false;
    if (is_unbuffered(world, lane)) {
        receiver->counters.received_bytes += channel->shown_bytes;
        channel->offer.done_bytes += channel->shown_bytes;
        channel->offer_taken = channel->offer.done_bytes == channel->offer.bytes;
        return;
    }
    struct piece *const head = channel->head;
    receiver->counters.received_bytes += head->bytes;
    channel->head = head->next;
    channel->pieces--;
    rondo_free(head);
}

static rondo_status
loopback_progress(rondo_transport *transport)
{
    return rondo_framing_flush(endpoint_of(transport)->framing);
}

static void
loopback_signal(rondo_transport *transport, uint64_t value)
{
    struct endpoint *const endpoint = endpoint_of(transport);

    RONDO_ASSERT(value >= endpoint->signal);
    endpoint->signal = value;
}

/* A signal may be seen late, as on a real machine, but never goes back. */
static uint64_t
loopback_signalled(rondo_transport *transport, uint32_t peer)
{
    struct endpoint *const endpoint = endpoint_of(transport);

    RONDO_ASSERT(peer < endpoint->world->config.nranks);
    const uint64_t now = endpoint->world->endpoints[peer].signal;
    if (endpoint->seen[peer] != now && !put_off(endpoint->world)) {
        endpoint->seen[peer] = now;
    }
    return endpoint->seen[peer];
}

static rondo_status
loopback_am_send(rondo_transport *transport, uint32_t peer, const rondo_am *message)
{
    return rondo_framing_send(endpoint_of(transport)->framing, peer, message);
}

static rondo_status
loopback_am_poll(rondo_transport *transport, uint32_t peer, rondo_am_function function,
                 void *user)
{
    return rondo_framing_poll(endpoint_of(transport)->framing, peer, function, user);
}

/* One thread plays all ranks: while one sleeps nothing can happen, so none does. */
static uint32_t
loopback_arm(rondo_transport *transport)
{
    (void)transport;
    return 0;
}

static void
loopback_sleep(rondo_transport *transport, uint32_t ticket, uint64_t wait_ns)
{
    (void)transport;
    (void)ticket;
    (void)wait_ns;
}

static void
loopback_disarm(rondo_transport *transport)
{
    (void)transport;
}

static void
loopback_ring(rondo_transport *transport, uint32_t peer)
{
    (void)transport;
    (void)peer;
}

static void
loopback_counters(const rondo_transport *transport, rondo_transport_counters *counters)
{
    *counters = ((const struct endpoint *)transport)->counters;
}

/* The world owns its endpoints. */
static void
loopback_destroy(rondo_transport *transport)
{
    (void)transport;
}

static const rondo_transport_ops loopback_ops = {
    .name = "loopback",
    .send = loopback_send,
    .peek = loopback_peek,
    .consume = loopback_consume,
    .progress = loopback_progress,
    .signal = loopback_signal,
    .signalled = loopback_signalled,
    .am_send = loopback_am_send,
    .am_poll = loopback_am_poll,
    .arm = loopback_arm,
    .sleep = loopback_sleep,
    .disarm = loopback_disarm,
    .ring = loopback_ring,
    .counters = loopback_counters,
    .destroy = loopback_destroy,
};

/* Give the world its queues and every rank its endpoint. */
static rondo_status
furnish(rondo_loopback *world)
{
    const uint64_t nranks = world->config.nranks;
    void *memory = NULL;
    rondo_status status = rondo_alloc_zero(
        nranks * nranks * RONDO_LANES * sizeof *world->channels, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    world->channels = memory;
    status = rondo_alloc_zero(nranks * nranks * sizeof *world->seen, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    world->seen = memory;
    for (uint32_t rank = 0; rank < nranks; rank++) {
        struct endpoint *const endpoint = &world->endpoints[rank];
        endpoint->transport.ops = &loopback_ops;
        endpoint->world = world;
        endpoint->rank = rank;
        endpoint->seen = world->seen + rank * nranks;
        status = rondo_framing_create(&endpoint->transport, world->config.nranks,
                                      &endpoint->framing);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_loopback_create(const rondo_loopback_config *config, rondo_loopback **world)
{
    void *memory = NULL;

    RONDO_ASSERT(config->busy_percent <= 95);
    rondo_status status = rondo_alloc_zero(
        sizeof(rondo_loopback) + config->nranks * sizeof(struct endpoint), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_loopback *const made = memory;
    made->config = *config;
    made->random = rondo_hash_mix(config->seed + 1);
    status = furnish(made);
    if (status != RONDO_OK) {
        rondo_loopback_destroy(made);
        return status;
    }
    *world = made;
    return RONDO_OK;
}

rondo_transport *
rondo_loopback_at(rondo_loopback *world, uint32_t rank)
{
    RONDO_ASSERT(rank < world->config.nranks);
    return &world->endpoints[rank].transport;
}

static uint64_t
nchannels(const rondo_loopback *world)
{
    return (uint64_t)world->config.nranks * world->config.nranks * RONDO_LANES;
}

bool
rondo_loopback_idle(const rondo_loopback *world)
{
    for (uint64_t i = 0; i < nchannels(world); i++) {
        const struct channel *const channel = &world->channels[i];
        if (channel->head != NULL ||
            (channel->posted != NULL && !channel->offer_taken)) {
            return false;
        }
    }
    for (uint32_t rank = 0; rank < world->config.nranks; rank++) {
        if (!rondo_framing_idle(world->endpoints[rank].framing)) {
            return false;
        }
    }
    return true;
}

void
rondo_loopback_destroy(rondo_loopback *world)
{
    if (world == NULL) {
        return;
    }
    for (uint64_t i = 0; world->channels != NULL && i < nchannels(world); i++) {
        while (world->channels[i].head != NULL) {
            struct piece *const piece = world->channels[i].head;
            world->channels[i].head = piece->next;
            rondo_free(piece);
        }
    }
    for (uint32_t rank = 0; rank < world->config.nranks; rank++) {
        rondo_framing_destroy(world->endpoints[rank].framing);
    }
    rondo_free(world->seen);
    rondo_free(world->channels);
    rondo_free(world);
}
