/* instance.c - one rank of one communicator: made, flushed, silenced, destroyed. */
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "transport/ucx/parts.h"

/* Windows: never less than this, since a piece is charged half of one at most. */
#define WINDOW_MIN     (UINT64_C(16) << 10)
#define WINDOW_USUAL   (UINT64_C(2) << 20)
#define WINDOW_CROWD   (UINT64_C(256) << 10)
#define WINDOW_MESSAGE (UINT64_C(256) << 10)
/* All channels of a lane together. */
#define WINDOWS_TOTAL (UINT64_C(32) << 20)

/* How long a destroy waits for parcels that hold a caller's memory. */
#define QUIET_NS (300 * RONDO_NS_PER_MS)

static rondo_ucx_instance *
instance_of(rondo_transport *transport)
{
    return (rondo_ucx_instance *)transport;
}

static rondo_status
ucx_progress(rondo_transport *transport)
{
    rondo_ucx_instance *const instance = instance_of(transport);
    rondo_ucx *const ucx = instance->setup.ucx;
    const rondo_status status = rondo_ucx_usable(instance);

    if (status != RONDO_OK) {
        return status;
    }
    if (rondo_ucx_try(ucx)) {
        rondo_ucx_settle(instance);
        (void)rondo_ucx_pump(ucx);
        rondo_ucx_unlock(ucx);
    }
    return rondo_framing_flush(instance->framing);
}

static rondo_status
ucx_am_send(rondo_transport *transport, uint32_t peer, const rondo_am *message)
{
    return rondo_framing_send(instance_of(transport)->framing, peer, message);
}

static rondo_status
ucx_am_poll(rondo_transport *transport, uint32_t peer, rondo_am_function function,
            void *user)
{
    return rondo_framing_poll(instance_of(transport)->framing, peer, function, user);
}

static void
ucx_counters(const rondo_transport *transport, rondo_transport_counters *counters)
{
    *counters = ((const rondo_ucx_instance *)transport)->counters;
}

/* --- the end ---------------------------------------------------------------------- */

static bool
holds_memory(const struct rondo_ucx_peer *peer)
{
    for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
        if (peer->out[lane].pending > 0) {
            return true;
        }
    }
    return false;
}

/* True: the wire holds no memory of callers. */
static bool
is_quiet(rondo_ucx_instance *instance)
{
    rondo_ucx *const ucx = instance->setup.ucx;
    bool quiet = true;

    rondo_ucx_lock(ucx);
    (void)rondo_ucx_pump(ucx);
    for (uint32_t rank = 0; rank < instance->setup.nranks; rank++) {
        quiet = quiet && !holds_memory(&instance->peers[rank]);
    }
    rondo_ucx_unlock(ucx);
    return quiet;
}

void
rondo_ucx_quiet(rondo_transport *transport, uint64_t wait_ns)
{
    rondo_ucx_instance *const instance = instance_of(transport);
    rondo_ucx *const ucx = instance->setup.ucx;
    const uint64_t until_ns = rondo_now_ns() + wait_ns;

    if (rondo_ucx_forked(ucx)) {
        return;
    }
    while (!is_quiet(instance) && rondo_now_ns() < until_ns) {
        (void)sched_yield();
    }
    rondo_ucx_lock(ucx);
    for (uint32_t rank = 0; rank < instance->setup.nranks; rank++) {
        const struct rondo_ucx_peer *const peer = &instance->peers[rank];
        if (holds_memory(peer)) {
            rondo_ucx_link_cut(ucx, peer->link, "it was cut: it took nothing more");
        }
    }
    rondo_ucx_unlock(ucx);
}

static void
drop_queue(rondo_ucx *ucx, struct rondo_ucx_inlet *inlet)
{
    struct rondo_ucx_node *node = inlet->head;

    while (node != NULL) {
        struct rondo_ucx_node *const next =
            atomic_load_explicit(&node->next, memory_order_relaxed);
        if (node->parcel != NULL) {
            ucx->ops->release(ucx->wire, node->parcel);
        }
        if (node != &inlet->stub) {
            rondo_ucx_node_put(ucx, node);
        }
        node = next;
    }
}

