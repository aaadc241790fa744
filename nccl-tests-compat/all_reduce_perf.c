/* all_reduce_perf.c - every rank gets the combination of all. */
#include "common/collective.h"

static rondo_status
run(const perf_call *c)
{
    return rondo_all_reduce(c->comm, c->in, c->out, c->count, c->dtype, c->op);
}

static rondo_status
start(const perf_call *c, rondo_request **requests, uint32_t *request_count)
{
    *request_count = 1;
    return rondo_all_reduce_start(c->comm, c->in, c->out, c->count, c->dtype, c->op,
                                  requests);
}

int
main(int argc, char **argv)
{
    static const perf_collective all_reduce = {
        .program = "all_reduce_perf",
        .result = PERF_REDUCED,
        .has_op = true,
        .in_place_checked = true,
        .counts = perf_counts_whole,
        .algorithm_factor = perf_factor_one,
        .bus_factor = perf_factor_twice_others,
        .run = run,
        .start = start,
    };
    return perf_main(argc, argv, &all_reduce);
}
