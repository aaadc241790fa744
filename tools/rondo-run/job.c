/* job.c - one event loop over signals, pipes and deadlines; it only ever sleeps. */
#include "job.h"

#include "ending.h"
#include "leftover.h"
#include "report.h"
#include "starting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64

uint64_t
run_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Signals to pass on. One that was ignored when we were started (nohup, a shell's
 * background job) stays ignored, for us as for the ranks. */
static void
choose_signals(sigset_t *caught)
{
    static const int candidates[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigemptyset(caught);
    sigaddset(caught, SIGCHLD);
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        struct sigaction action;
        sigaction(candidates[i], NULL, &action);
        if (action.sa_handler != SIG_IGN) {
            sigaddset(caught, candidates[i]);
        }
    }
}

static bool
open_events(run_job *job)
{
    /* Ignored by whoever started us, it would hide how the ranks end. */
    signal(SIGCHLD, SIG_DFL);
    choose_signals(&job->caught);
    sigset_t blocked = job->caught;
    /* A reader that went away is met as EPIPE. */
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_BLOCK, &blocked, &job->mask);
    job->signals = signalfd(-1, &job->caught, SFD_CLOEXEC | SFD_NONBLOCK);
    job->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = RUN_TAG_SIGNAL}};
    return job->signals >= 0 && job->epoll >= 0 &&
           epoll_ctl(job->epoll, EPOLL_CTL_ADD, job->signals, &event) == 0;
}

static bool
prepare(run_job *job, uint32_t port)
{
    const run_options *options = job->options;
    job->ranks = calloc(options->nranks, sizeof(run_rank));
    if (job->ranks == NULL || !open_events(job)) {
        perror("rondo-run: cannot begin");
        return false;
    }
    if (run_environment_make(options, port, &job->environment) != 0) {
        return false;
    }
    if (options->prefix) {
        if (!run_relay_create(options->nranks, job->epoll, &job->relay)) {
            perror("rondo-run: cannot begin");
            return false;
        }
        job->relayed = true;
    }
    run_leftover_init();
    job->start_ns = run_now_ns();
    if (options->timeout_ms > 0) {
        job->timeout_ns = job->start_ns + options->timeout_ms * 1000000u;
    }
    return true;
}

/* Milliseconds to sleep; rounded up, so that a deadline has passed when we wake. */
static int
sleep_ms(const run_job *job)
{
    uint64_t next = job->deadline_ns;
    if (job->timeout_ns != 0 && (next == 0 || job->timeout_ns < next)) {
        next = job->timeout_ns;
    }
    if (next == 0) {
        return -1;
    }
    const uint64_t now = run_now_ns();
    if (next <= now) {
        return 0;
    }
    const uint64_t wait_ms = (next - now) / 1000000u + 1;
    return wait_ms < 1000000u ? (int)wait_ms : 1000000;
}

static void
handle_events(run_job *job, const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == RUN_TAG_SIGNAL) {
            run_handle_signals(job);
        } else {
            run_relay_event(&job->relay, events[i].data.u64);
        }
    }
}

static bool
is_done(run_job *job)
{
    if (job->running > 0 || job->leftovers) {
        return job->phase == RUN_PHASE_LOST;
    }
    if (job->relayed && job->relay.open_count > 0) {
        run_relay_finish(&job->relay);
    }
    /* An impatient user, or a job out of time, does not wait for a slow reader. */
    return !job->relayed || run_relay_idle(&job->relay) || job->user_signal != 0 ||
           job->timed_out;
}

static void
loop(run_job *job)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    while (!is_done(job)) {
        const int count = epoll_wait(job->epoll, events, EVENTS_AT_ONCE, sleep_ms(job));
        if (count < 0 && errno != EINTR) {
            run_say(job, "waiting failed; ending all ranks");
            run_end_now(job);
        }
        handle_events(job, events, count);
        run_handle_deadlines(job);
    }
}

int
run_job_run(const run_options *options, const char *path, uint32_t port)
{
    static run_job job;
    job.options = options;
    job.path = path;
    job.first = RUN_NO_RANK;
    if (!prepare(&job, port)) {
        return RUN_EXIT_FAILURE;
    }
    run_start_ranks(&job);
    if (job.start_error != 0) {
        run_end_now(&job);
    }
    loop(&job);
    run_report_end(&job);
    if (job.relayed) {
        run_relay_drain(&job.relay);
    }
    return run_exit_code(&job);
}
