/* broadcast_perf.c - every rank gets what the root has. */
#include "common/collective.h"

static rondo_status
run(const perf_call *c)
{
    return rondo_broadcast(c->comm, c->in, c->out, c->count, c->dtype, c->root);
}

static rondo_status
start(const perf_call *c, rondo_request **requests, uint32_t *request_count)
{
    *request_count = 1;
    return rondo_broadcast_start(c->comm, c->in, c->out, c->count, c->dtype, c->root,
                                 requests);
}

int
main(int argc, char **argv)
{
    static const perf_collective broadcast = {
        .program = "broadcast_perf",
        .result = PERF_COPY_OF_ROOT,
        .has_root = true,
        .in_place_checked = true,
        .counts = perf_counts_whole,
        .algorithm_factor = perf_factor_one,
        .bus_factor = perf_factor_one,
        .run = run,
        .start = start,
    };
    return perf_main(argc, argv, &broadcast);
}
