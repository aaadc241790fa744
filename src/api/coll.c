/* coll.c - the collectives: what is allowed, and the way into the queue. */
#include <string.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/width.h"

/* The arguments of one call. */
typedef struct arguments {
    rondo_coll_kind kind;
    const void *in;
    void *out;
    uint64_t count;
    rondo_dtype dtype;
    rondo_op op;
    uint32_t root;
} arguments;

static bool
reduces(rondo_coll_kind kind)
{
    return kind == RONDO_COLL_ALL_REDUCE || kind == RONDO_COLL_REDUCE ||
           kind == RONDO_COLL_REDUCE_SCATTER;
}

static bool
rooted(rondo_coll_kind kind)
{
    return kind == RONDO_COLL_BROADCAST || kind == RONDO_COLL_REDUCE;
}

static bool
reads_in(const rondo_comm *comm, const arguments *call)
{
    return call->kind != RONDO_COLL_BROADCAST || comm->rank == call->root;
}

static bool
writes_out(const rondo_comm *comm, const arguments *call)
{
    return call->kind != RONDO_COLL_REDUCE || comm->rank == call->root;
}

static rondo_status
check_values(const rondo_comm *comm, const arguments *call)
{
    if (rondo_width(call->dtype) == 0) {
        return rondo_error(RONDO_ERR_ARG, "dtype is %d; allowed is 0 to %d",
                           (int)call->dtype, RONDO_DTYPES - 1);
    }
    if (reduces(call->kind) && ((int)call->op < 0 || (int)call->op >= RONDO_OPS)) {
        return rondo_error(RONDO_ERR_ARG, "op is %d; allowed is 0 to %d", (int)call->op,
                           RONDO_OPS - 1);
    }
    if (rooted(call->kind) && call->root >= comm->nranks) {
        return rondo_error(RONDO_ERR_ARG, "root is %d; allowed is 0 to %u",
                           (int)call->root, comm->nranks - 1);
    }
    return RONDO_OK;
}

static rondo_status
check_null(const rondo_comm *comm, const arguments *call)
{
    if (call->count == 0 || call->kind == RONDO_COLL_BARRIER) {
        return RONDO_OK;
    }
    if (call->in == NULL && reads_in(comm, call)) {
        return rondo_error(RONDO_ERR_ARG, "in is null with count %llu",
                           (unsigned long long)call->count);
    }
    if (call->out == NULL && writes_out(comm, call)) {
        return rondo_error(RONDO_ERR_ARG, "out is null with count %llu",
                           (unsigned long long)call->count);
    }
    return RONDO_OK;
}

/* Whether the call is in place, as coll.h defines it for its collective. */
static bool
in_place(const rondo_comm *comm, const arguments *call, uint64_t block_bytes)
{
    const uintptr_t in = (uintptr_t)call->in;
    const uintptr_t out = (uintptr_t)call->out;

    switch (call->kind) {
    case RONDO_COLL_ALL_GATHER:
        return in == out + comm->rank * block_bytes;
    case RONDO_COLL_REDUCE_SCATTER:
        return out == in + comm->rank * block_bytes;
    case RONDO_COLL_ALL_REDUCE:
    case RONDO_COLL_BROADCAST:
    case RONDO_COLL_REDUCE:
        return in == out && reads_in(comm, call) && writes_out(comm, call);
    case RONDO_COLL_BARRIER:
    case RONDO_COLLS:
        break;
    }
    return false;
}

static rondo_status
check_overlap(const rondo_comm *comm, const arguments *call, const rondo_coll *coll)
{
    const uint64_t width = rondo_width(call->dtype);
    const uintptr_t in = (uintptr_t)call->in;
    const uintptr_t out = (uintptr_t)call->out;
    uint64_t in_bytes = 0;
    uint64_t out_bytes = 0;

    if (rondo_size(rondo_coll_in_count(coll), width, &in_bytes) != RONDO_OK ||
        rondo_size(rondo_coll_out_count(coll), width, &out_bytes) != RONDO_OK) {
        return RONDO_ERR_ARG;
    }
    if (coll->in_place || call->count == 0 || !reads_in(comm, call) ||
        !writes_out(comm, call)) {
        return RONDO_OK;
    }
    if (in < out + out_bytes && out < in + in_bytes) {
        return rondo_error(
            RONDO_ERR_ARG,
            "in and out overlap by %lld bytes; allowed is in place as "
            "coll.h defines it, or no overlap",
            (long long)(in < out ? in + in_bytes - out : out + out_bytes - in));
    }
    return RONDO_OK;
}

static rondo_status
check_call(const rondo_comm *comm, const arguments *call, rondo_coll *coll)
{
    uint64_t bytes = 0;
    rondo_status status = check_values(comm, call);

    if (status == RONDO_OK) {
        status = check_null(comm, call);
    }
    if (status == RONDO_OK) {
        status = rondo_size(call->count, comm->nranks, &bytes);
    }
    if (status == RONDO_OK) {
        status = rondo_size(bytes, rondo_width(call->dtype), &bytes);
    }
    if (status != RONDO_OK) {
        return status;
    }
    const rondo_coll made = {
        .kind = call->kind,
        .rank = comm->rank,
        .nranks = comm->nranks,
        .root = call->root,
        .count = call->count,
        .in_place = in_place(comm, call, call->count * rondo_width(call->dtype)),
        .levels = comm->levels,
    };
    status = check_overlap(comm, call, &made);
    if (status == RONDO_OK) {
        *coll = made;
    }
    return status;
}

