/* sink.h - rondo-run's own standard output or error, written without ever waiting. */
#ifndef RONDO_RUN_SINK_H
#define RONDO_RUN_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than this queued: whoever fills the sink should stop reading for a while. */
#define RUN_SINK_FULL_BYTES ((size_t)256 << 10)

typedef struct run_sink {
    int fd;
    int epoll;
    uint64_t tag;  /* of its events */
    bool waitable; /* a pipe, socket or terminal; files are always ready */
    bool armed;    /* waiting for room */
    bool dead;     /* nobody reads any more; what is put in is dropped */
    bool full;     /* those who fill it are not read at the moment */
    char *bytes;
    size_t start;
    size_t length;
    size_t capacity;
} run_sink;

/* run_sink_open - write to `fd`; events about room for more carry `tag`. */
void
run_sink_open(int fd, int epoll, uint64_t tag, run_sink *sink);

/* run_sink_put - append a copy; kept until run_sink_flush finds room for it. */
void
run_sink_put(run_sink *sink, const char *bytes, size_t length);

/* run_sink_flush - write what can be written now; asks epoll for the rest. */
void
run_sink_flush(run_sink *sink);

/* run_sink_drain - write everything, giving up when nothing moves for `patience_ms`. */
void
run_sink_drain(run_sink *sink, int patience_ms);

#endif /* RONDO_RUN_SINK_H */
