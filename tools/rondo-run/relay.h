/* relay.h - --prefix: reads the ranks' output and passes it on line by line. */
#ifndef RONDO_RUN_RELAY_H
#define RONDO_RUN_RELAY_H

#include "sink.h"

/* Tags of events in the job's epoll; streams count up from RUN_TAG_STREAM. */
enum { RUN_TAG_SIGNAL = 0, RUN_TAG_OUTPUT = 1, RUN_TAG_ERRORS = 2, RUN_TAG_STREAM = 3 };

/* A line longer than this is broken, so that no rank can fill our memory. */
#define RUN_LINE_BYTES_MAX ((size_t)1 << 20)

/* One rank's output or error stream. */
typedef struct run_stream {
    int fd; /* -1: ended */
    uint32_t rank;
    run_sink *sink;
    char *line; /* begun, not ended yet */
    size_t length;
    size_t capacity;
} run_stream;

typedef struct run_relay {
    int epoll;
    run_sink sinks[2];
    run_stream *streams; /* two for each rank */
    uint32_t stream_count;
    uint32_t open_count;
} run_relay;

/* run_relay_create - for `nranks` ranks; false: out of memory. */
bool
run_relay_create(uint32_t nranks, int epoll, run_relay *relay);

/* run_relay_open - pipes for one rank; the caller closes the write ends it gets after
 * the rank has them. 0 or an errno. */
int
run_relay_open(run_relay *relay, uint32_t rank, int writers[2]);

/* run_relay_event - what epoll reported for `tag`. */
void
run_relay_event(run_relay *relay, uint64_t tag);

/* run_relay_say - a line of rondo-run's own, between the ranks' lines. */
void
run_relay_say(run_relay *relay, const char *text, size_t length);

/* run_relay_finish - all writers are gone: read what is left in the pipes. */
void
run_relay_finish(run_relay *relay);

/* run_relay_idle - nothing is open and nothing is left to write. */
bool
run_relay_idle(const run_relay *relay);

/* run_relay_drain - last call: write what is queued, within a few seconds. */
void
run_relay_drain(run_relay *relay);

#endif /* RONDO_RUN_RELAY_H */
