/* post.c - reads what one host says and acts on it. */
#include "post.h"

#include "ending.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* An agent whose output has ended should end itself; then it is helped. */
#define SILENT_NS ((uint64_t)2000000000)

static bool
watch(run_job *job, int fd, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = tag}};
    return epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

int
run_post_call(run_job *job, uint32_t number, char **words)
{
    run_post *post = &job->fleet->posts[number];
    const int error = run_agent_start(words, &job->mask, &post->agent);
    if (error != 0) {
        return error;
    }
    const uint64_t tag = RUN_TAG_POST + 4 * (uint64_t)number;
    run_sink_open(post->agent.input, job->epoll, tag, &post->sink);
    post->reader.fd = post->agent.output;
    /* A refusal here is noticed as silence. */
    (void)watch(job, post->agent.output, tag + 1);
    (void)watch(job, post->agent.errors, tag + 2);
    return 0;
}

void
run_post_put(run_post *post, run_frame_type type, uint32_t rank, uint32_t number,
             const char *text, size_t length)
{
    const run_frame frame = {
        .type = type, .rank = rank, .number = number, .length = length, .bytes = text};
    run_frame_put(&post->sink, &frame);
    run_sink_flush(&post->sink);
}

void
run_post_say_words(run_job *job, run_post *post)
{
    char *rest = NULL;
    post->words[post->words_length] = '\0';
    for (char *line = strtok_r(post->words, "\r\n", &rest); line != NULL;
         line = strtok_r(NULL, "\r\n", &rest)) {
        run_say(job, "%s: %s", post->name, line);
    }
    post->words_length = 0;
}

/* False: nothing more can come. */
static bool
read_words(run_job *job, run_post *post)
{
    const size_t room = sizeof(post->words) - 1 - post->words_length;
    const ssize_t count =
        read(post->agent.errors, post->words + post->words_length, room);
    if (count <= 0) {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
    post->words_length += (size_t)count;
    const bool whole = post->words[post->words_length - 1] == '\n';
    const bool full = post->words_length == sizeof(post->words) - 1;
    if (full || (whole && post->state == RUN_POST_WORKING)) {
        run_post_say_words(job, post);
    }
    return true;
}

/* What it says makes no sense: its agent is ended, and the rest follows from that. */
static void
distrust(run_job *job, run_post *post, const char *why)
{
    run_say(job, "%s (%s:%u): %s", post->name, job->fleet->hosts.path, post->host->line,
            why);
    if (job->started == 0 && job->start_error == 0) {
        job->start_error = RUN_EXIT_FAILURE;
    }
    kill(-post->agent.pid, SIGKILL);
}

/* It cannot start all of its ranks: those without a pid never were. */
static void
fail(run_job *job, run_post *post, const run_frame *frame)
{
    const uint32_t code = frame->number;
    if (job->start_error == 0) {
        job->start_error = code > 0 && code < 256 ? (int)code : RUN_EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < post->host->nranks; i++) {
        run_rank *one = &job->ranks[post->host->first + i];
        if (one->state == RUN_RUNNING && one->pid == 0) {
            one->state = RUN_NOT_STARTED;
            job->running--;
        }
    }
    run_end_now(job);
}

static void
take_output(run_job *job, run_post *post, const run_frame *frame)
{
    const uint32_t kind = frame->type == RUN_FRAME_ERRORS ? 1 : 0;
    run_relay_feed(&job->relay, frame->rank, kind, frame->bytes, frame->length);
    post->untaken += frame->length;
}

/* A frame about one of its ranks. */
static void
handle_rank(run_job *job, run_post *post, const run_frame *frame)
{
    if (post->state != RUN_POST_WORKING || frame->rank < post->host->first ||
        frame->rank - post->host->first >= post->host->nranks) {
        distrust(job, post, "speaks of a rank that it does not have");
    } else if (frame->type == RUN_FRAME_BORN) {
        job->ranks[frame->rank].pid = (pid_t)frame->number;
    } else if (frame->type == RUN_FRAME_ENDED) {
        run_note_end(job, frame->rank, frame->number);
    } else {
        take_output(job, post, frame);
    }
}

static void
handle(run_job *job, uint32_t number, const run_frame *frame)
{
    run_post *post = &job->fleet->posts[number];
    switch (frame->type) {
    case RUN_FRAME_READY:
        run_fleet_ready(job, number, frame);
        break;
    case RUN_FRAME_SAY:
        run_say(job, "%s: %.*s", post->name, (int)(frame->length & 4095u),
                frame->bytes);
        break;
    case RUN_FRAME_FAILED:
        fail(job, post, frame);
        break;
    default:
        handle_rank(job, post, frame);
    }
}

/* All frames that have arrived whole; false: it is not to be listened to any more. */
static bool
handle_all(run_job *job, uint32_t number)
{
    run_post *post = &job->fleet->posts[number];
    uint32_t protocol = 0;
    run_frame frame;
    run_reading reading = RUN_READ_FRAME;
    if (post->state == RUN_POST_CALLED) {
        reading = run_reader_hello(&post->reader, &protocol);
        if (reading == RUN_READ_FRAME && protocol != RUN_FRAME_PROTOCOL) {
            distrust(job, post, "runs a rondo-run of another version");
            return false;
        }
        if (reading == RUN_READ_FRAME) {
            run_fleet_tell(job, number);
        }
    }
    while (reading == RUN_READ_FRAME) {
        reading = run_reader_next(&post->reader, &frame);
        if (reading == RUN_READ_FRAME) {
            handle(job, number, &frame);
        }
    }
    if (reading == RUN_READ_BROKEN) {
        distrust(job, post, "does not answer as a rondo-run does");
    }
    return reading != RUN_READ_BROKEN;
}

/* One read; false: nothing more can come, or should. */
static bool
read_frames(run_job *job, uint32_t number)
{
    run_post *post = &job->fleet->posts[number];
    const ssize_t count = run_reader_fill(&post->reader);
    if (count > 0) {
        return handle_all(job, number);
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

void
run_post_event(run_job *job, uint32_t number, uint32_t stream)
{
    run_post *post = &job->fleet->posts[number];
    if (post->state == RUN_POST_GONE) {
        return;
    }
    if (stream == 0) {
        run_sink_flush(&post->sink);
    } else if (stream == 1 && post->silent_ns == 0 && !read_frames(job, number)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, post->agent.output, NULL);
        post->silent_ns = run_now_ns();
        const uint64_t alarm_ns = post->silent_ns + SILENT_NS;
        if (job->alarm_ns == 0 || alarm_ns < job->alarm_ns) {
            job->alarm_ns = alarm_ns;
        }
    } else if (stream == 2 && !read_words(job, post)) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, post->agent.errors, NULL);
    }
}

