/* collective.c - counts and bandwidth factors that several programs share. */
#include "common/collective.h"

void
perf_counts_whole(uint64_t count, size_t width, uint32_t nranks, perf_counts *counts)
{
    (void)width;
    (void)nranks;
    *counts = (perf_counts){.call = count, .send = count, .recv = count};
}

uint64_t
perf_block(uint64_t count, size_t width, uint32_t nranks)
{
    const uint64_t step = 16 / width;
    return count / nranks / step * step;
}

double
perf_factor_one(uint32_t nranks)
{
    (void)nranks;
    return 1.0;
}

double
perf_factor_ranks(uint32_t nranks)
{
    return (double)nranks;
}

double
perf_factor_others(uint32_t nranks)
{
    return (double)(nranks - 1) / (double)nranks;
}

double
perf_factor_twice_others(uint32_t nranks)
{
    return 2.0 * perf_factor_others(nranks);
}
