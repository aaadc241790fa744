/* ending.c - how a job comes to its end: by itself, by a failure, by a signal. */
#include "ending.h"

#include "fleet.h"
#include "leftover.h"
#include "link.h"
#include "report.h"

#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)

/* Between SIGTERM and SIGKILL, and between SIGKILL and giving up. */
#define STEP_MS 2000u

void
run_signal_ranks(const run_job *job, int number, bool group)
{
    if (job->fleet != NULL) {
        run_fleet_signal(job->fleet, number, group);
        return;
    }
    /* The leader of a group is not reaped yet, so its number cannot have gone to
     * somebody else. */
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

void
run_push(run_job *job, run_phase phase)
{
    const int number = phase == RUN_PHASE_TERM ? SIGTERM : SIGKILL;
    enter(job, phase, STEP_MS);
    if (job->fleet != NULL) {
        run_fleet_push(job->fleet, phase);
        return;
    }
    run_signal_ranks(job, number, true);
    /* A stopped rank takes SIGTERM only when it goes on. */
    run_signal_ranks(job, SIGCONT, true);
    if (job->running == 0) {
        run_leftover_signal(number);
    }
}

void
run_end_now(run_job *job)
{
    if (job->phase < RUN_PHASE_TERM) {
        run_push(job, RUN_PHASE_TERM);
    }
}

static void
wait_for_rest(run_job *job)
{
    if (job->phase == RUN_PHASE_WORK) {
        /* A host whose ranks have ended gives what they left behind as long again. */
        const bool hosts_only = job->fleet != NULL && job->running == 0;
        enter(job, RUN_PHASE_WAIT,
              job->options->grace_ms + (hosts_only ? 3 * STEP_MS : 0));
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
    } else if (job->fleet != NULL) {
        run_fleet_say_silent(job, "not ended: sending SIGTERM");
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
    if (job->alarm_ns != 0 && now >= job->alarm_ns) {
        job->alarm_ns = 0;
        run_fleet_alarm(job);
    }
    if (job->deadline_ns == 0 || now < job->deadline_ns) {
        return;
    }
    if (job->phase == RUN_PHASE_WAIT) {
        say_too_slow(job);
        run_push(job, RUN_PHASE_TERM);
    } else if (job->phase == RUN_PHASE_TERM) {
        run_push(job, RUN_PHASE_KILL);
    } else if (job->fleet != NULL) {
        run_fleet_say_silent(job, "no answer: leaving what may still run there");
        run_fleet_abandon(job->fleet);
        enter(job, RUN_PHASE_LOST, 0);
    } else {
        run_say(job, "processes of the job do not end even by SIGKILL; leaving them");
        enter(job, RUN_PHASE_LOST, 0);
    }
}

static void
note(run_job *job, run_rank *one)
{
    one->end_ns = run_now_ns();
    one->state = RUN_ENDED;
    one->fresh = true;
    one->pushed = job->phase >= RUN_PHASE_TERM;
    job->running--;
}

void
run_note_end(run_job *job, uint32_t rank, uint32_t how)
{
    run_rank *one = &job->ranks[rank];
    if (one->state != RUN_RUNNING) {
        return;
    }
    one->signal = RUN_END_SIGNAL(how);
    one->code = one->signal == 0 ? RUN_END_CODE(how) : -1;
    one->core = RUN_END_CORE(how);
    note(job, one);
}

void
run_note_lost(run_job *job, uint32_t rank)
{
    run_rank *one = &job->ranks[rank];
    if (one->state == RUN_RUNNING) {
        one->code = -1;
        one->lost = true;
        note(job, one);
    }
}

static void
note_child(run_job *job, const siginfo_t *info)
{
    for (uint32_t i = 0; i < job->started; i++) {
        const run_rank *one = &job->ranks[i];
        if (one->state != RUN_RUNNING || one->pid != info->si_pid) {
            continue;
        }
        const bool exited = info->si_code == CLD_EXITED;
        const bool core = info->si_code == CLD_DUMPED;
        run_note_end(job, i,
                     exited ? RUN_END(info->si_status & 255, 0, false)
                            : RUN_END(0, info->si_status, core));
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

/* The first failure decides what becomes of the others. */
static void
judge_failure(run_job *job)
{
    const uint32_t failed = choose_first(job);
    if (failed == RUN_NO_RANK || job->first != RUN_NO_RANK) {
        return;
    }
    job->first = failed;
    /* After Ctrl-C everybody knows why the ranks end; of a lost host it was said. */
    const run_rank *one = &job->ranks[failed];
    if (!one->lost && (job->user_signal == 0 || one->signal != job->user_signal)) {
        run_say_failure(job, failed);
    }
    wait_for_rest(job);
}

/* Nobody runs any more: what have the ranks left behind? */
static void
judge_leftovers(run_job *job)
{
    if (job->fleet != NULL) {
        job->leftovers = run_fleet_is_open(job->fleet);
        if (job->leftovers && job->started > 0) {
            wait_for_rest(job);
        }
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

void
run_judge_ends(run_job *job)
{
    if (job->link != NULL) {
        run_link_report(job);
    } else {
        judge_failure(job);
    }
    if (job->running == 0 && job->leftovers) {
        judge_leftovers(job);
    }
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
        if (job->fleet != NULL) {
            run_fleet_note_child(job, &info);
        } else {
            note_child(job, &info);
        }
    }
    run_judge_ends(job);
}

static void
take_ending_signal(run_job *job, int number)
{
    /* Asked twice: the user has waited enough. */
    if (job->user_signal != 0) {
        run_push(job, RUN_PHASE_KILL);
        return;
    }
    job->user_signal = number;
    if (job->started == 0) {
        run_say(job, "signal %d (%s): giving up", number, strsignal(number));
        run_end_now(job);
        return;
    }
    run_say(job, "signal %d (%s): passed on to %u rank%s", number, strsignal(number),
            job->running, job->running == 1 ? "" : "s");
    run_signal_ranks(job, number, true);
    if (job->running == 0 && job->fleet == NULL) {
        run_leftover_signal(number);
    }
    wait_for_rest(job);
}

/* The shell sees us stop only if we do; the ranks were asked before. */
static void
take_stop(run_job *job)
{
    run_signal_ranks(job, SIGTSTP, true);
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
            run_signal_ranks(job, SIGCONT, true);
            break;
        case SIGUSR1:
        case SIGUSR2:
            /* Helpers in the group would die of what the rank itself handles. */
            run_signal_ranks(job, number, false);
            break;
        default:
            take_ending_signal(job, number);
        }
    }
    reap(job);
}
