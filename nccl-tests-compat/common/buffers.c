/* buffers.c - ordinary or mapped memory, and the question whether there is enough. */
#include "common/buffers.h"

#include "common/failure.h"
#include "common/group.h"
#include "common/machine.h"

#include <stdlib.h>
#include <string.h>

/* For what the library and the program itself need, for each rank. */
#define RESERVE_BYTES ((uint64_t)8 << 20)

#define PAGE_BYTES 4096u

/* What one rank knows; all ranks' are compared. */
typedef struct room {
    uint64_t rank_bytes;
    uint64_t local_ranks; /* on this machine, as far as the launcher tells */
    uint64_t machine_bytes;
    uint64_t process_ranks;
    uint64_t process_bytes;
} room;

/* One buffer; page aligned, with the shift of -u and the fence behind the data. */
static uint64_t
buffer_bytes(const perf_options *options)
{
    const uint64_t bytes =
        options->sweep.most + options->unalign * sizeof(uint64_t) + PERF_FENCE_BYTES;
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

uint64_t
perf_buffers_bytes(const perf_options *options)
{
    return 2 * buffer_bytes(options);
}

static room
measure_room(const perf_job *job)
{
    perf_memory memory;
    perf_memory_available(&memory);
    uint64_t processes = job->processes;
    const char *local = getenv("LOCAL_WORLD_SIZE");
    if (local != NULL && atoi(local) > 0 && (uint64_t)atoi(local) < processes) {
        processes = (uint64_t)atoi(local);
    }
    return (room){.rank_bytes = perf_buffers_bytes(job->options),
                  .local_ranks = processes * job->local_count,
                  .machine_bytes = memory.machine_bytes,
                  .process_ranks = job->local_count,
                  .process_bytes = memory.process_bytes};
}

static bool
fits(uint64_t ranks, uint64_t rank_bytes, uint64_t available)
{
    uint64_t wanted = 0;
    return !__builtin_mul_overflow(ranks, rank_bytes + RESERVE_BYTES, &wanted) &&
           wanted <= available;
}

static rondo_status
say_too_large(perf_thread *thread, uint32_t rank, uint64_t ranks, uint64_t rank_bytes,
              uint64_t available, const char *where)
{
    perf_job *job = thread->job;
    char wanted_text[32];
    char one_text[32];
    char available_text[32];
    uint64_t wanted = UINT64_MAX;
    if (__builtin_mul_overflow(ranks, rank_bytes, &wanted)) {
        wanted = UINT64_MAX;
    }
    perf_size_text(wanted, wanted_text, sizeof(wanted_text));
    perf_size_text(rank_bytes, one_text, sizeof(one_text));
    perf_size_text(available, available_text, sizeof(available_text));
    return perf_refuse_together(job, perf_is_first(thread), PERF_EXIT_SYSTEM,
                                "-e %s is too large: %s wanted for %llu ranks (%s "
                                "each), %s available %s of rank"
                                " %u",
                                job->options->size_text, wanted_text,
                                (unsigned long long)ranks, one_text, available_text,
                                where, rank);
}

/* Before anybody allocates: what is free then is free for all of us. */
static rondo_status
agree_on_room(perf_thread *thread)
{
    const room own = measure_room(thread->job);
    room *mine = calloc(thread->count, sizeof(room));
    if (mine == NULL) {
        return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    for (uint32_t i = 0; i < thread->count; i++) {
        mine[i] = own;
    }
    const void *gathered = NULL;
    const rondo_status status = perf_gather(thread, mine, sizeof(room), &gathered);
    free(mine);
    if (status != RONDO_OK) {
        return status;
    }
    const room *all = gathered;
    for (uint32_t i = 0; i < thread->job->nranks; i++) {
        const room *one = &all[i];
        if (!fits(one->local_ranks, one->rank_bytes, one->machine_bytes)) {
            return say_too_large(thread, i, one->local_ranks, one->rank_bytes,
                                 one->machine_bytes, "on the machine");
        }
        if (!fits(one->process_ranks, one->rank_bytes, one->process_bytes)) {
            return say_too_large(thread, i, one->process_ranks, one->rank_bytes,
                                 one->process_bytes, "in the process");
        }
    }
    return RONDO_OK;
}

static rondo_status
allocate(perf_job *job, uint64_t bytes, char **buffer)
{
    void *memory = NULL;
    if (job->options->registered > 0) {
        const rondo_status status = rondo_mem_alloc(bytes, &memory);
        if (status != RONDO_OK) {
            return PERF_FAILED(job, NULL, status);
        }
    } else if (posix_memalign(&memory, PAGE_BYTES, bytes) != 0) {
        char text[32];
        perf_size_text(bytes, text, sizeof(text));
        return perf_refuse(job, PERF_EXIT_SYSTEM, "no %s of memory to be had", text);
    }
    memset(memory, 0, bytes);
    *buffer = memory;
    return RONDO_OK;
}

static rondo_status
make_for_rank(perf_job *job, perf_rank *rank)
{
    const uint64_t bytes = buffer_bytes(job->options);
    rondo_status status = allocate(job, bytes, &rank->send);
    if (status == RONDO_OK) {
        status = allocate(job, bytes, &rank->recv);
    }
    if (status != RONDO_OK || job->options->registered == 0) {
        return status;
    }
    status = rondo_mem_register(rank->comm, rank->send);
    if (status == RONDO_OK) {
        status = rondo_mem_register(rank->comm, rank->recv);
    }
    return status == RONDO_OK ? RONDO_OK : PERF_FAILED(job, rank->comm, status);
}

rondo_status
perf_buffers_make(perf_thread *thread)
{
    rondo_status status = agree_on_room(thread);
    for (uint32_t i = 0; status == RONDO_OK && i < thread->count; i++) {
        status = make_for_rank(thread->job, &thread->ranks[i]);
    }
    return status;
}

void
perf_buffers_free(perf_thread *thread)
{
    for (uint32_t i = 0; i < thread->count; i++) {
        perf_rank *rank = &thread->ranks[i];
        if (thread->job->options->registered > 0) {
            rondo_mem_free(rank->send);
            rondo_mem_free(rank->recv);
        } else {
            free(rank->send);
            free(rank->recv);
        }
        rank->send = NULL;
        rank->recv = NULL;
    }
}
