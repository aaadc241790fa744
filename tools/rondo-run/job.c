/* job.c - one event loop over signals, pipes and deadlines; it only ever sleeps. */
#include "job.h"

#include "ending.h"
#include "fleet.h"
#include "leftover.h"
#include "link.h"
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

/* Output goes through us when lines are to be marked or come from elsewhere. */
static bool
open_relay(run_job *job)
{
    const run_options *options = job->options;
    if (!options->prefix && job->fleet == NULL && job->link == NULL) {
        return true;
    }
    if (!run_relay_create(options->nranks, job->epoll, job->link != NULL,
                          &job->relay)) {
        return false;
    }
    job->relay.prefixed = options->prefix;
    job->relay.first = job->place.first;
    job->relayed = true;
    return job->link == NULL || run_link_open(job);
}

static bool
prepare(run_job *job)
{
    const run_options *options = job->options;
    job->ranks = calloc(options->nranks, sizeof(run_rank));
    if (job->ranks == NULL || !open_events(job) || !open_relay(job)) {
        perror("rondo-run: cannot begin");
        return false;
    }
    if (job->fleet == NULL) {
        if (run_environment_make(options, &job->place, &job->environment) != 0) {
            return false;
        }
        /* Agents may start something that is to outlive us, as ssh's master does. */
        run_leftover_init();
    }
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
    const uint64_t times[] = {job->deadline_ns, job->timeout_ns, job->alarm_ns};
    uint64_t next = 0;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (times[i] != 0 && (next == 0 || times[i] < next)) {
            next = times[i];
        }
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
        const uint64_t tag = events[i].data.u64;
        if (tag == RUN_TAG_SIGNAL) {
            run_handle_signals(job);
        } else if (tag >= RUN_TAG_POST) {
            run_fleet_event(job, tag);
        } else if (tag == RUN_TAG_LINK) {
            run_link_event(job);
        } else {
            run_relay_event(&job->relay, tag);
        }
    }
    if (job->fleet != NULL) {
        run_fleet_turn(job);
    }
}

static bool
is_done(run_job *job)
{
    if (job->running > 0 || job->leftovers) {
        return job->phase == RUN_PHASE_LOST;
    }
    if (job->relayed && (job->relay.open_count > 0 || job->fleet != NULL)) {
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

static void
start(run_job *job)
{
    if (job->fleet != NULL) {
        run_fleet_open(job);
    } else {
        run_start_ranks(job);
    }
    if (job->link != NULL) {
        run_link_begin(job);
    }
    if (job->start_error != 0) {
        run_end_now(job);
    }
}

int
run_job_run(const run_task *task)
{
    static run_job job;
    job.options = task->options;
    job.path = task->path;
    job.place = task->place;
    job.fleet = task->fleet;
    job.link = task->link;
    job.first = RUN_NO_RANK;
    if (!prepare(&job)) {
        return RUN_EXIT_FAILURE;
    }
    start(&job);
    loop(&job);
    run_report_end(&job);
    if (job.relayed) {
        run_relay_drain(&job.relay);
    }
    return run_exit_code(&job);
}
