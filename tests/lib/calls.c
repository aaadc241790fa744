/* calls.c - making a call that is given as data. */
#include "lib/calls.h"

#include <string.h>

const char *
call_text(call_kind kind)
{
    static const char *const texts[CALLS] = {
        "all_reduce", "reduce_scatter", "all_gather", "broadcast",
        "reduce",     "barrier",        "shift",
    };

    return texts[kind];
}

static void
copy_to_self(const call *made)
{
    if (made->count > 0) {
        memcpy(made->out, made->in, made->count * rondo_dtype_bytes(made->dtype));
    }
}

rondo_status
call_start(rondo_comm *comm, const call *made, call_flight *flight)
{
    const uint32_t nranks = rondo_comm_nranks(comm);
    const uint32_t rank = rondo_comm_rank(comm);
    rondo_request **const request = flight->request;
    rondo_status status = RONDO_OK;

    flight->nrequests = 0;
    switch (made->kind) {
    case CALL_ALL_REDUCE:
        status = rondo_all_reduce_start(comm, made->in, made->out, made->count,
                                        made->dtype, made->op, request);
        break;
    case CALL_REDUCE_SCATTER:
        status = rondo_reduce_scatter_start(comm, made->in, made->out, made->count,
                                            made->dtype, made->op, request);
        break;
    case CALL_ALL_GATHER:
        status = rondo_all_gather_start(comm, made->in, made->out, made->count,
                                        made->dtype, request);
        break;
    case CALL_BROADCAST:
        status = rondo_broadcast_start(comm, made->in, made->out, made->count,
                                       made->dtype, made->root, request);
        break;
    case CALL_REDUCE:
        status = rondo_reduce_start(comm, made->in, made->out, made->count, made->dtype,
                                    made->op, made->root, request);
        break;
    case CALL_BARRIER:
        status = rondo_barrier_start(comm, request);
        break;
    case CALL_SHIFT:
    case CALLS:
        if (nranks == 1) {
            /* There is no sending to oneself. */
            copy_to_self(made);
            return RONDO_OK;
        }
        status = rondo_send_start(comm, made->in, made->count, made->dtype,
                                  (rank + 1) % nranks, request);
        if (status != RONDO_OK) {
            return status;
        }
        flight->nrequests = 1;
        status = rondo_recv_start(comm, made->out, made->count, made->dtype,
                                  (rank + nranks - 1) % nranks, request + 1);
        break;
    }
    flight->nrequests += status == RONDO_OK ? 1 : 0;
    return status;
}

rondo_status
call_wait(call_flight *flight)
{
    rondo_status first = RONDO_OK;

    for (uint32_t i = 0; i < flight->nrequests; i++) {
        const rondo_status status =
            rondo_request_wait(flight->request[i], RONDO_WAIT_FOREVER);
        first = first == RONDO_OK ? status : first;
    }
    flight->nrequests = 0;
    return first;
}

static rondo_status
shift(rondo_comm *comm, const call *made)
{
    call_flight flight;
    const rondo_status status = call_start(comm, made, &flight);
    const rondo_status ended = call_wait(&flight);

    return status != RONDO_OK ? status : ended;
}

rondo_status
call_run(rondo_comm *comm, const call *made)
{
    switch (made->kind) {
    case CALL_ALL_REDUCE:
        return rondo_all_reduce(comm, made->in, made->out, made->count, made->dtype,
                                made->op);
    case CALL_REDUCE_SCATTER:
        return rondo_reduce_scatter(comm, made->in, made->out, made->count, made->dtype,
                                    made->op);
    case CALL_ALL_GATHER:
        return rondo_all_gather(comm, made->in, made->out, made->count, made->dtype);
    case CALL_BROADCAST:
        return rondo_broadcast(comm, made->in, made->out, made->count, made->dtype,
                               made->root);
    case CALL_REDUCE:
        return rondo_reduce(comm, made->in, made->out, made->count, made->dtype,
                            made->op, made->root);
    case CALL_BARRIER:
        return rondo_barrier(comm);
    case CALL_SHIFT:
    case CALLS:
        break;
    }
    return shift(comm, made);
}

uint64_t
call_in_count(const call *made, uint32_t rank, uint32_t nranks)
{
    if (made->kind == CALL_BARRIER ||
        (made->kind == CALL_BROADCAST && rank != made->root)) {
        return 0;
    }
    return made->kind == CALL_REDUCE_SCATTER ? made->count * nranks : made->count;
}

uint64_t
call_out_count(const call *made, uint32_t rank, uint32_t nranks)
{
    if (made->kind == CALL_BARRIER ||
        (made->kind == CALL_REDUCE && rank != made->root)) {
        return 0;
    }
    return made->kind == CALL_ALL_GATHER ? made->count * nranks : made->count;
}
