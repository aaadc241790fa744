/*
 * channel.c - the rings: sending, peeking and consuming pieces.
 *
 * A piece is a cell; what does not fit into a cell lies in the channel's store, a ring
 * of bytes. The n-th piece of a channel is in cell n mod cells; its bytes begin at the
 * next line of the store where they lie in one run. Both sides count; nobody has to be
 * told where anything is.
 *
 * The store is larger than a core's second-level cache on purpose. Measured: writing
 * over lines that the receiver still has in its cache moves 9 GB/s, over lines that
 * both have lost to the shared cache 35 GB/s. Therefore pieces are packed, instead of
 * each having a slot of its own, of which short ones would use the same few lines again
 * and again. The shortest lie apart from each other all the same: the receiver's core
 * would fetch the next one's lines in advance, while they are being written.
 *
 * The receiver publishes how many bytes it has consumed with each piece that has any in
 * the store. Cells it publishes with them, and else only when half a ring has come
 * together. No sender waits for ever:
 *   cells: after each consume fewer than half a ring is unpublished. So when a sender
 *     finds the ring full, more than half of it is not consumed; the receiver finds the
 *     first of these pieces at the head and, on its way through them, publishes.
 *   bytes: a sender that finds no room has pieces in the store that are not consumed:
 *     if all were, all would be published, and a piece (with what is left over at the
 *     end) needs less than two chunks, which the store has at least.
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
    const uint64_t bytes =
        atomic_load_explicit(&outlet->consumed->bytes, memory_order_acquire);
    const uint64_t cells =
        atomic_load_explicit(&outlet->consumed->cells, memory_order_acquire);

    if (cells > outlet->position || bytes > outlet->bytes) {
        return foreign(outlet->peer, "more was consumed than was sent");
    }
    const uint64_t limit = cells + shm->segment.layout.cells;
    const uint64_t bytes_limit = bytes + shm->segment.store_bytes;
    if (limit < outlet->limit || bytes_limit < outlet->bytes_limit) {
        return foreign(outlet->peer, "less was consumed than before");
    }
    outlet->limit = limit;
    outlet->bytes_limit = bytes_limit;
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

/* What a piece takes of the store: whole lines, in one run. */
struct span {
    uint64_t offset; /* where the run begins */
    uint64_t end;    /* where the next one may */
    uint64_t taken;  /* the run, and what is left over at the end before it */
};

static struct span
span_of(const rondo_shm *shm, uint64_t offset, uint64_t bytes)
{
    const rondo_shm_segment *const segment = &shm->segment;
    const uint64_t lines = (bytes + RONDO_SHM_LINE - 1) / RONDO_SHM_LINE;
    const uint64_t run =
        bytes <= RONDO_SHM_SPARSE ? segment->sparse_bytes : lines * RONDO_SHM_LINE;
    const uint64_t left = segment->store_bytes - offset;

    return run <= left ? (struct span){offset, offset + run, run}
                       : (struct span){0, run, left + run};
}

/* How far a store is reserved when it must reach to `end` and does to `reserved`: twice
 * as far each time, since every call asks the system how much memory there is. */
static uint64_t
next_reserve(const rondo_shm *shm, uint64_t reserved, uint64_t end)
{
    const rondo_shm_segment *const segment = &shm->segment;
    uint64_t next = reserved == 0 ? segment->first_bytes : reserved * 2;

    while (next < end) {
        next *= 2;
    }
    return next < segment->store_bytes ? next : segment->store_bytes;
}

/* The first lap through the store has memory put behind it. */
static rondo_status
store_reserve(const rondo_shm *shm, rondo_shm_outlet *outlet, uint64_t end)
{
    if (end <= outlet->reserved) {
        return RONDO_OK;
    }
    const uint64_t next = next_reserve(shm, outlet->reserved, end);
    const rondo_status status =
        rondo_shared_reserve(outlet->store + outlet->reserved, next - outlet->reserved);
    if (status == RONDO_OK) {
        outlet->reserved = next;
    }
    return status;
}

