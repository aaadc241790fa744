/*
 * inbox.c - parcels that come in, and those that their receiver keeps for a while.
 *
 * Where UCX can leave a parcel in the memory it was received in (RDMA), it stays there
 * until it is released. TCP uses its receive buffer again as soon as the handler
 * returns, so that data is copied, once, before the receiver sees it: it may remember
 * the address.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/ucx/module/wire_state.h"

static const size_t small_room = 2048;

static size_t
room_class(size_t bytes)
{
    return bytes <= small_room ? 0 : 1;
}

/* Null: no memory. Not on any list yet. */
static rondo_ucx_kept *
take(rondo_wire *wire, size_t bytes)
{
    rondo_ucx_node *list = &wire->free_kept[room_class(bytes)];
    if (!rondo_ucx_list_empty(list)) {
        rondo_ucx_node *node = list->next;
        rondo_ucx_list_remove(node);
        return (rondo_ucx_kept *)node;
    }
    size_t room = room_class(bytes) == 0 ? small_room : wire->parcel_bytes;
    if (room < bytes) {
        room = bytes;
    }
    /* A whole number of lines, as aligned_alloc wants. */
    const size_t whole = (sizeof(rondo_ucx_kept) + room + 63) / 64 * 64;
    rondo_ucx_kept *kept = aligned_alloc(64, whole);
    if (kept != NULL) {
        kept->room_bytes = room;
    }
    return kept;
}

static void
give_back(rondo_wire *wire, rondo_ucx_kept *kept)
{
    if (kept->room_bytes > small_room && kept->room_bytes != wire->parcel_bytes) {
        free(kept);
        return;
    }
    kept->held = NULL;
    rondo_ucx_list_add(&wire->free_kept[room_class(kept->room_bytes)], &kept->node);
}

/* Nothing may be lost in silence: without memory for a parcel, and not knowing whose it
 * is, all links are. */
static void
out_of_memory(rondo_wire *wire)
{
    for (rondo_ucx_node *node = wire->links.next; node != &wire->links;
         node = node->next) {
        rondo_ucx_link_failed((rondo_wire_link *)node, UCS_ERR_NO_MEMORY);
    }
}

static ucs_status_t
parcel_came(void *context, const void *header, size_t header_bytes, void *data,
            size_t bytes, const ucp_am_recv_param_t *param)
{
    rondo_wire *wire = context;
    const bool stays = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    wire->news++;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 ||
        header_bytes > RONDO_WIRE_HEADER_MAX) {
        /* No wire of ours sends such a thing. */
        return UCS_OK;
    }
    rondo_ucx_kept *kept = take(wire, stays ? 0 : bytes);
    if (kept == NULL) {
        out_of_memory(wire);
        return UCS_OK;
    }
    const void *shown = data;
    kept->held = stays ? data : NULL;
    if (!stays && bytes > 0) {
        memcpy(kept->room, data, bytes);
        shown = kept->room;
    }
    rondo_ucx_list_add(&wire->kept, &kept->node);
    if (wire->arrived(wire->user, header, header_bytes, shown, bytes, kept)) {
        return stays ? UCS_INPROGRESS : UCS_OK;
    }
    rondo_ucx_list_remove(&kept->node);
    give_back(wire, kept);
    return UCS_OK;
}

ucs_status_t
rondo_ucx_inbox_open(rondo_wire *wire)
{
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = RONDO_UCX_PARCEL_ID,
        .cb = parcel_came,
        .arg = wire,
    };
    return ucp_worker_set_am_recv_handler(wire->worker, &handler);
}

void
rondo_ucx_release(rondo_wire *wire, void *parcel)
{
    rondo_ucx_kept *kept = parcel;
    if (kept->held != NULL) {
        ucp_am_data_release(wire->worker, kept->held);
    }
    rondo_ucx_list_remove(&kept->node);
    give_back(wire, kept);
}

static void
free_all(rondo_ucx_node *list)
{
    while (!rondo_ucx_list_empty(list)) {
        rondo_ucx_node *node = list->next;
        rondo_ucx_list_remove(node);
        free(node);
    }
}

void
rondo_ucx_inbox_close(rondo_wire *wire)
{
    while (!rondo_ucx_list_empty(&wire->kept)) {
        rondo_ucx_release(wire, wire->kept.next);
    }
    for (size_t k = 0; k < RONDO_UCX_ROOMS; k++) {
        free_all(&wire->free_kept[k]);
    }
}
