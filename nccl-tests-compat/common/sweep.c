/* sweep.c - nested loops over what -d, -o, -r and the sizes ask for. */
#include "common/sweep.h"

#include "common/group.h"
#include "common/names.h"
#include "common/row.h"

static rondo_status
warm_up(perf_thread *thread, perf_case which)
{
    const perf_options *options = thread->job->options;
    const size_t width = rondo_dtype_bytes(which.dtype);
    perf_sweep doubling = options->sweep;
    doubling.factor = 2;
    uint64_t size = doubling.least;
    rondo_status status = RONDO_OK;
    do {
        status = perf_row_warm_up(thread, which, size);
    } while (status == RONDO_OK && perf_sweep_next(&doubling, width, &size));
    return status;
}

static rondo_status
run_sizes(perf_thread *thread, perf_case which, uint32_t *serial)
{
    const perf_options *options = thread->job->options;
    const size_t width = rondo_dtype_bytes(which.dtype);
    uint64_t size = options->sweep.least;
    rondo_status status = RONDO_OK;
    do {
        (*serial)++;
        status = perf_row_run(thread, which, size, *serial);
    } while (status == RONDO_OK && perf_sweep_next(&options->sweep, width, &size));
    return status;
}

static rondo_status
run_case(perf_thread *thread, perf_case which, uint32_t *serial)
{
    const uint32_t cycles = thread->job->options->cycles;
    rondo_status status = perf_barrier(thread);
    if (status == RONDO_OK && thread->job->options->warmup_iterations > 0) {
        status = warm_up(thread, which);
    }
    for (uint32_t i = 0; status == RONDO_OK && (cycles == 0 || i < cycles);) {
        status = run_sizes(thread, which, serial);
        /* 0 cycles are endless ones: then the count must stay. */
        i += cycles > 0;
    }
    return status;
}

static rondo_status
run_roots(perf_thread *thread, perf_case which, uint32_t *serial)
{
    const perf_job *job = thread->job;
    const int64_t asked = job->options->root;
    if (!job->collective->has_root || asked != PERF_ALL) {
        which.root = job->collective->has_root ? (uint32_t)asked : 0;
        return run_case(thread, which, serial);
    }
    rondo_status status = RONDO_OK;
    for (uint32_t root = 0; status == RONDO_OK && root < job->nranks; root++) {
        which.root = root;
        status = run_case(thread, which, serial);
    }
    return status;
}

static rondo_status
run_ops(perf_thread *thread, perf_case which, uint32_t *serial)
{
    const perf_job *job = thread->job;
    const int asked = job->options->op;
    if (!job->collective->has_op || asked != PERF_ALL) {
        which.op = job->collective->has_op ? (rondo_op)asked : RONDO_SUM;
        return run_roots(thread, which, serial);
    }
    rondo_status status = RONDO_OK;
    for (int op = 0; status == RONDO_OK && op < RONDO_OPS; op++) {
        which.op = (rondo_op)op;
        status = run_roots(thread, which, serial);
    }
    return status;
}

rondo_status
perf_sweep_run(perf_thread *thread)
{
    const int asked = thread->job->options->dtype;
    perf_case which = {.dtype = RONDO_FP32};
    uint32_t serial = 0;
    if (asked != PERF_ALL) {
        which.dtype = (rondo_dtype)asked;
        return run_ops(thread, which, &serial);
    }
    rondo_status status = RONDO_OK;
    for (int dtype = 0; status == RONDO_OK && dtype < RONDO_DTYPES; dtype++) {
        which.dtype = (rondo_dtype)dtype;
        status = run_ops(thread, which, &serial);
    }
    return status;
}