/* The sender has put memory there; mapping it in one go spares us a fault a page. That
 * it could not be done does not matter. */
static void
store_map(const rondo_shm *shm, rondo_shm_inlet *inlet, uint64_t end)
{
    if (end <= inlet->mapped) {
        return;
    }
    const uint64_t next = next_reserve(shm, inlet->mapped, end);
    const rondo_status status =
        rondo_shared_reserve(inlet->store + inlet->mapped, next - inlet->mapped);
    /* Not asked for again either way. */
    inlet->mapped = status == RONDO_OK ? next : shm->segment.store_bytes;
}

/* RONDO_OK: there is room for `span`, and memory. RONDO_BUSY: the store is full. */
static rondo_status
want_span(const rondo_shm *shm, rondo_shm_outlet *outlet, const struct span *span,
          uint64_t bytes)
{
    if (outlet->bytes + span->taken > outlet->bytes_limit) {
        const rondo_status status = refresh(shm, outlet);
        if (status != RONDO_OK) {
            return status;
        }
        if (outlet->bytes + span->taken > outlet->bytes_limit) {
            return RONDO_BUSY;
        }
    }
    return store_reserve(shm, outlet, span->offset + bytes);
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

/* Release: whoever sees the stamp sees the cell and the store. */
static void
post(rondo_shm_outlet *outlet, struct rondo_shm_cell *cell)
{
    outlet->position++;
    atomic_store_explicit(&cell->stamp, outlet->position, memory_order_release);
    rondo_shm_nudge(outlet->desk);
    /* The next piece's cell is fetched for writing while nobody waits for it. */
    rondo_shm_fetch(&outlet->cells[outlet->position & outlet->cell_mask]);
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

/* The next piece of a message, through the store. */
static rondo_status
post_in_store(rondo_shm *shm, rondo_shm_outlet *outlet, rondo_outgoing *message)
{
    const uint64_t left = message->bytes - message->done_bytes;
    const uint64_t most = shm->segment.layout.chunk_bytes;
    const uint64_t bytes = left < most ? left : most;
    const struct span span = span_of(shm, outlet->offset, bytes);
    const rondo_status status = want_span(shm, outlet, &span, bytes);

    if (status != RONDO_OK) {
        return status;
    }
    struct rondo_shm_cell *const cell =
        fill_cell(outlet, message->token, bytes, bytes == left ? RONDO_SHM_LAST : 0);
    rondo_shm_copy(&outlet->pace, outlet->store + span.offset,
                   (const char *)message->data + message->done_bytes, bytes);
    outlet->bytes += span.taken;
    outlet->offset = span.end;
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
            status = post_in_store(shm, outlet, message);
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
    inlet->shown_bytes = bytes;
    inlet->shown_in_cell = (flags & RONDO_SHM_IN_CELL) != 0;
    inlet->shown_last = (flags & RONDO_SHM_LAST) != 0;
    if (inlet->shown_in_cell) {
        piece->data = cell->payload;
    } else {
        const uint64_t offset = span_of(shm, inlet->offset, bytes).offset;

        store_map(shm, inlet, offset + bytes);
        piece->data = inlet->store + offset;
    }
    piece->bytes = bytes;
    piece->token = atomic_load_explicit(&cell->token, memory_order_relaxed);
    piece->last = inlet->shown_last;
    return RONDO_OK;
}

/* Release: what is published as consumed has been read for the last time. */
static void
publish(rondo_shm_inlet *inlet)
{
    atomic_store_explicit(&inlet->consumed->bytes, inlet->bytes, memory_order_release);
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
        const struct span span = span_of(shm, inlet->offset, inlet->shown_bytes);
        inlet->bytes += span.taken;
        inlet->offset = span.end;
        publish(inlet);
    } else if (inlet->position - inlet->published > inlet->cell_mask / 2) {
        publish(inlet);
    }
}
