/* relay.c - line assembly, prefixes, and back pressure from a slow reader. */
#include "relay.h"

#include "frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Long enough for any terminal; a reader that takes nothing so long is gone. */
#define DRAIN_PATIENCE_MS 2000

bool
run_relay_create(uint32_t nranks, int epoll, bool framed, run_relay *relay)
{
    *relay = (run_relay){.epoll = epoll, .stream_count = 2 * nranks, .framed = framed};
    relay->streams = calloc(relay->stream_count, sizeof(run_stream));
    if (relay->streams == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < relay->stream_count; i++) {
        run_sink *sink = &relay->sinks[framed ? 0 : i % 2];
        relay->streams[i] = (run_stream){.fd = -1, .rank = i / 2, .sink = sink};
    }
    run_sink_open(STDOUT_FILENO, epoll, RUN_TAG_OUTPUT, &relay->sinks[0]);
    run_sink_open(STDERR_FILENO, epoll, RUN_TAG_ERRORS, &relay->sinks[1]);
    return true;
}

static int
open_stream(run_relay *relay, uint32_t index, int *writer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    struct epoll_event event = {.events = EPOLLIN,
                                .data = {.u64 = RUN_TAG_STREAM + (uint64_t)index}};
    /* Only our end: the rank must find an ordinary pipe. */
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(relay->epoll, EPOLL_CTL_ADD, ends[0], &event) != 0) {
        const int error = errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    relay->streams[index].fd = ends[0];
    relay->open_count++;
    *writer = ends[1];
    return 0;
}

static void
close_stream(run_relay *relay, run_stream *stream)
{
    if (stream->fd >= 0) {
        close(stream->fd);
        stream->fd = -1;
        relay->open_count--;
        free(stream->line);
        stream->line = NULL;
        stream->length = 0;
    }
}

int
run_relay_open(run_relay *relay, uint32_t rank, int writers[2])
{
    int error = open_stream(relay, 2 * rank, &writers[0]);
    if (error != 0) {
        return error;
    }
    error = open_stream(relay, 2 * rank + 1, &writers[1]);
    if (error != 0) {
        close(writers[0]);
        close_stream(relay, &relay->streams[2 * rank]);
    }
    return error;
}

/* Puts `[rank] `, the line begun earlier, and its end; `tail` may lack the newline. */
static void
put_line(const run_relay *relay, run_stream *stream, const char *tail,
         size_t tail_length)
{
    if (relay->prefixed) {
        char prefix[16];
        const int length = snprintf(prefix, sizeof(prefix), "[%u] ", stream->rank);
        run_sink_put(stream->sink, prefix, (size_t)length);
    }
    run_sink_put(stream->sink, stream->line, stream->length);
    run_sink_put(stream->sink, tail, tail_length);
    if (tail_length == 0 || tail[tail_length - 1] != '\n') {
        run_sink_put(stream->sink, "\n", 1);
    }
    stream->length = 0;
}

static void
keep(const run_relay *relay, run_stream *stream, const char *bytes, size_t length)
{
    if (stream->length + length > stream->capacity) {
        const size_t capacity = 2 * (stream->length + length);
        char *line = realloc(stream->line, capacity);
        if (line == NULL) {
            put_line(relay, stream, bytes, length);
            return;
        }
        stream->line = line;
        stream->capacity = capacity;
    }
    memcpy(stream->line + stream->length, bytes, length);
    stream->length += length;
}

static void
take(const run_relay *relay, run_stream *stream, const char *bytes, size_t length)
{
    const char *const end = bytes + length;
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        if (newline == NULL) {
            keep(relay, stream, bytes, (size_t)(end - bytes));
            break;
        }
        put_line(relay, stream, bytes, (size_t)(newline + 1 - bytes));
        bytes = newline + 1;
    }
    if (stream->length >= RUN_LINE_BYTES_MAX) {
        put_line(relay, stream, NULL, 0);
    }
}

/* A paused stream leaves epoll: its end would be reported again and again. */
static void
pause_stream(run_relay *relay, run_stream *stream, bool paused)
{
    const uint64_t index = (uint64_t)(stream - relay->streams);
    struct epoll_event event = {.events = EPOLLIN,
                                .data = {.u64 = RUN_TAG_STREAM + index}};
    epoll_ctl(relay->epoll, paused ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, stream->fd, &event);
}

