/* shm.c - an instance over a segment: making it, signals, active messages. */
#include "transport/shm/shm.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/shared.h"
#include "transport/shm/instance.h"

#define NOWHERE UINT32_MAX

static rondo_shm *
shm_of(rondo_transport *transport)
{
    return (rondo_shm *)transport;
}

static struct rondo_shm_desk *
desk_of_peer(const rondo_shm *shm, uint32_t peer)
{
    RONDO_ASSERT(peer < shm->nranks);
    RONDO_ASSERT(shm->places[peer] != NOWHERE);
    return rondo_shm_desk_of(&shm->segment, shm->places[peer]);
}

static rondo_status
shm_progress(rondo_transport *transport)
{
    return rondo_framing_flush(shm_of(transport)->framing);
}

static void
shm_signal(rondo_transport *transport, uint64_t value)
{
    const rondo_shm *const shm = shm_of(transport);

    /* Release: pairs with the acquire in shm_signalled. */
    atomic_store_explicit(&shm->desk->signal, value, memory_order_release);
    for (uint32_t place = 0; place < shm->segment.layout.nlocal; place++) {
        if (place != shm->me) {
            rondo_shm_nudge(rondo_shm_desk_of(&shm->segment, place));
        }
    }
}

static uint64_t
shm_signalled(rondo_transport *transport, uint32_t peer)
{
    return atomic_load_explicit(&desk_of_peer(shm_of(transport), peer)->signal,
                                memory_order_acquire);
}

static rondo_status
shm_am_send(rondo_transport *transport, uint32_t peer, const rondo_am *message)
{
    return rondo_framing_send(shm_of(transport)->framing, peer, message);
}

static rondo_status
shm_am_poll(rondo_transport *transport, uint32_t peer, rondo_am_function function,
            void *user)
{
    return rondo_framing_poll(shm_of(transport)->framing, peer, function, user);
}

static void
shm_ring(rondo_transport *transport, uint32_t peer)
{
    rondo_shm_nudge(desk_of_peer(shm_of(transport), peer));
}

static void
shm_counters(const rondo_transport *transport, rondo_transport_counters *counters)
{
    *counters = ((const rondo_shm *)transport)->counters;
}

static void
shm_destroy(rondo_transport *transport)
{
    rondo_shm *const shm = shm_of(transport);

    rondo_framing_destroy(shm->framing);
    rondo_free(shm->inlets);
    rondo_free(shm->outlets);
    rondo_free(shm->places);
    rondo_free(shm);
}

static const rondo_transport_ops shm_ops = {
    .name = "shm",
    .send = rondo_shm_send,
    .peek = rondo_shm_peek,
    .consume = rondo_shm_consume,
    .progress = shm_progress,
    .signal = shm_signal,
    .signalled = shm_signalled,
    .am_send = shm_am_send,
    .am_poll = shm_am_poll,
    .arm = rondo_shm_arm,
    .sleep = rondo_shm_sleep,
    .disarm = rondo_shm_disarm,
    .ring = shm_ring,
    .counters = shm_counters,
    .destroy = shm_destroy,
};

/* Have the memory that this rank looks at without being asked: desks, its own rings. */
static rondo_status
reserve_own(const rondo_shm *shm)
{
    const rondo_shm_segment *const segment = &shm->segment;
    const rondo_status status =
        rondo_shared_reserve(segment->memory, segment->rings_at);

    if (status != RONDO_OK || segment->block_bytes == 0) {
        return status;
    }
    return rondo_shared_reserve(segment->memory + segment->rings_at +
                                    shm->me * segment->block_bytes,
                                segment->block_bytes);
}

static rondo_status
allocate(rondo_shm *shm)
{
    const uint64_t channels = (uint64_t)shm->segment.layout.nlocal * RONDO_LANES;
    void *memory = NULL;
    rondo_status status = rondo_alloc_zero(shm->nranks * sizeof *shm->places, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    shm->places = memory;
    status =
        rondo_alloc_lines(channels * sizeof *shm->outlets, RONDO_SHM_LINE, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    shm->outlets = memory;
    status = rondo_alloc_lines(channels * sizeof *shm->inlets, RONDO_SHM_LINE, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    shm->inlets = memory;
    return rondo_framing_create(&shm->transport, shm->nranks, &shm->framing);
}

/* The two channels of one lane between `place` and me. */
static void
connect_lane(rondo_shm *shm, uint32_t place, uint32_t peer, rondo_lane lane)
{
    const rondo_shm_segment *const segment = &shm->segment;
    const rondo_shm_pair out = {shm->me, place};
    const rondo_shm_pair in = {place, shm->me};
    const uint64_t at = (uint64_t)place * RONDO_LANES + lane;
    struct rondo_shm_ring *const out_ring = rondo_shm_ring_of(segment, out, lane);
    struct rondo_shm_ring *const in_ring = rondo_shm_ring_of(segment, in, lane);

    /* A limit of 0: the first send takes the slow path, which opens the channel. */
    shm->outlets[at] = (rondo_shm_outlet){
        .cells = out_ring->cells,
        .desk = rondo_shm_desk_of(segment, place),
        .cell_mask = segment->layout.cells - 1,
        .peer = peer,
        .consumed = &out_ring->consumed,
        .store = rondo_shm_store_of(segment, out, lane),
        .pace = {.lap_bytes = segment->store_bytes},
    };
    shm->inlets[at] = (rondo_shm_inlet){
        .cells = in_ring->cells,
        .desk = rondo_shm_desk_of(segment, place),
        .consumed = &in_ring->consumed,
        .cell_mask = segment->layout.cells - 1,
        .peer = peer,
        .store = rondo_shm_store_of(segment, in, lane),
    };
}

static void
connect_all(rondo_shm *shm, const uint32_t *ranks)
{
    for (uint32_t peer = 0; peer < shm->nranks; peer++) {
        shm->places[peer] = NOWHERE;
    }
    for (uint32_t place = 0; place < shm->segment.layout.nlocal; place++) {
        RONDO_ASSERT(ranks[place] < shm->nranks);
        shm->places[ranks[place]] = place;
        for (uint32_t lane = 0; place != shm->me && lane < RONDO_LANES; lane++) {
            connect_lane(shm, place, ranks[place], (rondo_lane)lane);
        }
    }
}

rondo_status
rondo_shm_create(const rondo_shm_setup *setup, rondo_transport **transport)
{
    const rondo_shm_layout *const layout = &setup->layout;
    void *memory = NULL;

    RONDO_ASSERT(setup->me < layout->nlocal);
    RONDO_ASSERT(layout->slots >= 2);
    RONDO_ASSERT(layout->cells >= 2 && (layout->cells & (layout->cells - 1)) == 0);
    RONDO_ASSERT(layout->chunk_bytes > 0 && layout->chunk_bytes % RONDO_SHM_LINE == 0);
    RONDO_ASSERT(layout->chunk_bytes <= UINT32_MAX);
    rondo_status status = rondo_alloc_zero(sizeof(rondo_shm), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_shm *const shm = memory;
    shm->transport.ops = &shm_ops;
    shm->segment = rondo_shm_segment_at(layout, setup->memory);
    shm->me = setup->me;
    shm->nranks = setup->nranks;
    shm->desk = rondo_shm_desk_of(&shm->segment, setup->me);
    status = allocate(shm);
    if (status == RONDO_OK) {
        status = reserve_own(shm);
    }
    if (status != RONDO_OK) {
        shm_destroy(&shm->transport);
        return status;
    }
    connect_all(shm, setup->ranks);
    *transport = &shm->transport;
    return RONDO_OK;
}
