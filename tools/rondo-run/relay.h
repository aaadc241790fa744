/* relay.h - reads the ranks' output and passes it on: line by line, or in frames to the
 * launching side. */
#ifndef RONDO_RUN_RELAY_H
#define RONDO_RUN_RELAY_H

#include "sink.h"

/* Tags of events in the job's epoll; streams count up from RUN_TAG_STREAM. */
enum {
    RUN_TAG_SIGNAL = 0,
    RUN_TAG_OUTPUT = 1,
    RUN_TAG_ERRORS = 2,
    RUN_TAG_STREAM = 3,
    RUN_TAG_LINK = 1 << 20, /* the launching side, on a host */
    RUN_TAG_POST = 1 << 21  /* the hosts, on the launching side: four for each */
};

/* Frames of output on their way to the launching side: with more than this not yet
 * passed on there, the ranks' streams are not read. */
#define RUN_UNTAKEN_BYTES_MAX ((uint64_t)256 << 10)

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
    bool prefixed;    /* lines begin with "[rank] " */
    bool framed;      /* all goes into frames on our standard output */
    uint32_t first;   /* rank of the first streams, in frames */
    uint64_t untaken; /* bytes in frames that the launching side still has */
} run_relay;

/* run_relay_create - for `nranks` ranks; false: out of memory. The caller may set
 * `prefixed` and `first` then. */
bool
run_relay_create(uint32_t nranks, int epoll, bool framed, run_relay *relay);

/* run_relay_open - pipes for one rank; the caller closes the write ends it gets after
 * the rank has them. 0 or an errno. */
int
run_relay_open(run_relay *relay, uint32_t rank, int writers[2]);

/* run_relay_event - what epoll reported for `tag`. */
void
run_relay_event(run_relay *relay, uint64_t tag);

/* run_relay_feed - output of a rank that is elsewhere; `kind` 0 stdout, 1 stderr. */
void
run_relay_feed(run_relay *relay, uint32_t rank, uint32_t kind, const char *bytes,
               size_t length);

/* run_relay_full - whether a reader is slow: who feeds should wait. */
bool
run_relay_full(const run_relay *relay);

/* run_relay_flush - write what can be written; streams go on or pause accordingly. */
void
run_relay_flush(run_relay *relay);

/* run_relay_taken - the launching side has passed on so much. */
void
run_relay_taken(run_relay *relay, uint64_t bytes);

/* run_relay_close - nobody reads that kind any more: the ranks learn it by SIGPIPE. */
void
run_relay_close(run_relay *relay, uint32_t kind);

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
