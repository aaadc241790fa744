/*
 * channel.c - sending, peeking and consuming pieces over the wire.
 *
 * A message leaves as parcels of at most one fragment of the wire, straight from the
 * caller's memory; it is taken once the wire is done with all of them. The parcels of
 * active messages are copied first, so they are taken as soon as they are sent.
 *
 * A sender may be ahead of its receiver by a window of charges (parcel.h). The receiver
 * tells with every parcel of the other direction what it has consumed, and by a parcel
 * of its own once that is a quarter of the window. No sender waits for ever: a piece is
 * charged half a window at most, so one that finds no room has more than half a window
 * under way, of which the receiver consumes what lies at the head and, on its way
 * through, tells it.
 */
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "transport/ucx/parts.h"

/* Rounds of progress after a loss, if there is always more. */
#define DRY_ROUNDS 64

/* A message on its way out of one channel. */
struct passage {
    rondo_ucx_instance *instance;
    struct rondo_ucx_link *link;
    struct rondo_ucx_outlet *outlet;
    rondo_outgoing *message;
    uint32_t peer;
    rondo_lane lane;
};

static bool
is_copied(const struct passage *passage)
{
    return passage->lane == RONDO_LANE_MESSAGE;
}

/* Registered memory that holds all of the piece. */
static const rondo_wire_map *
map_of(const rondo_ucx_instance *instance, const void *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < instance->nblocks; i++) {
        const struct rondo_ucx_block *const block = &instance->blocks[i];
        const uint64_t at = (uint64_t)((uintptr_t)data - (uintptr_t)block->memory);
        if (at < block->bytes && bytes <= block->bytes - at) {
            return block->map;
        }
    }
    return NULL;
}

/* Where the piece lies, in the entry or at the caller's. */
static void
load(const struct passage *passage, struct rondo_ucx_entry *entry, uint64_t bytes)
{
    const unsigned char *const data = passage->message->data;
    rondo_wire_parcel *const parcel = &entry->parcel;

    parcel->header = &entry->header;
    parcel->header_bytes = sizeof entry->header;
    parcel->data = bytes == 0 ? NULL : data + passage->message->done_bytes;
    parcel->bytes = bytes;
    parcel->map = NULL;
    if (bytes == 0) {
        return;
    }
    if (is_copied(passage)) {
        unsigned char *const copy = entry->buffer == NULL ? entry->near : entry->buffer;
        memcpy(copy, parcel->data, bytes);
        parcel->data = copy;
        return;
    }
    parcel->map = map_of(passage->instance, parcel->data, bytes);
    entry->owner = passage->instance;
    entry->outlet = passage->outlet;
}

static rondo_status
send_piece(const struct passage *passage, uint64_t bytes)
{
    rondo_ucx *const ucx = passage->instance->setup.ucx;
    rondo_outgoing *const message = passage->message;
    rondo_parcel_outflow *const flow = &passage->outlet->flow;
    struct rondo_ucx_entry *const entry =
        rondo_ucx_entry_take(ucx, is_copied(passage) ? bytes : 0);

    if (entry == NULL) {
        return rondo_error(RONDO_ERR_MEMORY, "no memory to send to rank %u",
                           passage->peer);
    }
    load(passage, entry, bytes);
    entry->header = rondo_ucx_header(passage->instance, passage->peer, passage->lane);
    entry->header.kind = RONDO_PARCEL_DATA;
    entry->header.flags =
        message->done_bytes + bytes == message->bytes ? RONDO_PARCEL_LAST : 0;
    entry->header.token = message->token;
    entry->header.total = message->bytes;
    entry->header.sequence = flow->sequence;
    flow->sequence++;
    flow->charged += rondo_parcel_charge(bytes);
    message->done_bytes += bytes;
    passage->instance->counters.sent_bytes += bytes;
    rondo_ucx_link_send(ucx, passage->link, entry);
    return rondo_ucx_linked(passage->instance, passage->peer);
}

static bool
has_room(const struct passage *passage, uint64_t bytes)
{
    const rondo_parcel_outflow *const flow = &passage->outlet->flow;
    const uint64_t under_way = flow->charged - flow->credit;

    return !passage->link->failing && passage->outlet->pending < RONDO_UCX_FLIGHT &&
           under_way + rondo_parcel_charge(bytes) <=
               passage->instance->windows[passage->lane];
}

/* RONDO_BUSY: no room for the next piece. */
static rondo_status
send_pieces(const struct passage *passage)
{
    rondo_outgoing *const message = passage->message;
    const uint64_t most = passage->instance->pieces[passage->lane];
    rondo_status status = RONDO_OK;

    do {
        const uint64_t left = message->bytes - message->done_bytes;
        const uint64_t bytes = left < most ? left : most;
        if (!has_room(passage, bytes)) {
            return RONDO_BUSY;
        }
        status = send_piece(passage, bytes);
        passage->outlet->midway = message->bytes > 0;
    } while (status == RONDO_OK && message->done_bytes < message->bytes);
    return status;
}

/* Whether all has been sent and the caller's memory is not needed any more. */
static bool
is_taken(const struct passage *passage)
{
    return passage->outlet->midway &&
           passage->message->done_bytes == passage->message->bytes &&
           passage->outlet->pending == 0;
}

/* One round of what there is room for. RONDO_OK: taken. */
static rondo_status
push(const struct passage *passage)
{
    rondo_outgoing *const message = passage->message;
    const bool begun = message->done_bytes > 0;
    rondo_status status = RONDO_OK;

    if (passage->link->failing || (passage->outlet->midway && !begun)) {
        return RONDO_BUSY; /* soon lost; or another message is not through yet */
    }
    if (message->done_bytes < message->bytes || !begun) {
        status = send_pieces(passage);
    }
    if (status != RONDO_OK) {
        return status;
    }
    return message->bytes == 0 || is_taken(passage) ? RONDO_OK : RONDO_BUSY;
}

