/* frame.h - what the launching rondo-run and the one on each host say to each other,
 * over the standard streams of the agent between them. */
#ifndef RONDO_RUN_FRAME_H
#define RONDO_RUN_FRAME_H

#include "sink.h"

#include <sys/types.h>

/* The host's side begins with this line; what an agent says before is its own. */
#define RUN_FRAME_HELLO    "rondo-run-host protocol "
#define RUN_FRAME_PROTOCOL 1

/* More than the arguments and variables a program can be given. */
#define RUN_FRAME_BYTES_MAX ((size_t)8 << 20)

typedef enum run_frame_type {
    RUN_FRAME_JOB = 1, /* to the host: what it is to run (order.h) */
    RUN_FRAME_READY,   /* from it: it can; its port and the master's address */
    RUN_FRAME_START,   /* to it: go, with the master's address and port */
    RUN_FRAME_BORN,    /* from it: the pid of a rank */
    RUN_FRAME_OUTPUT,  /* from it: what a rank wrote to stdout */
    RUN_FRAME_ERRORS,  /* the same for stderr */
    RUN_FRAME_ENDED,   /* from it: how a rank ended (RUN_END_...) */
    RUN_FRAME_SAY,     /* from it: a sentence of its rondo-run */
    RUN_FRAME_FAILED,  /* from it: it cannot run the job; the exit code */
    RUN_FRAME_SIGNAL,  /* to it: a signal for all ranks; rank 1: for their groups */
    RUN_FRAME_PUSH,    /* to it: end the ranks; the phase */
    RUN_FRAME_TAKEN,   /* to it: so many bytes of output were passed on */
    RUN_FRAME_CLOSED,  /* to it: nobody reads stdout (0) or stderr (1) any more */
    RUN_FRAME_TYPES
} run_frame_type;

/* How a rank ended, in the number of an ENDED frame. */
#define RUN_END(code, signal, core) \
    ((uint32_t)(code) | (uint32_t)(signal) << 8 | ((core) ? 1u << 16 : 0u))
#define RUN_END_CODE(number)   ((int)((number)&255u))
#define RUN_END_SIGNAL(number) ((int)((number) >> 8 & 255u))
#define RUN_END_CORE(number)   (((number) >> 16 & 1u) != 0)

typedef struct run_frame {
    run_frame_type type;
    uint32_t rank; /* of the job */
    uint32_t number;
    size_t length;
    const char *bytes; /* valid until the next call on the reader */
} run_frame;

/* run_frame_put - append one to the sink; the caller flushes. */
void
run_frame_put(run_sink *sink, const run_frame *frame);

/* Frames coming in. */
typedef struct run_reader {
    int fd;
    char *bytes;
    size_t start;
    size_t length;
    size_t capacity;
} run_reader;

/* run_reader_fill - one read: bytes, 0 at the end, or -1 with errno. */
ssize_t
run_reader_fill(run_reader *reader);

typedef enum run_reading { RUN_READ_FRAME, RUN_READ_MORE, RUN_READ_BROKEN } run_reading;

/* run_reader_next - the next whole frame that has arrived. */
run_reading
run_reader_next(run_reader *reader, run_frame *frame);

/* run_reader_hello - find the line the host's side begins with. FRAME: seen, with its
 * protocol in `protocol`; the lines before it are dropped. */
run_reading
run_reader_hello(run_reader *reader, uint32_t *protocol);

#endif /* RONDO_RUN_FRAME_H */
