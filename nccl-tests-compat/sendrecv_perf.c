/* sendrecv_perf.c - every rank sends to the next and receives from the one before. */
#include "common/collective.h"

#include <string.h>

static uint32_t
rank_after(const perf_call *c)
{
    return (c->rank + 1) % c->nranks;
}

static uint32_t
rank_before(const perf_call *c)
{
    return (c->rank + c->nranks - 1) % c->nranks;
}

/* The library has no message from a rank to itself; alone, it is this copy. */
static rondo_status
copy_to_self(const perf_call *c)
{
    memmove(c->out, c->in, c->count * rondo_dtype_bytes(c->dtype));
    return RONDO_OK;
}

static rondo_status
start(const perf_call *c, rondo_request **requests, uint32_t *request_count)
{
    *request_count = 0;
    if (c->nranks == 1) {
        return copy_to_self(c);
    }
    /* The receive goes first: the sender may already be waiting for it. */
    rondo_status status = rondo_recv_start(c->comm, c->out, c->count, c->dtype,
                                           rank_before(c), &requests[0]);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_send_start(c->comm, c->in, c->count, c->dtype, rank_after(c),
                              &requests[1]);
    *request_count = 2;
    return status;
}

static rondo_status
run(const perf_call *c)
{
    rondo_request *receive = NULL;
    if (c->nranks == 1) {
        return copy_to_self(c);
    }
    rondo_status status =
        rondo_recv_start(c->comm, c->out, c->count, c->dtype, rank_before(c), &receive);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_send(c->comm, c->in, c->count, c->dtype, rank_after(c));
    if (status != RONDO_OK) {
        return status;
    }
    return rondo_request_wait(receive, RONDO_WAIT_FOREVER);
}

int
main(int argc, char **argv)
{
    static const perf_collective sendrecv = {
        .program = "sendrecv_perf",
        .result = PERF_COPY_OF_NEIGHBOUR,
        .counts = perf_counts_whole,
        .algorithm_factor = perf_factor_one,
        .bus_factor = perf_factor_one,
        .run = run,
        .start = start,
    };
    return perf_main(argc, argv, &sendrecv);
}