/* With the lock: after this nothing reaches the instance. */
static void
detach(rondo_ucx_instance *instance)
{
    rondo_ucx *const ucx = instance->setup.ucx;

    rondo_ucx_leave(instance);
    rondo_ucx_settle(instance);
    for (uint32_t rank = 0; rank < instance->setup.nranks; rank++) {
        struct rondo_ucx_peer *const peer = &instance->peers[rank];
        for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
            drop_queue(ucx, &peer->in[lane]);
        }
        if (peer->link != NULL) {
            rondo_ucx_link_put(ucx, peer->link);
        }
    }
    for (uint64_t i = 0; i < instance->nblocks; i++) {
        ucx->ops->unmap(ucx->wire, instance->blocks[i].map);
    }
    (void)rondo_ucx_links_reap(ucx);
}

static void
free_instance(rondo_ucx_instance *instance)
{
    rondo_framing_destroy(instance->framing);
    rondo_free(instance->blocks);
    rondo_free(instance->peers);
    rondo_free(instance);
}

static void
ucx_destroy(rondo_transport *transport)
{
    rondo_ucx_instance *const instance = instance_of(transport);
    rondo_ucx *const ucx = instance->setup.ucx;

    if (!rondo_ucx_forked(ucx)) {
        rondo_ucx_quiet(transport, QUIET_NS);
        rondo_ucx_lock(ucx);
        detach(instance);
        rondo_ucx_unlock(ucx);
    }
    free_instance(instance);
}

static const rondo_transport_ops ucx_ops = {
    .name = "ucx",
    .send = rondo_ucx_send,
    .peek = rondo_ucx_peek,
    .consume = rondo_ucx_consume,
    .progress = ucx_progress,
    .am_send = ucx_am_send,
    .am_poll = ucx_am_poll,
    .counters = ucx_counters,
    .destroy = ucx_destroy,
};

/* --- the beginning ---------------------------------------------------------------- */

static uint64_t
within(uint64_t low, uint64_t value, uint64_t high)
{
    const uint64_t least = value > low ? value : low;

    return least < high ? least : high;
}

/* The same on all ranks, as it follows from what all have alike. */
static void
choose_windows(rondo_ucx_instance *instance)
{
    const rondo_ucx_setup *const setup = &instance->setup;
    const uint64_t usual =
        setup->window_bytes == 0
            ? within(WINDOW_CROWD, WINDOWS_TOTAL / setup->nranks, WINDOW_USUAL)
            : within(WINDOW_MIN, setup->window_bytes, UINT64_MAX / 4);

    for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
        const uint64_t window =
            lane == RONDO_LANE_MESSAGE ? within(0, usual, WINDOW_MESSAGE) : usual;
        instance->windows[lane] = window;
        instance->pieces[lane] =
            within(0, setup->ucx->piece_bytes, window / 2 / 64 * 64);
    }
}

static rondo_status
furnish(rondo_ucx_instance *instance)
{
    const uint32_t nranks = instance->setup.nranks;
    void *memory = NULL;
    rondo_status status =
        rondo_alloc_lines(nranks * sizeof *instance->peers, RONDO_UCX_LINE, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    memset(memory, 0, nranks * sizeof *instance->peers);
    instance->peers = memory;
    for (uint32_t rank = 0; rank < nranks; rank++) {
        for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
            struct rondo_ucx_inlet *const inlet = &instance->peers[rank].in[lane];
            inlet->head = &inlet->stub;
            inlet->tail = &inlet->stub;
            inlet->flow.window = instance->windows[lane];
        }
    }
    return rondo_framing_create(&instance->transport, nranks, &instance->framing);
}

