/* link.c - obeys the launching side, and ends the ranks when it is no longer there. */
#include "link.h"

#include "ending.h"

#include <errno.h>
#include <sys/epoll.h>

bool
run_link_open(run_job *job)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = RUN_TAG_LINK}};
    return epoll_ctl(job->epoll, EPOLL_CTL_ADD, job->link->fd, &event) == 0;
}

void
run_link_put(run_job *job, const run_frame *frame)
{
    run_frame_put(&job->relay.sinks[0], frame);
    run_relay_flush(&job->relay);
}

static void
obey(run_job *job, const run_frame *frame)
{
    switch (frame->type) {
    case RUN_FRAME_SIGNAL:
        run_signal_ranks(job, (int)frame->number, frame->rank != 0);
        break;
    case RUN_FRAME_PUSH:
        run_push(job,
                 frame->number == RUN_PHASE_KILL ? RUN_PHASE_KILL : RUN_PHASE_TERM);
        break;
    case RUN_FRAME_TAKEN:
        run_relay_taken(&job->relay, frame->number);
        break;
    case RUN_FRAME_CLOSED:
        run_relay_close(&job->relay, frame->number & 1u);
        break;
    default:
        /* Not for us at this time. */
        break;
    }
}

/* Nobody waits for these ranks any more. */
static void
give_up(run_job *job)
{
    epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->link->fd, NULL);
    run_relay_close(&job->relay, 0);
    run_relay_close(&job->relay, 1);
    run_end_now(job);
}

static void
obey_all(run_job *job)
{
    run_frame frame;
    run_reading reading = run_reader_next(job->link, &frame);
    while (reading == RUN_READ_FRAME) {
        obey(job, &frame);
        reading = run_reader_next(job->link, &frame);
    }
    if (reading == RUN_READ_BROKEN) {
        give_up(job);
    }
}

void
run_link_event(run_job *job)
{
    const ssize_t count = run_reader_fill(job->link);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        give_up(job);
        return;
    }
    obey_all(job);
}

void
run_link_begin(run_job *job)
{
    for (uint32_t i = 0; i < job->started; i++) {
        const run_frame born = {.type = RUN_FRAME_BORN,
                                .rank = job->place.first + i,
                                .number = (uint32_t)job->ranks[i].pid};
        run_frame_put(&job->relay.sinks[0], &born);
    }
    if (job->start_error != 0) {
        const run_frame failed = {.type = RUN_FRAME_FAILED,
                                  .number = (uint32_t)job->start_error};
        run_frame_put(&job->relay.sinks[0], &failed);
    }
    run_relay_flush(&job->relay);
    obey_all(job);
}

void
run_link_report(run_job *job)
{
    for (uint32_t i = 0; i < job->started; i++) {
        run_rank *one = &job->ranks[i];
        if (!one->fresh) {
            continue;
        }
        one->fresh = false;
        const run_frame ended = {.type = RUN_FRAME_ENDED,
                                 .rank = job->place.first + i,
                                 .number = RUN_END(one->signal == 0 ? one->code : 0,
                                                   one->signal, one->core)};
        run_frame_put(&job->relay.sinks[0], &ended);
    }
    run_relay_flush(&job->relay);
}
