/* job.h - one run: its processes, threads and ranks, and how a failure is told. */
#ifndef PERF_JOB_H
#define PERF_JOB_H

#include "common/collective.h"
#include "common/exitcode.h"
#include "common/options.h"

#include <pthread.h>
#include <stdatomic.h>

/* One rank: its communicator and buffers. */
typedef struct perf_rank {
    uint32_t rank;
    rondo_comm *comm;
    char *send; /* as allocated; data begin after the -u shift */
    char *recv;
    perf_call call; /* the operation measured now */
    const char *in; /* where it is when --walk has not moved it */
    char *out;
} perf_rank;

/* One thread drives `count` ranks, one after another or, with -g, in turn. */
typedef struct perf_thread {
    struct perf_job *job;
    pthread_t id;
    perf_rank *ranks;
    uint32_t count;
    rondo_request **requests; /* room for all that are in flight at once */
    char *gathered;           /* what perf_gather returns, grown when needed */
    size_t gathered_bytes;
} perf_thread;

typedef struct perf_job {
    const perf_options *options;
    const perf_collective *collective;
    uint32_t processes;
    uint32_t process;
    uint32_t nranks;
    rondo_comm *base; /* of the processes, where that is another than the ranks' own */
    rondo_unique_id id;
    perf_rank *ranks; /* of this process, all threads */
    uint32_t local_count;
    perf_thread *threads;
    uint64_t start_bytes;       /* resident, before there was a communicator */
    uint64_t created_bytes;     /* and after */
    pthread_mutex_t lock;       /* of `ranks[].comm` and `exit_code` */
    int exit_code;              /* the first failure's */
    atomic_bool timed_out;      /* -T struck */
    atomic_bool agreed;         /* all ranks know that they end: nobody need be freed */
    _Atomic uint64_t progress;  /* counts what has been finished, for -T */
    struct perf_report *report; /* what rank 0 prints and writes; null elsewhere */
} perf_job;

/* perf_job_run - everything after the command line; the exit code. */
int
perf_job_run(const perf_options *options, const perf_collective *collective, int argc,
             char **argv);

/* Where rank 0 is driven, the table is printed. */
static inline bool
perf_is_first(const perf_thread *thread)
{
    return thread->ranks[0].rank == 0;
}

/* perf_progress - something was finished; -T begins anew. */
static inline void
perf_progress(perf_thread *thread)
{
    atomic_fetch_add_explicit(&thread->job->progress, 1, memory_order_relaxed);
}

#endif /* PERF_JOB_H */
