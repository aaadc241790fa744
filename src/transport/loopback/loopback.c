/* loopback.c - many ranks in one thread: the world, its endpoints, signals. */
#include "transport/loopback/loopback.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "transport/framing.h"
#include "transport/loopback/world.h"

static rondo_status
loopback_progress(rondo_transport *transport)
{
    return rondo_framing_flush(rondo_loopback_endpoint_of(transport)->framing);
}

static void
loopback_signal(rondo_transport *transport, uint64_t value)
{
    struct rondo_loopback_endpoint *const endpoint =
        rondo_loopback_endpoint_of(transport);

    RONDO_ASSERT(value >= endpoint->signal);
    endpoint->signal = value;
}

/* A signal may be seen late, as on a real machine, but never goes back. */
static uint64_t
loopback_signalled(rondo_transport *transport, uint32_t peer)
{
    struct rondo_loopback_endpoint *const endpoint =
        rondo_loopback_endpoint_of(transport);

    RONDO_ASSERT(peer < endpoint->world->config.nranks);
    const uint64_t now = endpoint->world->endpoints[peer].signal;
    if (endpoint->seen[peer] != now && !rondo_loopback_put_off(endpoint->world)) {
        endpoint->seen[peer] = now;
    }
    return endpoint->seen[peer];
}

static rondo_status
loopback_am_send(rondo_transport *transport, uint32_t peer, const rondo_am *message)
{
    return rondo_framing_send(rondo_loopback_endpoint_of(transport)->framing, peer,
                              message);
}

static rondo_status
loopback_am_poll(rondo_transport *transport, uint32_t peer, rondo_am_function function,
                 void *user)
{
    return rondo_framing_poll(rondo_loopback_endpoint_of(transport)->framing, peer,
                              function, user);
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
    *counters = ((const struct rondo_loopback_endpoint *)transport)->counters;
}

/* The world owns its endpoints. */
static void
loopback_destroy(rondo_transport *transport)
{
    (void)transport;
}

static const rondo_transport_ops loopback_ops = {
    .name = "loopback",
    .send = rondo_loopback_send,
    .peek = rondo_loopback_peek,
    .consume = rondo_loopback_consume,
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
        struct rondo_loopback_endpoint *const endpoint = &world->endpoints[rank];
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
    rondo_status status =
        rondo_alloc_zero(sizeof(rondo_loopback) +
                             config->nranks * sizeof(struct rondo_loopback_endpoint),
                         &memory);
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
        const struct rondo_loopback_channel *const channel = &world->channels[i];
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
            struct rondo_loopback_piece *const piece = world->channels[i].head;
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