rondo_status
rondo_ucx_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_outgoing *message)
{
    rondo_ucx_instance *const instance = (rondo_ucx_instance *)transport;
    rondo_ucx *const ucx = instance->setup.ucx;

    RONDO_ASSERT(peer < instance->setup.nranks);
    RONDO_ASSERT(peer != instance->setup.me);
    rondo_status status = rondo_ucx_usable(instance);
    if (status == RONDO_OK) {
        status = rondo_ucx_reach(instance, peer);
    }
    if (status != RONDO_OK) {
        return status;
    }
    struct rondo_ucx_peer *const at = &instance->peers[peer];
    const struct passage passage = {instance, at->link, &at->out[lane],
                                    message,  peer,     lane};
    rondo_ucx_lock(ucx);
    status = rondo_ucx_linked(instance, peer);
    if (status == RONDO_OK) {
        status = push(&passage);
    }
    if (status == RONDO_BUSY) {
        (void)rondo_ucx_pump(ucx);
        rondo_ucx_settle(instance);
        status = rondo_ucx_linked(instance, peer);
        status = status == RONDO_OK ? push(&passage) : status;
    }
    rondo_ucx_unlock(ucx);
    if (status == RONDO_OK) {
        passage.outlet->midway = false;
        instance->counters.messages++;
    }
    return status;
}

/* --- receiving -------------------------------------------------------------------- */

/* Acquire: pairs with the release in append. */
static struct rondo_ucx_node *
first_of(const struct rondo_ucx_inlet *inlet)
{
    return atomic_load_explicit(&inlet->head->next, memory_order_acquire);
}

/* After a loss: all that the wire still has of what came before it. */
static void
pump_dry(rondo_ucx_instance *instance)
{
    rondo_ucx *const ucx = instance->setup.ucx;
    int rounds = 0;

    rondo_ucx_lock(ucx);
    while (rondo_ucx_pump(ucx) > 0 && rounds < DRY_ROUNDS) {
        rounds++;
    }
    rondo_ucx_unlock(ucx);
}

/* Nothing is there: make progress, unless somebody does already. */
static rondo_status
look(rondo_ucx_instance *instance, uint32_t peer, rondo_lane lane)
{
    rondo_ucx *const ucx = instance->setup.ucx;
    const struct rondo_ucx_inlet *const inlet = &instance->peers[peer].in[lane];

    if (rondo_ucx_forked(ucx)) {
        return rondo_ucx_usable(instance);
    }
    if (rondo_ucx_owes(inlet, instance->windows[lane])) {
        rondo_ucx_repay(instance, peer, lane);
    }
    if (rondo_ucx_try(ucx)) {
        rondo_ucx_settle(instance);
        (void)rondo_ucx_pump(ucx);
        rondo_ucx_unlock(ucx);
    }
    if (first_of(inlet) != NULL) {
        return RONDO_OK;
    }
    rondo_status status = rondo_ucx_usable(instance);
    if (status == RONDO_OK) {
        status = rondo_ucx_linked(instance, peer);
    }
    if (status == RONDO_OK) {
        return RONDO_BUSY;
    }
    pump_dry(instance);
    return first_of(inlet) == NULL ? status : RONDO_OK;
}

rondo_status
rondo_ucx_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_incoming *piece)
{
    rondo_ucx_instance *const instance = (rondo_ucx_instance *)transport;

    RONDO_ASSERT(peer < instance->setup.nranks);
    struct rondo_ucx_inlet *const inlet = &instance->peers[peer].in[lane];
    struct rondo_ucx_node *node = first_of(inlet);

    if (node == NULL) {
        const rondo_status status = look(instance, peer, lane);
        if (status != RONDO_OK) {
            return status;
        }
        node = first_of(inlet);
    }
    RONDO_ASSERT(node != NULL);
    inlet->shown = node;
    piece->data = node->data;
    piece->bytes = node->bytes;
    piece->token = node->token;
    piece->last = node->last;
    return RONDO_OK;
}

/* The node shown becomes the head, whose own piece nobody looks at any more. */
static void
retire_head(rondo_ucx_instance *instance, struct rondo_ucx_inlet *inlet)
{
    struct rondo_ucx_node *const old = inlet->head;

    inlet->head = inlet->shown;
    inlet->shown = NULL;
    if (old != &inlet->stub) {
        atomic_store_explicit(&old->next, instance->retired, memory_order_relaxed);
        instance->retired = old;
        instance->nretired++;
    }
}

void
rondo_ucx_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane)
{
    rondo_ucx_instance *const instance = (rondo_ucx_instance *)transport;
    struct rondo_ucx_inlet *const inlet = &instance->peers[peer].in[lane];
    struct rondo_ucx_node *const node = inlet->shown;

    RONDO_ASSERT(node != NULL);
    instance->counters.received_bytes += node->bytes;
    inlet->consumed += rondo_parcel_charge(node->bytes);
    if (node->parcel != NULL) {
        instance->spent[instance->nspent] = node->parcel;
        instance->nspent++;
        node->parcel = NULL;
    }
    retire_head(instance, inlet);
    if (rondo_ucx_forked(instance->setup.ucx)) {
        instance->nspent = 0;
        return;
    }
    if (instance->nspent == RONDO_UCX_SPENT ||
        instance->nretired >= RONDO_UCX_RETIRED ||
        rondo_ucx_owes(inlet, instance->windows[lane])) {
        rondo_ucx_repay(instance, peer, lane);
    }
}
