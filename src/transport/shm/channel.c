/*
 * channel.c - the rings: sending, peeking and consuming pieces.
 *
 * A piece is a cell; what does not fit into a cell lies in a chunk. The n-th piece of a
 * channel is in cell n mod cells, its k-th chunk in slot k mod slots: both sides count,
 * nobody has to be told.
 *
 * The receiver publishes how many chunks it has consumed at once, so that the sender
 * writes into memory that is still in the cache. Cells it publishes with the chunks,
 * and else only when half a ring has come together. No sender waits for cells for ever:
 * after each consume fewer than half a ring is unpublished. So when a sender finds the
 * ring full, more than half of it is not consumed; the receiver finds the first of
 * these pieces at the head of the channel and, on its way through them, publishes.
 * Nothing is asked of the receiver but to consume what lies at the head, which a
 * channel without any buffer would ask too.
 */
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/shared.h"
#include "transport/shm/instance.h"

static rondo_shm_outlet *
outlet_at(rondo_shm *shm, uint32_t peer, rondo_lane lane)
{
    RONDO_ASSERT(peer < shm->nranks);
    RONDO_ASSERT(shm->places[peer] != UINT32_MAX);
    RONDO_ASSERT(shm->places[peer] != shm->me);
    return &shm->outlets[shm->places[peer] * RONDO_LANES + lane];
}

static rondo_shm_inlet *
inlet_at(rondo_shm *shm, uint32_t peer, rondo_lane lane)
{
    RONDO_ASSERT(peer < shm->nranks);
    RONDO_ASSERT(shm->places[peer] != UINT32_MAX);
    RONDO_ASSERT(shm->places[peer] != shm->me);
    return &shm->inlets[shm->places[peer] * RONDO_LANES + lane];
}

static rondo_status
foreign(uint32_t peer, const char *what)
{
    return rondo_error(RONDO_ERR_WIRE,
                       "shared memory of rank %u holds what it cannot hold: %s", peer,
                       what);
}

/*
 * Look how far the receiver has come. Acquire: pairs with the release in publish; what
 * the receiver has read, it has read before we write over it.
 */
static rondo_status
refresh(const rondo_shm *shm, rondo_shm_outlet *outlet)
{
    if (!outlet->open) {
        const rondo_status status =
            rondo_shared_reserve(outlet->consumed, shm->segment.ring_bytes);
        if (status != RONDO_OK) {
            return status;
        }
        outlet->open = true;
    }
    const uint64_t chunks =
        atomic_load_explicit(&outlet->consumed->chunks, memory_order_acquire);
    const uint64_t cells =
        atomic_load_explicit(&outlet->consumed->cells, memory_order_acquire);

    if (cells > outlet->position || chunks > outlet->chunks_sent) {
        return foreign(outlet->peer, "more was consumed than was sent");
    }
    const uint64_t limit = cells + shm->segment.layout.cells;
    const uint64_t chunks_limit = chunks + shm->segment.layout.slots;
    if (limit < outlet->limit || chunks_limit < outlet->chunks_limit) {
        return foreign(outlet->peer, "less was consumed than before");
    }
    outlet->limit = limit;
    outlet->chunks_limit = chunks_limit;
    return RONDO_OK;
}

/* RONDO_OK: there is a free cell. */
static rondo_status
want_cell(const rondo_shm *shm, rondo_shm_outlet *outlet)
{
    if (__builtin_expect(outlet->position < outlet->limit, 1)) {
        return RONDO_OK;
    }
    const rondo_status status = refresh(shm, outlet);
    if (status != RONDO_OK) {
        return status;
    }
    return outlet->position < outlet->limit ? RONDO_OK : RONDO_BUSY;
}

static rondo_status
chunk_reserve(const rondo_shm *shm, rondo_shm_outlet *outlet, uint64_t slot)
{
    const uint64_t chunk_bytes = shm->segment.layout.chunk_bytes;
    const rondo_status status =
        rondo_shared_reserve(outlet->chunks + slot * chunk_bytes, chunk_bytes);

    if (status == RONDO_OK) {
        outlet->reserved |= UINT64_C(1) << slot;
    }
    return status;
}