/* Check, take a request, put it into the queue. */
static rondo_status
submit(rondo_comm *comm, const arguments *call, rondo_request **request)
{
    rondo_request *made = NULL;
    rondo_coll coll;

    rondo_status status = rondo_comm_usable(comm);
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, rondo_coll_text(call->kind), status);
    }
    status = check_call(comm, call, &coll);
    if (status == RONDO_OK) {
        status = rondo_request_take(comm, &made);
    }
    if (status != RONDO_OK) {
        return rondo_comm_fail(comm, rondo_coll_text(call->kind), status);
    }
    made->coll = coll;
    made->dtype = call->dtype;
    made->op = call->op;
    made->in = call->in;
    made->out = call->out;
    made->signature = (rondo_signature){
        .what = (uint32_t)call->kind + 1,
        .dtype = (uint32_t)call->dtype,
        .op = (uint32_t)call->op,
        .root = call->root,
        .count = call->count,
    };
    rondo_request_submit(made);
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
    if (request->stage != RONDO_STAGE_DONE) {
        rondo_request_until(request, RONDO_NEVER);
    }
    status = request->status;
    rondo_request_give(request);
    return status;
}

static rondo_status
start(rondo_comm *comm, const arguments *call, rondo_request **request)
{
    if (request == NULL) {
        return rondo_comm_fail(comm, rondo_coll_text(call->kind),
                               rondo_error(RONDO_ERR_ARG, "request is null"));
    }
    return submit(comm, call, request);
}

rondo_status
rondo_all_reduce(rondo_comm *comm, const void *in, void *out, uint64_t count,
                 rondo_dtype dtype, rondo_op op)
{
    const arguments call = {RONDO_COLL_ALL_REDUCE, in, out, count, dtype, op, 0};

    return block(comm, &call);
}

rondo_status
rondo_all_reduce_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                       rondo_dtype dtype, rondo_op op, rondo_request **request)
{
    const arguments call = {RONDO_COLL_ALL_REDUCE, in, out, count, dtype, op, 0};

    return start(comm, &call, request);
}

rondo_status
rondo_reduce_scatter(rondo_comm *comm, const void *in, void *out, uint64_t count,
                     rondo_dtype dtype, rondo_op op)
{
    const arguments call = {RONDO_COLL_REDUCE_SCATTER, in, out, count, dtype, op, 0};

    return block(comm, &call);
}

rondo_status
rondo_reduce_scatter_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                           rondo_dtype dtype, rondo_op op, rondo_request **request)
{
    const arguments call = {RONDO_COLL_REDUCE_SCATTER, in, out, count, dtype, op, 0};

    return start(comm, &call, request);
}

rondo_status
rondo_all_gather(rondo_comm *comm, const void *in, void *out, uint64_t count,
                 rondo_dtype dtype)
{
    const arguments call = {RONDO_COLL_ALL_GATHER, in, out, count, dtype, RONDO_SUM, 0};

    return block(comm, &call);
}

rondo_status
rondo_all_gather_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                       rondo_dtype dtype, rondo_request **request)
{
    const arguments call = {RONDO_COLL_ALL_GATHER, in, out, count, dtype, RONDO_SUM, 0};

    return start(comm, &call, request);
}

rondo_status
rondo_broadcast(rondo_comm *comm, const void *in, void *out, uint64_t count,
                rondo_dtype dtype, uint32_t root)
{
    const arguments call = {
        RONDO_COLL_BROADCAST, in, out, count, dtype, RONDO_SUM, root};

    return block(comm, &call);
}

rondo_status
rondo_broadcast_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                      rondo_dtype dtype, uint32_t root, rondo_request **request)
{
    const arguments call = {
        RONDO_COLL_BROADCAST, in, out, count, dtype, RONDO_SUM, root};

    return start(comm, &call, request);
}

rondo_status
rondo_reduce(rondo_comm *comm, const void *in, void *out, uint64_t count,
             rondo_dtype dtype, rondo_op op, uint32_t root)
{
    const arguments call = {RONDO_COLL_REDUCE, in, out, count, dtype, op, root};

    return block(comm, &call);
}

rondo_status
rondo_reduce_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                   rondo_dtype dtype, rondo_op op, uint32_t root,
                   rondo_request **request)
{
    const arguments call = {RONDO_COLL_REDUCE, in, out, count, dtype, op, root};

    return start(comm, &call, request);
}

/* A barrier moves one byte a message, so that its schedule is like the others. */
static const arguments barrier_call = {
    .kind = RONDO_COLL_BARRIER, .count = 1, .dtype = RONDO_UINT8, .op = RONDO_SUM};

rondo_status
rondo_barrier(rondo_comm *comm)
{
    return block(comm, &barrier_call);
}

rondo_status
rondo_barrier_start(rondo_comm *comm, rondo_request **request)
{
    return start(comm, &barrier_call, request);
}

rondo_status
rondo_request_test(rondo_request *request)
{
    return rondo_request_wait(request, 0);
}

rondo_status
rondo_request_wait(rondo_request *request, uint64_t timeout_ms)
{
    if (request == NULL) {
        return rondo_error(RONDO_ERR_ARG, "request is null");
    }
    rondo_comm *const comm = request->comm;
    if (request->stage != RONDO_STAGE_DONE) {
        const rondo_status status = rondo_comm_progress(comm);

        if (status == RONDO_ERR_FORKED) {
            return status;
        }
    }
    if (request->stage != RONDO_STAGE_DONE && timeout_ms != 0) {
        rondo_request_until(request, timeout_ms == RONDO_WAIT_FOREVER
                                         ? RONDO_NEVER
                                         : rondo_deadline_ns(timeout_ms));
    }
    if (request->stage != RONDO_STAGE_DONE) {
        return RONDO_BUSY;
    }
    const rondo_status status = request->status;
    rondo_request_give(request);
    return status;
}
