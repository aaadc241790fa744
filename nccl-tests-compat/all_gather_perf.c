/* all_gather_perf.c - every rank gets the blocks of all. */
#include "common/collective.h"

static void
counts_of(uint64_t count, size_t width, uint32_t nranks, perf_counts *counts)
{
    const uint64_t block = perf_block(count, width, nranks);
    *counts = (perf_counts){
        .call = block, .send = block, .recv = block * nranks, .send_step = block};
}

static rondo_status
run(const perf_call *c)
{
    return rondo_all_gather(c->comm, c->in, c->out, c->count, c->dtype);
}

static rondo_status
start(const perf_call *c, rondo_request **requests, uint32_t *request_count)
{
    *request_count = 1;
    return rondo_all_gather_start(c->comm, c->in, c->out, c->count, c->dtype, requests);
}

int
main(int argc, char **argv)
{
    static const perf_collective all_gather = {
        .program = "all_gather_perf",
        .result = PERF_GATHERED,
        .in_place_checked = true,
        .counts = counts_of,
        .algorithm_factor = perf_factor_ranks,
        .bus_factor = perf_factor_others,
        .run = run,
        .start = start,
    };
    return perf_main(argc, argv, &all_gather);
}