/* The next free chunk. RONDO_BUSY: all are in use. */
static rondo_status
want_chunk(const rondo_shm *shm, rondo_shm_outlet *outlet, unsigned char **chunk)
{
    const rondo_shm_layout *const layout = &shm->segment.layout;
    const uint64_t slot = outlet->chunks_sent & (layout->slots - 1);

    if (outlet->chunks_sent == outlet->chunks_limit) {
        const rondo_status status = refresh(shm, outlet);
        if (status != RONDO_OK) {
            return status;
        }
        if (outlet->chunks_sent == outlet->chunks_limit) {
            return RONDO_BUSY;
        }
    }
    if ((outlet->reserved >> slot & 1) == 0) {
        const rondo_status status = chunk_reserve(shm, outlet, slot);
        if (status != RONDO_OK) {
            return status;
        }
    }
    *chunk = outlet->chunks + slot * layout->chunk_bytes;
    return RONDO_OK;
}

/* The cell that the next piece goes into, filled but for the payload and the stamp. */
static struct rondo_shm_cell *
fill_cell(const rondo_shm_outlet *outlet, uint64_t token, uint64_t bytes,
          uint32_t flags)
{
    struct rondo_shm_cell *const cell =
        &outlet->cells[outlet->position & outlet->cell_mask];

    atomic_store_explicit(&cell->token, token, memory_order_relaxed);
    atomic_store_explicit(&cell->bytes, (uint32_t)bytes, memory_order_relaxed);
    atomic_store_explicit(&cell->flags, flags, memory_order_relaxed);
    return cell;
}

/* Release: whoever sees the stamp sees the cell and the chunk. */
static void
post(rondo_shm_outlet *outlet, struct rondo_shm_cell *cell)
{
    outlet->position++;
    atomic_store_explicit(&cell->stamp, outlet->position, memory_order_release);
    rondo_shm_nudge(outlet->desk);
}

/* The last piece of a message, short enough for a cell. */
static void
post_in_cell(rondo_shm *shm, rondo_shm_outlet *outlet, rondo_outgoing *message)
{
    const uint64_t bytes = message->bytes - message->done_bytes;
    struct rondo_shm_cell *const cell =
        fill_cell(outlet, message->token, bytes, RONDO_SHM_LAST | RONDO_SHM_IN_CELL);

    if (bytes > 0) {
        memcpy(cell->payload, (const char *)message->data + message->done_bytes, bytes);
    }
    post(outlet, cell);
    message->done_bytes = message->bytes;
    shm->counters.sent_bytes += bytes;
}

/* The next piece of a message, through a chunk. */
static rondo_status
post_in_chunk(rondo_shm *shm, rondo_shm_outlet *outlet, rondo_outgoing *message)
{
    const uint64_t left = message->bytes - message->done_bytes;
    const uint64_t most = shm->segment.layout.chunk_bytes;
    const uint64_t bytes = left < most ? left : most;
    unsigned char *chunk = NULL;
    const rondo_status status = want_chunk(shm, outlet, &chunk);

    if (status != RONDO_OK) {
        return status;
    }
    struct rondo_shm_cell *const cell =
        fill_cell(outlet, message->token, bytes, bytes == left ? RONDO_SHM_LAST : 0);
    rondo_shm_fill(&shm->filler, chunk,
                   (const char *)message->data + message->done_bytes, bytes);
    outlet->chunks_sent++;
    post(outlet, cell);
    message->done_bytes += bytes;
    shm->counters.sent_bytes += bytes;
    return RONDO_OK;
}

/* Messages that do not fit into one cell. */
static rondo_status
send_pieces(rondo_shm *shm, rondo_shm_outlet *outlet, rondo_outgoing *message)
{
    if (outlet->midway && message->done_bytes == 0) {
        return RONDO_BUSY; /* another message is not through yet */
    }
    while (message->bytes - message->done_bytes > RONDO_SHM_INLINE) {
        rondo_status status = want_cell(shm, outlet);
        if (status == RONDO_OK) {
            status = post_in_chunk(shm, outlet, message);
        }
        if (status != RONDO_OK) {
            return status;
        }
        outlet->midway = message->done_bytes < message->bytes;
    }
    if (outlet->midway) {
        const rondo_status status = want_cell(shm, outlet);
        if (status != RONDO_OK) {
            return status;
        }
        post_in_cell(shm, outlet, message);
        outlet->midway = false;
    }
    shm->counters.messages++;
    return RONDO_OK;
}

