/* message.c - active messages: checks, and delivery inside the receiver's progress. */
#include <rondo/message.h>

#include "api/request.h"

rondo_status
rondo_message_handler_set(rondo_comm *comm, uint32_t channel,
                          rondo_message_function function, void *user)
{
    rondo_status status = rondo_comm_usable(comm);

    if (status == RONDO_OK && channel >= RONDO_MESSAGE_CHANNELS) {
        status = rondo_error(RONDO_ERR_ARG, "channel is %u; allowed is 0 to %d",
                             channel, RONDO_MESSAGE_CHANNELS - 1);
    }
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, "message_handler_set", status);
    }
    comm->nhandlers -= comm->handlers[channel].function != NULL ? 1 : 0;
    comm->handlers[channel] = (rondo_handler){function, user};
    comm->nhandlers += function != NULL ? 1 : 0;
    comm->messaging = true;
    return RONDO_OK;
}

static rondo_status
check_message(const rondo_comm *comm, uint32_t peer, const rondo_am *message)
{
    if (peer >= comm->nranks || peer == comm->rank) {
        return rondo_error(RONDO_ERR_ARG,
                           "peer is %u; allowed is 0 to %u but for the own rank %u",
                           peer, comm->nranks - 1, comm->rank);
    }
    if (message->channel >= RONDO_MESSAGE_CHANNELS) {
        return rondo_error(RONDO_ERR_ARG, "channel is %u; allowed is 0 to %d",
                           message->channel, RONDO_MESSAGE_CHANNELS - 1);
    }
    if (message->header_bytes > RONDO_MESSAGE_BYTES_MAX ||
        message->payload_bytes > RONDO_MESSAGE_BYTES_MAX - message->header_bytes) {
        return rondo_error(
            RONDO_ERR_ARG,
            "header and payload are %zu and %zu bytes; allowed is %zu in all",
            message->header_bytes, message->payload_bytes, RONDO_MESSAGE_BYTES_MAX);
    }
    if ((message->header == NULL && message->header_bytes != 0) ||
        (message->payload == NULL && message->payload_bytes != 0)) {
        return rondo_error(RONDO_ERR_ARG, "%s is null with %zu bytes",
                           message->header == NULL && message->header_bytes != 0
                               ? "header"
                               : "payload",
                           message->header == NULL && message->header_bytes != 0
                               ? message->header_bytes
                               : message->payload_bytes);
    }
    return RONDO_OK;
}

rondo_status
rondo_message_send(rondo_comm *comm, uint32_t peer, uint32_t channel,
                   const void *header, size_t header_bytes, const void *payload,
                   size_t payload_bytes)
{
    const rondo_am message = {channel, header, header_bytes, payload, payload_bytes};

    rondo_status status = rondo_comm_usable(comm);
    if (status == RONDO_OK) {
        status = check_message(comm, peer, &message);
    }
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, "message_send", status);
    }
    rondo_transport *const route = comm->routes[peer];
    comm->messaging = true;
    status = route->ops->am_send(route, peer, &message);
    if (status == RONDO_OK || status == RONDO_BUSY) {
        return status;
    }
    if (rondo_status_group_of(status) == RONDO_GROUP_BROKEN) {
        return rondo_comm_break(comm, status, peer);
    }
    return rondo_comm_fail(comm, "message_send", status);
}

static bool
deliver(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
        const void *payload, size_t payload_bytes, void *user)
{
    const rondo_comm *const comm = user;

    if (channel >= RONDO_MESSAGE_CHANNELS || comm->handlers[channel].function == NULL) {
        return false;
    }
    comm->handlers[channel].function(from, header, header_bytes, payload, payload_bytes,
                                     comm->handlers[channel].user);
    return true;
}

rondo_status
rondo_messages_poll(rondo_comm *comm)
{
    /* What is under way to other hosts moves only when it is pushed. */
    rondo_status status =
        comm->net == NULL ? RONDO_OK : comm->net->ops->progress(comm->net);
    if (status != RONDO_OK) {
        return rondo_comm_break(comm, status, comm->rank);
    }
    if (!comm->messaging) {
        return RONDO_OK;
    }
    /* A handler may send, which makes progress of its own: never deliver inside one. */
    if (comm->delivering) {
        return RONDO_OK;
    }
    comm->delivering = true;
    /* What was sent and did not fit at once goes out now. */
    status = comm->shm->ops->progress(comm->shm);
    for (uint32_t peer = 0; peer < comm->nranks && status == RONDO_OK; peer++) {
        rondo_transport *const route = comm->routes[peer];

        if (route != NULL && comm->nhandlers != 0) {
            status = route->ops->am_poll(route, peer, deliver, comm);
        }
        /* Who has left in good order sends no more; what it owes a collective, that
         * finds out by itself. */
        if (status == RONDO_ERR_PEER && rondo_comm_has_left(comm, peer)) {
            status = RONDO_OK;
        }
    }
    comm->delivering = false;
    return status == RONDO_OK ? RONDO_OK : rondo_comm_break(comm, status, comm->rank);
}
