/*
 * send.c - parcels that go out: always eager, so that UCX's rendezvous for active
 * messages, which leaks receive descriptors in 1.13, is never used.
 */
#include <stdlib.h>

#include "transport/ucx/module/wire_state.h"

static rondo_ucx_sending *
take(rondo_wire *wire)
{
    rondo_ucx_node *list = &wire->free_sending;
    if (rondo_ucx_list_empty(list)) {
        return malloc(sizeof(rondo_ucx_sending));
    }
    rondo_ucx_node *node = list->next;
    rondo_ucx_list_remove(node);
    return (rondo_ucx_sending *)node;
}

static void
finish(rondo_wire_parcel *parcel, bool failed)
{
    parcel->failed = failed;
    parcel->done = true;
}

static void
sent(void *request, ucs_status_t status, void *user_data)
{
    rondo_ucx_sending *sending = user_data;
    ucp_request_free(request);
    sending->wire->news++;
    if (sending->parcel != NULL) {
        finish(sending->parcel, status != UCS_OK);
        rondo_ucx_list_remove(&sending->node);
    }
    rondo_ucx_list_add(&sending->wire->free_sending, &sending->node);
}

static bool
is_zero_copy(const rondo_wire *wire, const rondo_wire_parcel *parcel)
{
    return parcel->map != NULL && parcel->bytes >= wire->zero_copy_from;
}

/* UCX would register other memory just to send from it. */
static bool
is_copied(const rondo_wire *wire, const rondo_wire_parcel *parcel)
{
    return wire->registers && parcel->bytes >= wire->zero_copy_from;
}

static ucp_request_param_t
how_to_send(const rondo_wire *wire, const rondo_wire_parcel *parcel,
            rondo_ucx_sending *sending)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .memory_type = UCS_MEMORY_TYPE_HOST,
        .cb.send = sent,
        .user_data = sending,
    };
    if (is_zero_copy(wire, parcel)) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        param.memh = parcel->map->memory;
    } else if (is_copied(wire, parcel)) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype = wire->copied;
    }
    return param;
}

void
rondo_ucx_send(rondo_wire *wire, rondo_wire_link *link, rondo_wire_parcel *parcel)
{
    parcel->done = false;
    rondo_ucx_sending *sending = NULL;
    if (link->failure == UCS_OK) {
        sending = take(wire);
    }
    if (sending == NULL) {
        if (link->failure == UCS_OK) {
            rondo_ucx_link_failed(link, UCS_ERR_NO_MEMORY);
        }
        finish(parcel, true);
        return;
    }
    link->fresh = true;
    link->unflushed = true;
    sending->wire = wire;
    sending->parcel = parcel;
    rondo_ucx_list_add(&link->sending, &sending->node);
    const ucp_request_param_t param = how_to_send(wire, parcel, sending);
    /* The datatype of data to be copied knows the parcel; see rdma.c. */
    const bool by_type = (param.op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) != 0;
    void *request = ucp_am_send_nbx(
        link->endpoint, RONDO_UCX_PARCEL_ID, parcel->header, parcel->header_bytes,
        by_type ? sending : parcel->data, by_type ? 1 : parcel->bytes, &param);
    const bool refused = UCS_PTR_IS_ERR(request);
    if (!refused && is_zero_copy(wire, parcel)) {
        wire->zero_copy_bytes += parcel->bytes;
    }
    if (!refused && request != NULL) {
        return;
    }
    rondo_ucx_list_remove(&sending->node);
    rondo_ucx_list_add(&wire->free_sending, &sending->node);
    if (refused) {
        rondo_ucx_link_failed(link, UCS_PTR_STATUS(request));
    }
    finish(parcel, refused);
}

void
rondo_ucx_sending_drop(rondo_wire_link *link)
{
    while (!rondo_ucx_list_empty(&link->sending)) {
        rondo_ucx_sending *sending = (rondo_ucx_sending *)link->sending.next;
        rondo_ucx_list_remove(&sending->node);
        finish(sending->parcel, true);
        sending->parcel = NULL;
    }
}

void
rondo_ucx_sending_free(rondo_wire *wire)
{
    while (!rondo_ucx_list_empty(&wire->free_sending)) {
        rondo_ucx_node *node = wire->free_sending.next;
        rondo_ucx_list_remove(node);
        free(node);
    }
}