rondo_status
rondo_shm_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_outgoing *message)
{
    rondo_shm *const shm = (rondo_shm *)transport;
    rondo_shm_outlet *const outlet = outlet_at(shm, peer, lane);

    RONDO_ASSERT(message->done_bytes <= message->bytes);
    if (message->bytes > RONDO_SHM_INLINE) {
        return send_pieces(shm, outlet, message);
    }
    if (__builtin_expect(outlet->midway, 0)) {
        return RONDO_BUSY;
    }
    const rondo_status status = want_cell(shm, outlet);
    if (status != RONDO_OK) {
        return status;
    }
    post_in_cell(shm, outlet, message);
    shm->counters.messages++;
    return RONDO_OK;
}

/* A stamp that is not the expected one: the cell's last use, or nonsense. */
static rondo_status
not_yet(const rondo_shm_inlet *inlet, uint64_t stamp)
{
    const uint64_t cells = (uint64_t)inlet->cell_mask + 1;
    const uint64_t before = inlet->position >= cells ? inlet->position + 1 - cells : 0;

    return stamp == before ? RONDO_BUSY : foreign(inlet->peer, "a piece out of turn");
}

/* Whether a cell says what a sane sender could say. */
static bool
is_sane(const rondo_shm *shm, const rondo_shm_inlet *inlet, uint32_t bytes,
        uint32_t flags)
{
    const bool last = (flags & RONDO_SHM_LAST) != 0;

    if ((flags & ~(RONDO_SHM_LAST | RONDO_SHM_IN_CELL)) != 0) {
        return false;
    }
    if ((flags & RONDO_SHM_IN_CELL) != 0) {
        return last && bytes <= RONDO_SHM_INLINE && (bytes > 0 || !inlet->midway);
    }
    return bytes > 0 && bytes <= shm->segment.layout.chunk_bytes &&
           (last || bytes % RONDO_SHM_LINE == 0);
}

rondo_status
rondo_shm_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_incoming *piece)
{
    rondo_shm *const shm = (rondo_shm *)transport;
    rondo_shm_inlet *const inlet = inlet_at(shm, peer, lane);
    struct rondo_shm_cell *const cell =
        &inlet->cells[inlet->position & inlet->cell_mask];
    /* Acquire: pairs with the release in post. */
    const uint64_t stamp = atomic_load_explicit(&cell->stamp, memory_order_acquire);

    if (stamp != inlet->position + 1) {
        return not_yet(inlet, stamp);
    }
    const uint32_t bytes = atomic_load_explicit(&cell->bytes, memory_order_relaxed);
    const uint32_t flags = atomic_load_explicit(&cell->flags, memory_order_relaxed);

    if (__builtin_expect(!is_sane(shm, inlet, bytes, flags), 0)) {
        return foreign(peer, "a piece of impossible length or kind");
    }
    const uint64_t slot = inlet->chunks_consumed & (shm->segment.layout.slots - 1);
    inlet->shown_bytes = bytes;
    inlet->shown_in_cell = (flags & RONDO_SHM_IN_CELL) != 0;
    inlet->shown_last = (flags & RONDO_SHM_LAST) != 0;
    piece->data = inlet->shown_in_cell
                      ? cell->payload
                      : inlet->chunks + slot * shm->segment.layout.chunk_bytes;
    piece->bytes = bytes;
    piece->token = atomic_load_explicit(&cell->token, memory_order_relaxed);
    piece->last = inlet->shown_last;
    return RONDO_OK;
}

/* Release: what is published as consumed has been read for the last time. */
static void
publish(rondo_shm_inlet *inlet)
{
    atomic_store_explicit(&inlet->consumed->chunks, inlet->chunks_consumed,
                          memory_order_release);
    atomic_store_explicit(&inlet->consumed->cells, inlet->position,
                          memory_order_release);
    inlet->published = inlet->position;
    rondo_shm_nudge(inlet->desk);
}

void
rondo_shm_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane)
{
    rondo_shm *const shm = (rondo_shm *)transport;
    rondo_shm_inlet *const inlet = inlet_at(shm, peer, lane);

    shm->counters.received_bytes += inlet->shown_bytes;
    inlet->position++;
    inlet->midway = !inlet->shown_last;
    if (!inlet->shown_in_cell) {
        inlet->chunks_consumed++;
        publish(inlet);
    } else if (inlet->position - inlet->published > inlet->cell_mask / 2) {
        publish(inlet);
    }
}
