/* ranks.c - processes first, then their threads by a unique id sent among them. */
#include "common/ranks.h"

#include "common/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What other launchers tell about the number of processes. */
static const char *const foreign_sizes[] = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};

/* N processes of a launcher that we do not understand would each test themselves alone
 * and print N tables that look right. */
static rondo_status
refuse_foreign_launcher(perf_job *job)
{
    if (getenv("WORLD_SIZE") != NULL || getenv("RANK") != NULL) {
        return RONDO_OK;
    }
    for (size_t i = 0; i < sizeof(foreign_sizes) / sizeof(foreign_sizes[0]); i++) {
        const char *size = getenv(foreign_sizes[i]);
        if (size != NULL && atoi(size) > 1) {
            return perf_refuse(job, PERF_EXIT_USAGE,
                               "%s=%s says that there are several processes, but RANK"
                               " and WORLD_SIZE are not set, so each would test alone;"
                               " use rondo-run -n %s, or set them",
                               foreign_sizes[i], size, size);
        }
    }
    return RONDO_OK;
}

static void
set_comm(perf_job *job, rondo_comm **place, rondo_comm *comm)
{
    pthread_mutex_lock(&job->lock);
    *place = comm;
    pthread_mutex_unlock(&job->lock);
}

static rondo_status
share_id(perf_job *job)
{
    rondo_status status = RONDO_OK;
    if (job->process == 0) {
        status = rondo_unique_id_create(&job->id);
        if (status != RONDO_OK) {
            return PERF_FAILED(job, NULL, status);
        }
    }
    status =
        rondo_broadcast(job->base, &job->id, &job->id, sizeof(job->id), RONDO_UINT8, 0);
    return status == RONDO_OK ? RONDO_OK : PERF_FAILED(job, job->base, status);
}

/* All processes must have been given the same -t and -g. */
static rondo_status
compare_shape(perf_job *job)
{
    int64_t shape[2] = {job->options->threads, job->options->ranks_per_thread};
    int64_t least[2];
    int64_t most[2];
    rondo_status status =
        rondo_all_reduce(job->base, shape, least, 2, RONDO_INT64, RONDO_MIN);
    if (status == RONDO_OK) {
        status = rondo_all_reduce(job->base, shape, most, 2, RONDO_INT64, RONDO_MAX);
    }
    if (status != RONDO_OK) {
        return PERF_FAILED(job, job->base, status);
    }
    if (least[0] != most[0] || least[1] != most[1]) {
        return perf_refuse_together(job, job->process == 0, PERF_EXIT_USAGE,
                                    "the processes were given different -t or -g");
    }
    return RONDO_OK;
}

rondo_status
perf_processes_join(perf_job *job)
{
    rondo_status status = refuse_foreign_launcher(job);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_comm *base = NULL;
    status = rondo_comm_create(NULL, &base);
    if (status != RONDO_OK) {
        return PERF_FAILED(job, NULL, status);
    }
    set_comm(job, &job->base, base);
    job->processes = rondo_comm_nranks(base);
    job->process = rondo_comm_rank(base);
    job->nranks = job->processes * job->local_count;
    status = compare_shape(job);
    if (status != RONDO_OK) {
        return status;
    }
    if (job->nranks == 1) {
        fprintf(stderr, "%s: there is 1 rank, so nothing is communicated\n",
                job->collective->program);
    }
    for (uint32_t i = 0; i < job->local_count; i++) {
        job->ranks[i].rank = job->process * job->local_count + i;
    }
    if (job->local_count == 1) {
        set_comm(job, &job->ranks[0].comm, base);
        set_comm(job, &job->base, NULL);
        return RONDO_OK;
    }
    return share_id(job);
}

rondo_status
perf_processes_agree(perf_job *job)
{
    rondo_comm *between = job->base != NULL ? job->base : job->ranks[0].comm;
    int32_t code = job->exit_code;
    const rondo_status status =
        rondo_all_reduce(between, &code, &code, 1, RONDO_INT32, RONDO_MAX);
    if (status != RONDO_OK) {
        return PERF_FAILED(job, between, status);
    }
    if (code == PERF_EXIT_OK) {
        return RONDO_OK;
    }
    return perf_refuse_together(job, false, code, "another process cannot go on");
}

static rondo_status
start_all(perf_job *job, perf_rank *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        rondo_comm_config config;
        rondo_comm_config_init(&config);
        config.rank = ranks[i].rank;
        config.nranks = job->nranks;
        config.id = &job->id;
        config.name = "perf";
        rondo_comm *comm = NULL;
        const rondo_status status = rondo_comm_create_start(&config, &comm);
        if (status != RONDO_OK) {
            return PERF_FAILED(job, NULL, status);
        }
        set_comm(job, &ranks[i].comm, comm);
    }
    return RONDO_OK;
}

/* Asks each rank that is not there yet; true when nobody is missing. */
static rondo_status
test_all(perf_job *job, perf_rank *ranks, uint32_t count, bool *there)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (there[i]) {
            continue;
        }
        const rondo_status status = rondo_comm_create_test(ranks[i].comm);
        if (status != RONDO_OK && status != RONDO_BUSY) {
            return PERF_FAILED(job, ranks[i].comm, status);
        }
        there[i] = status == RONDO_OK;
        missing += !there[i];
    }
    return missing == 0 ? RONDO_OK : RONDO_BUSY;
}

rondo_status
perf_ranks_join(perf_job *job, perf_rank *ranks, uint32_t count)
{
    if (ranks[0].comm != NULL) {
        return RONDO_OK;
    }
    rondo_status status = start_all(job, ranks, count);
    if (status != RONDO_OK) {
        return status;
    }
    bool *there = calloc(count, sizeof(bool));
    if (there == NULL) {
        return perf_refuse(job, PERF_EXIT_SYSTEM, "out of memory");
    }
    /* Ends at the library's own start-up deadline at the latest. */
    const struct timespec pause = {.tv_nsec = 100000};
    for (;;) {
        status = test_all(job, ranks, count, there);
        if (status != RONDO_BUSY) {
            break;
        }
        nanosleep(&pause, NULL);
    }
    free(there);
    return status;
}

void
perf_ranks_leave(perf_job *job)
{
    pthread_mutex_lock(&job->lock);
    for (uint32_t i = 0; i < job->local_count; i++) {
        rondo_comm_destroy(job->ranks[i].comm);
        job->ranks[i].comm = NULL;
    }
    rondo_comm_destroy(job->base);
    job->base = NULL;
    pthread_mutex_unlock(&job->lock);
}
