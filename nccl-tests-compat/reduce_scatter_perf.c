/* reduce_scatter_perf.c - every rank gets its block of the combination of all. */
#include "common/collective.h"

static void
counts_of(uint64_t count, size_t width, uint32_t nranks, perf_counts *counts)
{
    const uint64_t block = perf_block(count, width, nranks);
    *counts = (perf_counts){
        .call = block, .send = block * nranks, .recv = block, .recv_step = block};
}

static rondo_status
run(const perf_call *c)
{
    return rondo_reduce_scatter(c->comm, c->in, c->out, c->count, c->dtype, c->op);
}

static rondo_status
start(const perf_call *c, rondo_request **requests, uint32_t *request_count)
{
    *request_count = 1;
    return rondo_reduce_scatter_start(c->comm, c->in, c->out, c->count, c->dtype, c->op,
                                      requests);
}

int
main(int argc, char **argv)
{
    static const perf_collective reduce_scatter = {
        .program = "reduce_scatter_perf",
        .result = PERF_REDUCED_BLOCK,
        .has_op = true,
        .in_place_checked = true,
        .counts = counts_of,
        .algorithm_factor = perf_factor_ranks,
        .bus_factor = perf_factor_others,
        .run = run,
        .start = start,
    };
    return perf_main(argc, argv, &reduce_scatter);
}
