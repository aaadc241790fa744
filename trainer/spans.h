/* spans.h - what a rank is doing when: named stretches of time, one inside another.
 * They give the shares of computing, communicating and waiting, and, where a trace is
 * wanted, what trace.h writes. Every call may be made with NULL and then does nothing.
 *
 *     span_begin(s, SPAN_PULL, 0);
 *     good = rondo_client_pull(...) == RONDO_OK;
 *     span_end(s);
 *
 * Each moment counts for the innermost span alone. Of an average, which waits inside
 * the library, what it took more than the shortest one counts as waiting. */
#ifndef TRAINER_SPANS_H
#define TRAINER_SPANS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum span_share { SHARE_COMPUTE, SHARE_COMMUNICATE, SHARE_WAIT } span_share;
#define SPAN_SHARES 3

/* Name, and what its time counts for. The index of a span says which: a layer, a step,
 * a peer. */
#define SPAN_LIST(ROW)                                 \
    ROW(STEP, "step", SHARE_COMPUTE)                   \
    ROW(FORWARD, "forward", SHARE_COMPUTE)             \
    ROW(BACKWARD, "backward layer", SHARE_COMPUTE)     \
    ROW(STRAGGLE, "straggle", SHARE_COMPUTE)           \
    ROW(UPDATE, "update", SHARE_COMPUTE)               \
    ROW(EVALUATE, "evaluate", SHARE_COMPUTE)           \
    ROW(CHECKPOINT, "checkpoint", SHARE_COMPUTE)       \
    ROW(EXCHANGE, "exchange layer", SHARE_COMMUNICATE) \
    ROW(EXCHANGE_ALL, "exchange", SHARE_COMMUNICATE)   \
    ROW(PUSH, "push", SHARE_COMMUNICATE)               \
    ROW(PULL, "pull", SHARE_COMMUNICATE)               \
    ROW(AVERAGE, "average", SHARE_COMMUNICATE)         \
    ROW(WAIT, "wait", SHARE_WAIT)

#define SPAN_ENUM(upper, text, share) SPAN_##upper,
typedef enum span_kind { SPAN_LIST(SPAN_ENUM) SPAN_KINDS } span_kind;

#define SPAN_DEPTH_MAX 8

struct trace;

typedef struct span_open {
    span_kind kind;
    uint64_t index;
    double began;
} span_open;

typedef struct spans {
    struct trace *trace; /* NULL: none is wanted. */
    uint32_t depth;
    span_open open[SPAN_DEPTH_MAX];
    double mark;               /* Until when time is counted. */
    double average_least;      /* Seconds of the shortest average; 0: none yet. */
    double total[SPAN_SHARES]; /* Seconds, of all spans so far. */
} spans;

void
span_begin(spans *s, span_kind kind, uint64_t index);
/* Ends the innermost one. */
void
span_end(spans *s);

/* When the latest one began or ended; clock_seconds. */
double
span_now(const spans *s);

/* What has run beside them since `began`: drawn, and counted for nothing. */
void
span_beside(spans *s, span_kind kind, double began);

/* Ends the spans that a failure has left open, down to `depth` of them. */
void
spans_unwind(spans *s, uint32_t depth);

/* Moves seconds of what is counted already from one share to another: what only a
 * library call knows, such as how much of a pull was waiting. */
void
spans_move(spans *s, span_share from, span_share to, double seconds);

const char *
span_text(span_kind kind);
span_share
span_share_of(span_kind kind);

#endif