/* Reads on while there is something; what an agent started may keep a pipe open. */
static void
drain(run_job *job, uint32_t number)
{
    run_post *post = &job->fleet->posts[number];
    while (post->silent_ns == 0 && run_reader_fill(&post->reader) > 0 &&
           handle_all(job, number)) {
    }
    size_t before = 0;
    do {
        before = post->words_length;
    } while (read_words(job, post) && post->words_length > before);
}

/* The agent's words as part of a sentence: its lines, each with "; " behind it. */
static void
fold_words(run_post *post, char *text, size_t text_size)
{
    char *rest = NULL;
    size_t length = 0;
    text[0] = '\0';
    post->words[post->words_length] = '\0';
    for (const char *line = strtok_r(post->words, "\r\n", &rest);
         line != NULL && length < text_size; line = strtok_r(NULL, "\r\n", &rest)) {
        length += (size_t)snprintf(text + length, text_size - length, "%s; ", line);
    }
    post->words_length = 0;
}

static void
say_gone(run_job *job, run_post *post, const char *what, const siginfo_t *info)
{
    char words[1200];
    fold_words(post, words, sizeof(words));
    run_say(job, "%s (%s:%u) %s: %sthe agent %s %d", post->name, job->fleet->hosts.path,
            post->host->line, what, words,
            info->si_code == CLD_EXITED ? "exited with code" : "was killed by signal",
            info->si_status);
}

static void
lose_ranks(run_job *job, run_post *post, const siginfo_t *info)
{
    bool said = false;
    for (uint32_t i = 0; i < post->host->nranks; i++) {
        const uint32_t rank = post->host->first + i;
        if (job->ranks[rank].state != RUN_RUNNING) {
            continue;
        }
        if (!said) {
            say_gone(job, post, "was lost with its ranks", info);
            said = true;
        }
        run_note_lost(job, rank);
    }
}

void
run_post_end(run_job *job, uint32_t number, const siginfo_t *info)
{
    run_post *post = &job->fleet->posts[number];
    drain(job, number);
    const run_post_state state = post->state;
    post->state = RUN_POST_GONE;
    post->sink.dead = true;
    job->fleet->gone++;
    close(post->agent.input);
    close(post->agent.output);
    close(post->agent.errors);
    if (state == RUN_POST_WORKING) {
        lose_ranks(job, post, info);
    } else if (job->phase < RUN_PHASE_TERM && job->start_error == 0) {
        say_gone(job, post, "cannot be reached", info);
        job->start_error = RUN_EXIT_FAILURE;
        run_end_now(job);
    }
    if (state == RUN_POST_WORKING) {
        run_post_say_words(job, post);
    }
}
