/* watchdog.c - a thread that sleeps until the deadline, and aborts if that passes. */
#include "common/watchdog.h"

#include "common/failure.h"
#include "common/machine.h"

#include <stdio.h>
#include <unistd.h>

/* An abort sets everybody free at once; after this time the process just ends. */
#define PATIENCE_S 5u

static struct timespec
seconds_from_now(uint32_t seconds)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += (time_t)seconds;
    return when;
}

/* Until the test is over or the time has passed; true: over. Called with the lock. */
static bool
sleep_for(perf_watchdog *watchdog, uint32_t seconds)
{
    const struct timespec until = seconds_from_now(seconds);
    while (!watchdog->over) {
        if (pthread_cond_timedwait(&watchdog->ended, &watchdog->lock, &until) != 0) {
            break;
        }
    }
    return watchdog->over;
}

static void
strike(perf_watchdog *watchdog)
{
    perf_job *job = watchdog->job;
    char host[64];
    perf_host_name(host, sizeof(host));
    fprintf(stderr, "%s: Test timeout (%us) %s:%d\n", host, job->options->timeout_s,
            "watchdog.c", __LINE__);
    atomic_store(&job->timed_out, true);
    perf_remember(job, PERF_EXIT_TIMEOUT);
    perf_abort_all(job);
}

static void *
watch(void *argument)
{
    perf_watchdog *watchdog = argument;
    perf_job *job = watchdog->job;
    pthread_mutex_lock(&watchdog->lock);
    uint64_t seen = atomic_load(&job->progress);
    while (!sleep_for(watchdog, job->options->timeout_s)) {
        const uint64_t now = atomic_load(&job->progress);
        if (now != seen) {
            seen = now;
            continue;
        }
        strike(watchdog);
        if (!sleep_for(watchdog, PATIENCE_S)) {
            fflush(NULL);
            _exit(PERF_EXIT_TIMEOUT);
        }
        break;
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

rondo_status
perf_watchdog_start(perf_job *job, perf_watchdog *watchdog)
{
    *watchdog = (perf_watchdog){.job = job};
    if (job->options->timeout_s == 0) {
        return RONDO_OK;
    }
    pthread_condattr_t attributes;
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watchdog->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&watchdog->id, NULL, watch, watchdog) != 0) {
        return perf_refuse(job, PERF_EXIT_SYSTEM, "no thread to be had for -T");
    }
    watchdog->running = true;
    return RONDO_OK;
}

void
perf_watchdog_stop(perf_watchdog *watchdog)
{
    if (!watchdog->running) {
        return;
    }
    pthread_mutex_lock(&watchdog->lock);
    watchdog->over = true;
    pthread_cond_signal(&watchdog->ended);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->id, NULL);
    pthread_cond_destroy(&watchdog->ended);
    pthread_mutex_destroy(&watchdog->lock);
}
