/* group.c - plain blocking calls for one rank, start and test in turn for several. */
#include "common/group.h"

#include "common/failure.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

rondo_status
perf_drive(perf_thread *thread, uint32_t count)
{
    uint32_t left = count;
    while (left > 0) {
        const uint32_t before = left;
        for (uint32_t i = 0; i < count; i++) {
            rondo_request *request = thread->requests[i];
            if (request == NULL) {
                continue;
            }
            const rondo_status status = rondo_request_test(request);
            if (status == RONDO_BUSY) {
                continue;
            }
            thread->requests[i] = NULL;
            if (status != RONDO_OK) {
                return PERF_FAILED(thread->job, thread->ranks[0].comm, status);
            }
            left--;
        }
        /* More ranks than processors: whoever we wait for may need ours. */
        if (left == before) {
            sched_yield();
        }
    }
    return RONDO_OK;
}

static rondo_status
start_one(perf_thread *thread, perf_rank *rank, uint32_t *count)
{
    uint32_t started = 0;
    const rondo_status status = thread->job->collective->start(
        &rank->call, thread->requests + *count, &started);
    if (status != RONDO_OK) {
        return PERF_FAILED(thread->job, rank->comm, status);
    }
    *count += started;
    return RONDO_OK;
}

rondo_status
perf_operate_together(perf_thread *thread, uint32_t times)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < times; i++) {
        for (uint32_t k = 0; k < thread->count; k++) {
            const rondo_status status = start_one(thread, &thread->ranks[k], &count);
            if (status != RONDO_OK) {
                return status;
            }
        }
    }
    return perf_drive(thread, count);
}

rondo_status
perf_operate(perf_thread *thread)
{
    perf_rank *rank = &thread->ranks[0];
    if (thread->count > 1) {
        return perf_operate_together(thread, 1);
    }
    const rondo_status status = thread->job->collective->run(&rank->call);
    return status == RONDO_OK ? RONDO_OK : PERF_FAILED(thread->job, rank->comm, status);
}

rondo_status
perf_barrier(perf_thread *thread)
{
    if (thread->count == 1) {
        rondo_comm *comm = thread->ranks[0].comm;
        const rondo_status status = rondo_barrier(comm);
        return status == RONDO_OK ? RONDO_OK : PERF_FAILED(thread->job, comm, status);
    }
    for (uint32_t i = 0; i < thread->count; i++) {
        rondo_comm *comm = thread->ranks[i].comm;
        const rondo_status status = rondo_barrier_start(comm, &thread->requests[i]);
        if (status != RONDO_OK) {
            return PERF_FAILED(thread->job, comm, status);
        }
    }
    return perf_drive(thread, thread->count);
}

static rondo_status
grow(perf_thread *thread, size_t bytes)
{
    if (bytes <= thread->gathered_bytes) {
        return RONDO_OK;
    }
    char *gathered = realloc(thread->gathered, bytes);
    if (gathered == NULL) {
        return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    thread->gathered = gathered;
    thread->gathered_bytes = bytes;
    return RONDO_OK;
}

rondo_status
perf_gather(perf_thread *thread, const void *mine, size_t bytes, const void **all)
{
    /* Each rank needs room of its own for the result; the first one's is returned. */
    const size_t stride = bytes * thread->job->nranks;
    rondo_status status = grow(thread, stride * thread->count);
    if (status != RONDO_OK) {
        return status;
    }
    const char *in = mine;
    for (uint32_t i = 0; i < thread->count; i++) {
        rondo_comm *comm = thread->ranks[i].comm;
        char *out = thread->gathered + i * stride;
        status = thread->count == 1
                     ? rondo_all_gather(comm, in, out, bytes, RONDO_UINT8)
                     : rondo_all_gather_start(comm, in + i * bytes, out, bytes,
                                              RONDO_UINT8, &thread->requests[i]);
        if (status != RONDO_OK) {
            return PERF_FAILED(thread->job, comm, status);
        }
    }
    if (thread->count > 1) {
        status = perf_drive(thread, thread->count);
    }
    if (status == RONDO_OK) {
        *all = thread->gathered;
    }
    return status;
}
