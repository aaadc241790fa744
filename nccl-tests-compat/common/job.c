/* job.c - from the first communicator to the exit code. */
#include "common/job.h"

#include "common/buffers.h"
#include "common/failure.h"
#include "common/group.h"
#include "common/machine.h"
#include "common/names.h"
#include "common/ranks.h"
#include "common/report.h"
#include "common/sweep.h"
#include "common/watchdog.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static rondo_status
allocate(perf_job *job)
{
    const perf_options *options = job->options;
    const size_t requests = (size_t)options->ranks_per_thread * options->aggregated *
                            PERF_REQUESTS_PER_CALL;
    job->local_count = options->threads * options->ranks_per_thread;
    job->ranks = calloc(job->local_count, sizeof(perf_rank));
    job->threads = calloc(options->threads, sizeof(perf_thread));
    if (job->ranks == NULL || job->threads == NULL) {
        return perf_refuse(job, PERF_EXIT_SYSTEM, "out of memory");
    }
    for (uint32_t i = 0; i < options->threads; i++) {
        perf_thread *thread = &job->threads[i];
        thread->job = job;
        thread->count = options->ranks_per_thread;
        thread->ranks = job->ranks + (size_t)i * thread->count;
        thread->requests = calloc(requests, sizeof(rondo_request *));
        if (thread->requests == NULL) {
            return perf_refuse(job, PERF_EXIT_SYSTEM, "out of memory");
        }
    }
    return RONDO_OK;
}

static void
release(perf_job *job)
{
    for (uint32_t i = 0; job->threads != NULL && i < job->options->threads; i++) {
        perf_buffers_free(&job->threads[i]);
        free(job->threads[i].requests);
        free(job->threads[i].gathered);
    }
    free(job->threads);
    free(job->ranks);
}

/* The ranks of other machines may come before ours, so only the launcher can number
 * those of this machine; without one the process's own number will do. */
static uint32_t
first_device(const perf_job *job)
{
    const char *local = getenv("LOCAL_RANK");
    const uint32_t process = local != NULL ? (uint32_t)atoi(local) : job->process;
    return process * job->local_count;
}

static rondo_status
tell_header(perf_thread *thread)
{
    const perf_job *job = thread->job;
    perf_device *mine = calloc(thread->count, sizeof(perf_device));
    if (mine == NULL) {
        return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    for (uint32_t i = 0; i < thread->count; i++) {
        const uint32_t rank = thread->ranks[i].rank;
        mine[i].rank = rank;
        mine[i].pid = (uint32_t)getpid();
        mine[i].device = first_device(job) + rank % job->local_count;
        perf_host_name(mine[i].host, sizeof(mine[i].host));
        perf_processor_name(mine[i].processor, sizeof(mine[i].processor));
    }
    const void *all = NULL;
    const rondo_status status = perf_gather(thread, mine, sizeof(perf_device), &all);
    free(mine);
    if (status == RONDO_OK && perf_is_first(thread)) {
        perf_report_header(job->report, all);
    }
    return status;
}

/* Only now the number of ranks is known; the same on all of them. */
static rondo_status
check_root(const perf_thread *thread)
{
    perf_job *job = thread->job;
    const bool outside = job->collective->has_root && job->options->root != PERF_ALL &&
                         job->options->root >= job->nranks;
    if (!outside) {
        return RONDO_OK;
    }
    return perf_refuse_together(job, perf_is_first(thread), PERF_EXIT_USAGE,
                                "-r %lld: there are %u ranks",
                                (long long)job->options->root, job->nranks);
}

static rondo_status
run_thread(perf_thread *thread)
{
    perf_job *job = thread->job;
    rondo_status status = perf_ranks_join(job, thread->ranks, thread->count);
    if (status == RONDO_OK) {
        status = check_root(thread);
    }
    if (status == RONDO_OK) {
        if (perf_is_first(thread)) {
            job->created_bytes = perf_resident_bytes();
        }
        status = perf_buffers_make(thread);
    }
    if (status == RONDO_OK) {
        status = tell_header(thread);
    }
    if (status == RONDO_OK) {
        status = perf_sweep_run(thread);
    }
    if (status == RONDO_OK && perf_is_first(thread)) {
        perf_report_footer(job->report);
    }
    /* Nobody leaves before the last has used what it shares. */
    return status == RONDO_OK ? perf_barrier(thread) : status;
}

static void *
thread_main(void *argument)
{
    perf_thread *thread = argument;
    if (run_thread(thread) != RONDO_OK) {
        perf_abort_all(thread->job);
    }
    return NULL;
}

/* The calling thread is the first of them. */
static rondo_status
run_threads(perf_job *job)
{
    uint32_t started = 1;
    rondo_status status = RONDO_OK;
    while (status == RONDO_OK && started < job->options->threads) {
        perf_thread *thread = &job->threads[started];
        if (pthread_create(&thread->id, NULL, thread_main, thread) != 0) {
            status = perf_refuse(job, PERF_EXIT_SYSTEM, "no thread number %u to be had",
                                 started);
            perf_abort_all(job);
        } else {
            started++;
        }
    }
    if (status == RONDO_OK) {
        thread_main(&job->threads[0]);
    }
    for (uint32_t i = 1; i < started; i++) {
        pthread_join(job->threads[i].id, NULL);
    }
    return status;
}

static void
tell_memory(const perf_job *job)
{
    const uint64_t grown = job->created_bytes > job->start_bytes
                               ? job->created_bytes - job->start_bytes
                               : 0;
    perf_report_memory(job->report, grown,
                       perf_buffers_bytes(job->options) * job->local_count);
}

static rondo_status
run_job(perf_job *job, int argc, char **argv)
{
    rondo_status status = perf_processes_join(job);
    if (status == RONDO_OK && job->process == 0) {
        job->report = perf_report_open(job, argc, argv);
    }
    if (status == RONDO_OK) {
        status = perf_processes_agree(job);
    }
    if (status == RONDO_OK && job->options->parallel_init == 0) {
        status = perf_ranks_join(job, job->ranks, job->local_count);
    }
    if (status != RONDO_OK) {
        perf_abort_all(job);
        return status;
    }
    perf_watchdog watchdog;
    status = perf_watchdog_start(job, &watchdog);
    if (status == RONDO_OK) {
        status = run_threads(job);
    }
    perf_watchdog_stop(&watchdog);
    return status;
}

int
perf_job_run(const perf_options *options, const perf_collective *collective, int argc,
             char **argv)
{
    static perf_job job;
    job.options = options;
    job.collective = collective;
    job.start_bytes = perf_resident_bytes();
    pthread_mutex_init(&job.lock, NULL);
    rondo_status status = allocate(&job);
    if (status == RONDO_OK) {
        status = run_job(&job, argc, argv);
    }
    if (status == RONDO_OK && job.report != NULL && options->memory_report != 0) {
        tell_memory(&job);
    }
    perf_report_close(job.report);
    perf_ranks_leave(&job);
    release(&job);
    return job.exit_code;
}
