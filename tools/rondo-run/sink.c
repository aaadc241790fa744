/* sink.c - a queue before a descriptor that must not be made non-blocking, since other
 * processes share it. */
#include "sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

void
run_sink_open(int fd, int epoll, uint64_t tag, run_sink *sink)
{
    *sink = (run_sink){.fd = fd, .epoll = epoll, .tag = tag};
    struct epoll_event event = {.events = EPOLLOUT, .data = {.u64 = tag}};
    /* Plain files are refused here: they never make a writer wait. Registered only
     * while armed, since a reader that has gone would be reported without end. */
    sink->waitable = epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
    if (sink->waitable) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
    }
}

static bool
make_room(run_sink *sink, size_t more)
{
    if (sink->start > 0 && sink->start + sink->length + more > sink->capacity) {
        memmove(sink->bytes, sink->bytes + sink->start, sink->length);
        sink->start = 0;
    }
    size_t capacity = sink->capacity == 0 ? 65536 : sink->capacity;
    while (capacity < sink->start + sink->length + more) {
        capacity *= 2;
    }
    if (capacity == sink->capacity) {
        return true;
    }
    char *bytes = realloc(sink->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    sink->bytes = bytes;
    sink->capacity = capacity;
    return true;
}

void
run_sink_put(run_sink *sink, const char *bytes, size_t length)
{
    if (sink->dead || length == 0) {
        return;
    }
    if (!make_room(sink, length)) {
        sink->dead = true;
        return;
    }
    memcpy(sink->bytes + sink->start + sink->length, bytes, length);
    sink->length += length;
}

static void
arm(run_sink *sink, bool armed)
{
    if (sink->waitable && sink->armed != armed) {
        struct epoll_event event = {.events = EPOLLOUT, .data = {.u64 = sink->tag}};
        epoll_ctl(sink->epoll, armed ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, sink->fd, &event);
        sink->armed = armed;
    }
}

/* Bytes that can be written without waiting. A pipe that polls writable has room for
 * PIPE_BUF bytes, and no more than that may be assumed. */
static size_t
room(const run_sink *sink, int patience_ms)
{
    if (!sink->waitable) {
        return sink->length;
    }
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
    if (poll(&ready, 1, patience_ms) <= 0) {
        return 0;
    }
    return sink->length < PIPE_BUF ? sink->length : PIPE_BUF;
}

static void
write_while_room(run_sink *sink, int patience_ms)
{
    while (sink->length > 0 && !sink->dead) {
        const size_t bytes = room(sink, patience_ms);
        if (bytes == 0) {
            return;
        }
        const ssize_t written = write(sink->fd, sink->bytes + sink->start, bytes);
        if (written < 0 && errno == EAGAIN) {
            return;
        }
        if (written < 0 && errno != EINTR) {
            sink->dead = true;
        }
        if (written > 0) {
            sink->start += (size_t)written;
            sink->length -= (size_t)written;
        }
    }
}

void
run_sink_flush(run_sink *sink)
{
    write_while_room(sink, 0);
    if (sink->dead) {
        sink->length = 0;
    }
    if (sink->length == 0) {
        sink->start = 0;
    }
    arm(sink, sink->length > 0);
}

void
run_sink_drain(run_sink *sink, int patience_ms)
{
    write_while_room(sink, patience_ms);
}
