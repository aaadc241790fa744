/* ranks.h - how processes and threads become ranks of one communicator. */
#ifndef PERF_RANKS_H
#define PERF_RANKS_H

#include "common/job.h"

/*
 * perf_processes_join - the processes find each other by RANK and WORLD_SIZE; fills
 * `processes`, `process` and `nranks`.
 *
 * With one rank in each process that communicator is the one that is measured.
 */
rondo_status
perf_processes_join(perf_job *job);

/* perf_processes_agree - whether all processes can go on: what one of them has
 * remembered as its exit code becomes everybody's. */
rondo_status
perf_processes_agree(perf_job *job);

/* perf_ranks_join - make the communicators of `count` ranks from the id that process 0
 * has sent round; for all ranks of the process, or, with -p 1, by each thread. */
rondo_status
perf_ranks_join(perf_job *job, perf_rank *ranks, uint32_t count);

/* perf_ranks_leave - destroy all communicators; quick, also after a failure. */
void
perf_ranks_leave(perf_job *job);

#endif /* PERF_RANKS_H */
