/* watchdog.h - -T: ends the test when nothing has been finished for too long. */
#ifndef PERF_WATCHDOG_H
#define PERF_WATCHDOG_H

#include "common/job.h"

typedef struct perf_watchdog {
    perf_job *job;
    pthread_t id;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;
    bool running;
} perf_watchdog;

/* perf_watchdog_start - does nothing without -T. */
rondo_status
perf_watchdog_start(perf_job *job, perf_watchdog *watchdog);

/* perf_watchdog_stop - before the communicators are destroyed. */
void
perf_watchdog_stop(perf_watchdog *watchdog);

#endif /* PERF_WATCHDOG_H */
