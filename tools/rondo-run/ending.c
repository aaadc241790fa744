/* ending.c - how a job comes to its end: by itself, by a failure, by a signal. */
#include "ending.h"

#include "leftover.h"
#include "report.h"

#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)

/* Between SIGTERM and SIGKILL, and between SIGKILL and giving up. */
#define STEP_MS 2000u

/* To the rank's whole group, or to the rank alone. The leader is not reaped yet, so the
 * number of the group cannot have gone to somebody else. */
static void
signal_ranks(const run_job *job, int number, bool group)
{
    for (uint32_t i = 0; i < job->started; i++) {
        const run_rank *one = &job->ranks[i];
        if (one->state == RUN_RUNNING) {
            kill(group ? -one->pid : one->pid, number);
        }
    }
}

static void
enter(run_job *job, run_phase phase, uint64_t wait_ms)
{
    job->phase = phase;
    job->deadline_ns = phase == RUN_PHASE_LOST ? 0 : run_now_ns() + wait_ms * MS;
}

static void
push(run_job *job, run_phase phase)
{
    const int number = phase == RUN_PHASE_TERM ? SIGTERM : SIGKILL;
    enter(job, phase, STEP_MS);
    signal_ranks(job, number, true);
    /* A stopped rank takes SIGTERM only when it goes on. */
    signal_ranks(job, SIGCONT, true);
    if (job->running == 0) {
        run_leftover_signal(number);
    }
}

void
run_end_now(run_job *job)
{
    if (job->phase < RUN_PHASE_TERM) {
        push(job, RUN_PHASE_TERM);
    }
}

static void
wait_for_rest(run_job *job)
{
    if (job->phase == RUN_PHASE_WORK) {
        enter(job, RUN_PHASE_WAIT, job->options->grace_ms);
    }
}

static void
say_too_slow(run_job *job)
{
    char ranks[320];
    run_list_running(job, ranks, sizeof(ranks));
    if (job->running > 0) {
        run_say(job, "%s did not end within %g s: sending SIGTERM", ranks,
                (double)job->options->grace_ms / 1000.0);
    } else {
        run_say(job, "processes left behind by the ranks: sending SIGTERM");
    }
}

void
run_handle_deadlines(run_job *job)
{
    const uint64_t now = run_now_ns();
    if (job->timeout_ns != 0 && now >= job->timeout_ns) {
        job->timeout_ns = 0;
        char ranks[320];
        run_list_running(job, ranks, sizeof(ranks));
        run_say(job, "time-out after %g s: ending %s",
                (double)job->options->timeout_ms / 1000.0,
                job->running > 0 ? ranks : "the job");
        job->timed_out = true;
        run_end_now(job);
        return;
    }
    if (job->deadline_ns == 0 || now < job->deadline_ns) {
        return;
    }
    if (job->phase == RUN_PHASE_WAIT) {
        say_too_slow(job);
        push(job, RUN_PHASE_TERM);
    } else if (job->phase == RUN_PHASE_TERM) {
        push(job, RUN_PHASE_KILL);
    } else {
        run_say(job, "processes of the job do not end even by SIGKILL; leaving them");
        enter(job, RUN_PHASE_LOST, 0);
    }
}

static void
note_end(run_job *job, const siginfo_t *info)
{
    for (uint32_t i = 0; i < job->started; i++) {
        run_rank *one = &job->ranks[i];
        if (one->state != RUN_RUNNING || one->pid != info->si_pid) {
            continue;
        }
        const bool exited = info->si_code == CLD_EXITED;
        one->code = exited ? info->si_status : -1;
        one->signal = exited ? 0 : info->si_status;
        one->core = info->si_code == CLD_DUMPED;
        one->end_ns = run_now_ns();
        one->state = RUN_ENDED;
        one->fresh = true;
        one->pushed = job->phase >= RUN_PHASE_TERM;
        job->running--;
        return;
    }
}

/* Several ranks may have ended since we looked. Those a signal killed are rather the
 * cause, those that exited with an error rather noticed it. */
static uint32_t
choose_first(run_job *job)
{
    uint32_t first = RUN_NO_RANK;
    for (uint32_t i = job->started; i-- > 0;) {
        run_rank *one = &job->ranks[i];
        const bool failed =
            one->fresh && !one->pushed && (one->signal != 0 || one->code != 0);
        one->fresh = false;
        if (!failed) {
            continue;
        }
        const bool killed_before =
            first != RUN_NO_RANK && job->ranks[first].signal != 0;
        if (one->signal != 0 || !killed_before) {
            first = i;
        }
    }
    return first;
}

static void
reap(run_job *job)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        job->leftovers = waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0;
        if (!job->leftovers || info.si_pid == 0) {
            break;
        }
        note_end(job, &info);
    }
    const uint32_t failed = choose_first(job);
    if (failed != RUN_NO_RANK && job->first == RUN_NO_RANK) {
        job->first = failed;
        /* After Ctrl-C everybody knows why the ranks end. */
        if (job->user_signal == 0 || job->ranks[failed].signal != job->user_signal) {
            run_say_failure(job, failed);
        }
        wait_for_rest(job);
    }
    if (job->running > 0 || !job->leftovers) {
        return;
    }
    /* Orphans of an orphan we killed have only now become our children. */
    const int number = job->phase == RUN_PHASE_KILL   ? SIGKILL
                       : job->phase == RUN_PHASE_TERM ? SIGTERM
                                                      : 0;
    job->leftovers = run_leftover_signal(number) > 0;
    if (job->leftovers) {
        wait_for_rest(job);
    }
}

static void
take_ending_signal(run_job *job, int number)
{
    /* Asked twice: the user has waited enough. */
    if (job->user_signal != 0) {
        push(job, RUN_PHASE_KILL);
        return;
    }
    job->user_signal = number;
    run_say(job, "signal %d (%s): passed on to %u rank%s", number, strsignal(number),
            job->running, job->running == 1 ? "" : "s");
    signal_ranks(job, number, true);
    if (job->running == 0) {
        run_leftover_signal(number);
    }
    wait_for_rest(job);
}

/* The shell sees us stop only if we do; the ranks were asked before. */
static void
take_stop(run_job *job)
{
    signal_ranks(job, SIGTSTP, true);
    kill(getpid(), SIGSTOP);
}

void
run_handle_signals(run_job *job)
{
    struct signalfd_siginfo info;
    while (read(job->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        const int number = (int)info.ssi_signo;
        switch (number) {
        case SIGCHLD:
            break;
        case SIGTSTP:
            take_stop(job);
            break;
        case SIGCONT:
            signal_ranks(job, SIGCONT, true);
            break;
        case SIGUSR1:
        case SIGUSR2:
            /* Helpers in the group would die of what the rank itself handles. */
            signal_ranks(job, number, false);
            break;
        default:
            take_ending_signal(job, number);
        }
    }
    reap(job);
}