rondo_status
rondo_ucx_create(const rondo_ucx_setup *setup, rondo_transport **transport)
{
    void *memory = NULL;

    RONDO_ASSERT(setup->me < setup->nranks);
    rondo_status status = rondo_alloc_zero(sizeof(rondo_ucx_instance), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_ucx_instance *const instance = memory;
    instance->transport.ops = &ucx_ops;
    instance->setup = *setup;
    choose_windows(instance);
    status = furnish(instance);
    if (status == RONDO_OK) {
        status = rondo_ucx_usable(instance);
    }
    if (status != RONDO_OK) {
        free_instance(instance);
        return status;
    }
    rondo_ucx_lock(setup->ucx);
    rondo_ucx_enter(instance);
    rondo_ucx_unlock(setup->ucx);
    *transport = &instance->transport;
    return RONDO_OK;
}

/* --- in between ------------------------------------------------------------------- */

static bool
is_flushed(rondo_ucx_instance *instance)
{
    rondo_ucx *const ucx = instance->setup.ucx;
    bool flushed = true;

    rondo_ucx_lock(ucx);
    (void)rondo_ucx_pump(ucx);
    for (uint32_t rank = 0; rank < instance->setup.nranks; rank++) {
        const struct rondo_ucx_link *const link = instance->peers[rank].link;
        if (link != NULL && link->wire != NULL) {
            flushed = ucx->ops->flushed(ucx->wire, link->wire) && flushed;
        }
    }
    rondo_ucx_unlock(ucx);
    return flushed;
}

void
rondo_ucx_flush(rondo_transport *transport, uint64_t wait_ns)
{
    rondo_ucx_instance *const instance = instance_of(transport);
    const uint64_t until_ns = rondo_now_ns() + wait_ns;
    bool done = rondo_ucx_forked(instance->setup.ucx);

    while (!done) {
        /* What cannot be sent any more is not waited for. */
        const bool all = rondo_framing_flush(instance->framing) < 0 ||
                         rondo_framing_idle(instance->framing);
        done = (is_flushed(instance) && all) || rondo_now_ns() >= until_ns;
        if (!done) {
            (void)sched_yield();
        }
    }
}

void
rondo_ucx_map(rondo_transport *transport, void *memory, size_t bytes)
{
    rondo_ucx_instance *const instance = instance_of(transport);
    rondo_ucx *const ucx = instance->setup.ucx;
    void *blocks = instance->blocks;

    if (rondo_ucx_forked(ucx) || ucx->ops->map == NULL || bytes == 0) {
        return;
    }
    const rondo_status status = rondo_alloc_grow(
        &blocks, instance->nblocks, &instance->blocks_room, sizeof *instance->blocks);
    instance->blocks = blocks;
    if (status != RONDO_OK) {
        return;
    }
    rondo_ucx_lock(ucx);
    rondo_wire_map *const map = ucx->ops->map(ucx->wire, memory, bytes);
    rondo_ucx_unlock(ucx);
    if (map != NULL) {
        instance->blocks[instance->nblocks] =
            (struct rondo_ucx_block){memory, bytes, map};
        instance->nblocks++;
    }
}

void
rondo_ucx_unmap(rondo_transport *transport, void *memory)
{
    rondo_ucx_instance *const instance = instance_of(transport);
    rondo_ucx *const ucx = instance->setup.ucx;
    uint64_t at = 0;

    while (at < instance->nblocks && instance->blocks[at].memory != memory) {
        at++;
    }
    if (at == instance->nblocks || rondo_ucx_forked(ucx)) {
        return;
    }
    rondo_ucx_quiet(transport, QUIET_NS);
    rondo_ucx_lock(ucx);
    ucx->ops->unmap(ucx->wire, instance->blocks[at].map);
    rondo_ucx_unlock(ucx);
    instance->nblocks--;
    instance->blocks[at] = instance->blocks[instance->nblocks];
}
