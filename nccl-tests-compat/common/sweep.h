/* sweep.h - all types, operators, roots and sizes that were asked for. */
#ifndef PERF_SWEEP_H
#define PERF_SWEEP_H

#include "common/job.h"

/* perf_sweep_run - the whole table, by every thread of the job alike. */
rondo_status
perf_sweep_run(perf_thread *thread);

#endif /* PERF_SWEEP_H */
