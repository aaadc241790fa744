/* group.h - operations of all ranks that one thread drives. */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

#include "common/job.h"

/* perf_drive - make progress until the thread's first `count` requests are done. */
rondo_status
perf_drive(perf_thread *thread, uint32_t count);

/* perf_operate - the measured operation once, on each rank of the thread. */
rondo_status
perf_operate(perf_thread *thread);

/* perf_operate_together - `times` operations on each rank in flight at once. */
rondo_status
perf_operate_together(perf_thread *thread, uint32_t times);

/* perf_barrier - all ranks of the job. */
rondo_status
perf_barrier(perf_thread *thread);

/*
 * perf_gather - `bytes` bytes of every rank of the job, in rank order.
 *
 * mine  `bytes` for each rank of the thread, one after another.
 * all   Set on RONDO_OK; valid until the thread's next perf_gather.
 */
rondo_status
perf_gather(perf_thread *thread, const void *mine, size_t bytes, const void **all);

#endif /* PERF_GROUP_H */