static bool
is_full(const run_relay *relay, const run_sink *sink)
{
    return sink->length > RUN_SINK_FULL_BYTES || relay->untaken > RUN_UNTAKEN_BYTES_MAX;
}

/* Writes what can be written; then every stream reads on, waits, or learns by SIGPIPE,
 * as it would without us, that nobody listens. */
static void
flush(run_relay *relay, run_sink *sink)
{
    run_sink_flush(sink);
    const bool full = is_full(relay, sink);
    if (!sink->dead && full == sink->full) {
        return;
    }
    for (uint32_t i = 0; i < relay->stream_count; i++) {
        run_stream *stream = &relay->streams[i];
        if (stream->sink != sink || stream->fd < 0) {
            continue;
        }
        if (sink->dead) {
            close_stream(relay, stream);
        } else {
            pause_stream(relay, stream, full);
        }
    }
    sink->full = full;
}

/* As it is, for the launching side to make lines of. */
static void
put_frame(run_relay *relay, const run_stream *stream, const char *bytes, size_t length)
{
    const bool errors = (stream - relay->streams) % 2 != 0;
    const run_frame frame = {.type = errors ? RUN_FRAME_ERRORS : RUN_FRAME_OUTPUT,
                             .rank = relay->first + stream->rank,
                             .length = length,
                             .bytes = bytes};
    run_frame_put(stream->sink, &frame);
    relay->untaken += length;
}

/* One read; true while there may be more. */
static bool
read_stream(run_relay *relay, run_stream *stream)
{
    static char bytes[65536];
    const ssize_t length = read(stream->fd, bytes, sizeof(bytes));
    if (length > 0 && relay->framed) {
        put_frame(relay, stream, bytes, (size_t)length);
        return true;
    }
    if (length > 0) {
        take(relay, stream, bytes, (size_t)length);
        return true;
    }
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (stream->length > 0) {
        put_line(relay, stream, NULL, 0);
    }
    close_stream(relay, stream);
    return false;
}

void
run_relay_event(run_relay *relay, uint64_t tag)
{
    if (tag < RUN_TAG_STREAM) {
        flush(relay, &relay->sinks[tag - RUN_TAG_OUTPUT]);
        return;
    }
    run_stream *stream = &relay->streams[tag - RUN_TAG_STREAM];
    /* Reported in the same turn in which the stream was closed or paused. */
    if (stream->fd < 0 || stream->sink->full) {
        return;
    }
    read_stream(relay, stream);
    flush(relay, stream->sink);
}

void
run_relay_feed(run_relay *relay, uint32_t rank, uint32_t kind, const char *bytes,
               size_t length)
{
    run_stream *stream = &relay->streams[2 * rank + kind];
    take(relay, stream, bytes, length);
    flush(relay, stream->sink);
}

bool
run_relay_full(const run_relay *relay)
{
    return relay->sinks[0].full || relay->sinks[1].full;
}

void
run_relay_flush(run_relay *relay)
{
    flush(relay, &relay->sinks[0]);
    flush(relay, &relay->sinks[1]);
}

void
run_relay_taken(run_relay *relay, uint64_t bytes)
{
    relay->untaken -= bytes < relay->untaken ? bytes : relay->untaken;
    flush(relay, &relay->sinks[0]);
}

void
run_relay_close(run_relay *relay, uint32_t kind)
{
    for (uint32_t i = kind; i < relay->stream_count; i += 2) {
        close_stream(relay, &relay->streams[i]);
    }
}

void
run_relay_say(run_relay *relay, const char *text, size_t length)
{
    run_sink_put(&relay->sinks[1], text, length);
    flush(relay, &relay->sinks[1]);
}

void
run_relay_finish(run_relay *relay)
{
    for (uint32_t i = 0; i < relay->stream_count; i++) {
        run_stream *stream = &relay->streams[i];
        while (stream->fd >= 0 && read_stream(relay, stream)) {
        }
        /* Also of a rank elsewhere: a last line without its end. */
        if (stream->length > 0) {
            put_line(relay, stream, NULL, 0);
        }
        close_stream(relay, stream);
    }
    run_relay_flush(relay);
}

bool
run_relay_idle(const run_relay *relay)
{
    return relay->open_count == 0 && relay->sinks[0].length == 0 &&
           relay->sinks[1].length == 0;
}

void
run_relay_drain(run_relay *relay)
{
    run_sink_drain(&relay->sinks[0], DRAIN_PATIENCE_MS);
    run_sink_drain(&relay->sinks[1], DRAIN_PATIENCE_MS);
}
