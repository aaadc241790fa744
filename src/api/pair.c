/* pair.c - send and receive between two ranks, beside the collectives. */
#include <string.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/width.h"

/* What both sides of a message must agree on fits into its token: 40 bits of count, 8
 * of type, 16 of the number among the messages of this pair. */
static uint64_t
token_of(uint64_t count, rondo_dtype dtype, uint64_t number)
{
    return (count & UINT64_C(0xffffffffff)) << 24 | (uint64_t)(uint8_t)dtype << 16 |
           (number & 0xffff);
}

static rondo_status
mismatch(const rondo_request *request, uint64_t token)
{
    return rondo_error(
        RONDO_ERR_MISMATCH,
        "rank %u receives %llu x %s from rank %u as message %llu of this pair, rank %u "
        "sends %llu x %s as message %llu",
        request->comm->rank, (unsigned long long)request->coll.count,
        rondo_dtype_text(request->dtype), request->peer,
        (unsigned long long)(request->token & 0xffff), request->peer,
        (unsigned long long)(token >> 24),
        rondo_dtype_text((rondo_dtype)(token >> 16 & 0xff)),
        (unsigned long long)(token & 0xffff));
}

static rondo_status
advance_send(rondo_request *request)
{
    rondo_transport *const route = request->comm->routes[request->peer];

    return route->ops->send(route, request->peer, RONDO_LANE_PAIR, &request->outgoing);
}

/* Take pieces while there are any; nothing is written beyond the receive buffer. */
static rondo_status
advance_recv(rondo_request *request)
{
    rondo_transport *const route = request->comm->routes[request->peer];
    rondo_incoming piece;

    for (;;) {
        const rondo_status status =
            route->ops->peek(route, request->peer, RONDO_LANE_PAIR, &piece);
        if (status != RONDO_OK) {
            return status;
        }
        const uint64_t left = request->bytes - request->received_bytes;
        if (piece.token != request->token || piece.bytes > left ||
            piece.last != (piece.bytes == left)) {
            return mismatch(request, piece.token);
        }
        if (piece.bytes != 0) {
            rondo_copy((unsigned char *)request->out + request->received_bytes,
                       piece.data, piece.bytes);
        }
        request->received_bytes += piece.bytes;
        route->ops->consume(route, request->peer, RONDO_LANE_PAIR);
        if (piece.last) {
            return RONDO_OK;
        }
    }
}

/* Whether one before it in the list has the same channel, which keeps order. */
static bool
is_behind(const rondo_comm *comm, const rondo_request *request)
{
    for (const rondo_request *other = comm->pairs; other != request;
         other = other->next) {
        if (other->peer == request->peer && other->sending == request->sending) {
            return true;
        }
    }
    return false;
}

void
rondo_pairs_progress(rondo_comm *comm)
{
    rondo_request **at = &comm->pairs;

    comm->pairs_tail = NULL;
    while (*at != NULL) {
        rondo_request *const request = *at;
        rondo_status status = RONDO_BUSY;

        if (!is_behind(comm, request)) {
            status = request->sending ? advance_send(request) : advance_recv(request);
        }
        if (status != RONDO_OK && status != RONDO_BUSY) {
            (void)rondo_comm_break(comm, status, request->peer);
            rondo_requests_fail(comm);
            return;
        }
        if (status == RONDO_OK) {
            *at = request->next;
            rondo_request_finish(request, RONDO_OK);
            continue;
        }
        comm->pairs_tail = request;
        at = &request->next;
    }
}

void
rondo_pair_submit(rondo_request *request)
{
    rondo_comm *const comm = request->comm;

    request->next = NULL;
    request->stage = RONDO_STAGE_PAIR;
    if (comm->pairs == NULL) {
        comm->pairs = request;
    } else {
        comm->pairs_tail->next = request;
    }
    comm->pairs_tail = request;
    rondo_pairs_progress(comm);
}

/* The arguments of one call; `in` for a send, `out` for a receive. */
typedef struct arguments {
    bool sending;
    const void *in;
    void *out;
    uint64_t count;
    rondo_dtype dtype;
    uint32_t peer;
} arguments;

static const char *
call_text(const arguments *call)
{
    return call->sending ? "send" : "recv";
}

static rondo_status
check_call(const rondo_comm *comm, const arguments *call, uint64_t *bytes)
{
    if (rondo_width(call->dtype) == 0) {
        return rondo_error(RONDO_ERR_ARG, "dtype is %d; allowed is 0 to %d",
                           (int)call->dtype, RONDO_DTYPES - 1);
    }
    if (call->peer >= comm->nranks || call->peer == comm->rank) {
        return rondo_error(RONDO_ERR_ARG,
                           "peer is %d; allowed is 0 to %u but for the own rank %u",
                           (int)call->peer, comm->nranks - 1, comm->rank);
    }
    if (call->count != 0 && call->in == NULL && call->out == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%s is null with count %llu",
                           call->sending ? "in" : "out",
                           (unsigned long long)call->count);
    }
    return rondo_size(call->count, rondo_width(call->dtype), bytes);
}

static rondo_status
submit(rondo_comm *comm, const arguments *call, rondo_request **request)
{
    rondo_request *made = NULL;
    uint64_t bytes = 0;

    rondo_status status = rondo_comm_usable(comm);
    if (status == RONDO_OK) {
        status = check_call(comm, call, &bytes);
    }
    if (status == RONDO_OK) {
        status = rondo_request_take(comm, &made);
    }
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, call_text(call), status);
    }
    uint64_t *const numbers = call->sending ? comm->sent_pairs : comm->received_pairs;
    made->sending = call->sending;
    made->peer = call->peer;
    made->coll.count = call->count;
    made->dtype = call->dtype;
    made->in = call->in;
    made->out = call->out;
    made->bytes = bytes;
    made->token = token_of(call->count, call->dtype, numbers[call->peer]++);
    made->outgoing =
        (rondo_outgoing){.data = call->in, .bytes = bytes, .token = made->token};
    rondo_pair_submit(made);
    *request = made;
    return RONDO_OK;
}

static rondo_status
block(rondo_comm *comm, const arguments *call)
{
    rondo_request *request = NULL;
    rondo_status status = submit(comm, call, &request);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_request_until(request, RONDO_NEVER);
    status = request->status;
    rondo_request_give(request);
    return status;
}

static rondo_status
start(rondo_comm *comm, const arguments *call, rondo_request **request)
{
    if (request == NULL) {
        return rondo_comm_fail(comm, call_text(call),
                               rondo_error(RONDO_ERR_ARG, "request is null"));
    }
    return submit(comm, call, request);
}

rondo_status
rondo_send(rondo_comm *comm, const void *in, uint64_t count, rondo_dtype dtype,
           uint32_t peer)
{
    const arguments call = {true, in, NULL, count, dtype, peer};

    return block(comm, &call);
}

rondo_status
rondo_send_start(rondo_comm *comm, const void *in, uint64_t count, rondo_dtype dtype,
                 uint32_t peer, rondo_request **request)
{
    const arguments call = {true, in, NULL, count, dtype, peer};

    return start(comm, &call, request);
}

rondo_status
rondo_recv(rondo_comm *comm, void *out, uint64_t count, rondo_dtype dtype,
           uint32_t peer)
{
    const arguments call = {false, NULL, out, count, dtype, peer};

    return block(comm, &call);
}

rondo_status
rondo_recv_start(rondo_comm *comm, void *out, uint64_t count, rondo_dtype dtype,
                 uint32_t peer, rondo_request **request)
{
    const arguments call = {false, NULL, out, count, dtype, peer};

    return start(comm, &call, request);
}
