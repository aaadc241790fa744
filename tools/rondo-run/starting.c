/* starting.c - what every rank is started with, and what to say when it cannot be. */
#include "starting.h"

#include "cores.h"
#include "report.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* With --prefix each rank needs two descriptors of ours; its own limit stays. */
static void
allow_descriptors(run_job *job, const struct rlimit *limit)
{
    const rlim_t wanted = 2 * (rlim_t)job->options->nranks + 64;
    if (!job->relayed || limit->rlim_cur >= wanted) {
        return;
    }
    struct rlimit raised = *limit;
    raised.rlim_cur = wanted < limit->rlim_max ? wanted : limit->rlim_max;
    /* If refused, opening a pipe will say so. */
    (void)setrlimit(RLIMIT_NOFILE, &raised);
}

/* A shell cannot be asked which rank it types to, so a terminal is nobody's; on a host
 * of several our input is the launching side's. */
static int
input_of(const run_job *job, uint32_t local, int nothing)
{
    const bool ours = job->link == NULL && local == 0 && !isatty(STDIN_FILENO);
    return ours ? -1 : nothing;
}

static int
start_rank(run_job *job, run_start *start, uint32_t rank)
{
    int writers[2] = {-1, -1};
    if (job->relayed) {
        const int error = run_relay_open(&job->relay, rank, writers);
        if (error != 0) {
            return error;
        }
    }
    start->output = writers[0];
    start->errors = writers[1];
    start->variables = run_environment_for_rank(&job->environment, rank);
    run_rank *one = &job->ranks[rank];
    one->start_ns = run_now_ns();
    const int error = run_spawn(start, &one->pid);
    if (error == 0) {
        one->state = RUN_RUNNING;
        job->started++;
        job->running++;
    }
    for (int i = 0; i < 2; i++) {
        if (writers[i] >= 0) {
            close(writers[i]);
        }
    }
    return error;
}

static void
say_start_error(run_job *job, uint32_t rank, int error)
{
    switch (error) {
    case ENOENT:
        run_say(job,
                "cannot execute '%s': the interpreter or loader it asks for is missing",
                job->path);
        break;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        run_say(job, "cannot start rank %u: %s", job->place.first + rank,
                strerror(error));
        job->start_error = RUN_EXIT_FAILURE;
        return;
    default:
        run_say(job, "cannot execute '%s': %s", job->path, strerror(error));
    }
    job->start_error = RUN_EXIT_CANNOT_EXECUTE;
}

/* Whether ranks are bound. Several ranks on one processor would only wait for each
 * other, so with too few of them nothing is; who asked for more than the default is
 * told. */
static bool
find_cores(run_job *job, run_cores *cores)
{
    const uint32_t nranks = job->options->nranks;

    if (job->options->bind == RUN_BIND_NONE || !run_cores_find(cores)) {
        return false;
    }
    if (nranks > cores->count && job->options->bind == RUN_BIND_CORE) {
        run_say(job, "--bind core: %u ranks but %u processors: not bound", nranks,
                cores->count);
    }
    return nranks <= cores->count;
}

void
run_start_ranks(run_job *job)
{
    const uint32_t nranks = job->options->nranks;
    static run_cores cores;
    cpu_set_t part;
    const bool bound = find_cores(job, &cores);
    run_start start = {
        .path = job->path, .arguments = job->options->command, .mask = job->mask};
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || getrlimit(RLIMIT_NOFILE, &start.descriptors) != 0) {
        say_start_error(job, 0, EMFILE);
        return;
    }
    allow_descriptors(job, &start.descriptors);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        start.input = input_of(job, rank, nothing);
        if (bound) {
            run_cores_share(&cores, rank, nranks, job->options->bind == RUN_BIND_CORE,
                            &part);
            start.processors = &part;
        }
        const int error = start_rank(job, &start, rank);
        if (error != 0) {
            say_start_error(job, rank, error);
            break;
        }
    }
    close(nothing);
}
