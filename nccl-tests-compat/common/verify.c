/* verify.c - what each rank's buffers hold before and must hold after an operation. */
#include "common/verify.h"

#include "common/buffers.h"
#include "common/check.h"
#include "common/failure.h"
#include "common/group.h"

#include <stdlib.h>
#include <string.h>

#define FENCE_BYTE 0xa5

static bool
is_copy(perf_result result)
{
    return result == PERF_GATHERED || result == PERF_COPY_OF_ROOT ||
           result == PERF_COPY_OF_NEIGHBOUR;
}

static perf_values
values_of(const perf_rank *rank, const perf_collective *collective, uint32_t seed)
{
    perf_values values;
    const perf_rule rule =
        is_copy(collective->result) ? PERF_RULE_COPY : perf_rule_of(rank->call.op);
    perf_values_init(rank->call.dtype, rule, seed, rank->call.nranks, &values);
    return values;
}

/* Both buffers of a row begin here, whatever part an in-place call is given. */
static char *
received(const perf_thread *thread, const perf_rank *rank)
{
    return rank->recv +
           thread->job->options->unalign * rondo_dtype_bytes(rank->call.dtype);
}

static char *
fence_of(const perf_thread *thread, const perf_rank *rank, const perf_counts *counts)
{
    const uint64_t most = counts->send > counts->recv ? counts->send : counts->recv;
    return received(thread, rank) + most * rondo_dtype_bytes(rank->call.dtype);
}

static void
fill_rank(const perf_thread *thread, perf_rank *rank, const perf_counts *counts,
          bool in_place, uint32_t seed)
{
    const perf_collective *collective = thread->job->collective;
    const size_t width = rondo_dtype_bytes(rank->call.dtype);
    const perf_values values = values_of(rank, collective, seed);
    char *in = rank->send + thread->job->options->unalign * width;
    if (in_place) {
        in = received(thread, rank) + rank->rank * counts->send_step * width;
    }
    if (!in_place || collective->result == PERF_GATHERED) {
        memset(received(thread, rank), 0, counts->recv * width);
    }
    /* Only the root's input counts in a broadcast: the others' must not matter. */
    if (collective->result == PERF_COPY_OF_ROOT && rank->rank != rank->call.root) {
        memset(in, 0, counts->send * width);
    } else {
        perf_values_fill(&values, rank->rank, 0, counts->send, in);
    }
    memset(fence_of(thread, rank, counts), FENCE_BYTE, PERF_FENCE_BYTES);
}

void
perf_verify_fill(perf_thread *thread, const perf_counts *counts, bool in_place,
                 uint32_t seed)
{
    for (uint32_t i = 0; i < thread->count; i++) {
        fill_rank(thread, &thread->ranks[i], counts, in_place, seed);
    }
}

/* Every rank's block in turn. */
static uint64_t
wrong_gathered(const perf_values *values, const perf_rank *rank, uint64_t block,
               const char *got)
{
    const size_t width = rondo_dtype_bytes(values->dtype);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < rank->call.nranks; i++) {
        const perf_want want = {.source = PERF_SOURCE_INPUT, .rank = i};
        wrong += perf_check_wrong(values, want, block, got + i * block * width);
    }
    return wrong;
}

static perf_want
want_of(const perf_rank *rank, perf_result result, bool in_place)
{
    const perf_call *call = &rank->call;
    switch (result) {
    case PERF_REDUCED_BLOCK:
        return (perf_want){.source = PERF_SOURCE_RESULT,
                           .first = rank->rank * call->count};
    case PERF_REDUCED_ON_ROOT:
        if (rank->rank == call->root) {
            break;
        }
        /* Nobody may touch what the caller did not ask to have changed. */
        return (perf_want){.source = in_place ? PERF_SOURCE_INPUT : PERF_SOURCE_ZERO,
                           .rank = rank->rank};
    case PERF_COPY_OF_ROOT:
        return (perf_want){.source = PERF_SOURCE_INPUT, .rank = call->root};
    case PERF_COPY_OF_NEIGHBOUR:
        return (perf_want){.source = PERF_SOURCE_INPUT,
                           .rank = (rank->rank + call->nranks - 1) % call->nranks};
    case PERF_REDUCED:
    case PERF_GATHERED:
        break;
    }
    return (perf_want){.source = PERF_SOURCE_RESULT};
}

static uint64_t
wrong_of(const perf_thread *thread, const perf_rank *rank, const perf_counts *counts,
         bool in_place, uint32_t seed)
{
    const perf_collective *collective = thread->job->collective;
    const perf_values values = values_of(rank, collective, seed);
    uint64_t wrong = 0;
    if (collective->result == PERF_GATHERED) {
        wrong = wrong_gathered(&values, rank, counts->call, received(thread, rank));
    } else {
        const perf_want want = want_of(rank, collective->result, in_place);
        wrong = perf_check_wrong(&values, want, counts->recv, rank->out);
    }
    const char *fence = fence_of(thread, rank, counts);
    for (uint32_t i = 0; i < PERF_FENCE_BYTES; i++) {
        wrong += (unsigned char)fence[i] != FENCE_BYTE;
    }
    return wrong;
}

/* Sums the elements; counts the threads that saw any, as nccl-tests' footer does. */
static void
add_up(const perf_job *job, const uint64_t *all, perf_check *check)
{
    const uint32_t together = job->options->ranks_per_thread;
    check->wrong = 0;
    check->wrong_threads = 0;
    for (uint32_t i = 0; i < job->nranks; i += together) {
        uint64_t wrong = 0;
        for (uint32_t k = i; k < i + together; k++) {
            wrong += all[k];
        }
        check->wrong += wrong;
        check->wrong_threads += wrong > 0;
    }
}

static rondo_status
verify_once(perf_thread *thread, const perf_counts *counts, bool in_place,
            uint32_t seed, perf_check *check)
{
    perf_verify_fill(thread, counts, in_place, seed);
    rondo_status status = perf_operate(thread);
    if (status != RONDO_OK) {
        return status;
    }
    uint64_t *mine = calloc(thread->count, sizeof(uint64_t));
    if (mine == NULL) {
        return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    for (uint32_t i = 0; i < thread->count && check->done; i++) {
        mine[i] = wrong_of(thread, &thread->ranks[i], counts, in_place, seed);
        /* Should the library be so broken that the count gets lost on its way. */
        if (mine[i] > 0) {
            perf_remember(thread->job, PERF_EXIT_WRONG);
        }
    }
    const void *all = NULL;
    status = perf_gather(thread, mine, sizeof(uint64_t), &all);
    free(mine);
    if (status == RONDO_OK) {
        add_up(thread->job, all, check);
    }
    return status;
}

rondo_status
perf_verify(perf_thread *thread, const perf_counts *counts, bool in_place,
            uint32_t serial, perf_check *check)
{
    const perf_job *job = thread->job;
    *check = (perf_check){0};
    check->done =
        job->options->checks > 0 && (!in_place || job->collective->in_place_checked);
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; status == RONDO_OK && i < job->options->checks; i++) {
        const uint32_t seed = (serial * 2 + in_place) * 7919u + i;
        status = verify_once(thread, counts, in_place, seed, check);
        perf_progress(thread);
        if (check->wrong > 0) {
            break;
        }
    }
    return status;
}
