/* trace.h - a timeline of a run's first steps, for chrome://tracing or Perfetto: JSON
 * with a list traceEvents, a process for each rank. Spans (spans.h) end up here.
 *
 * Each rank writes its own file as soon as its steps are over, and again at the end;
 * the one that leads then takes those that it can see into its own. Every call may be
 * made with NULL, or with a trace that was opened without a path, and then does
 * nothing. */
#ifndef TRAINER_TRACE_H
#define TRAINER_TRACE_H

#include "problem.h"
#include "spans.h"

#include <limits.h>
#include <stddef.h>

/* Threads of a process in the timeline. */
typedef enum trace_lane { LANE_MAIN, LANE_EXCHANGE, LANES } trace_lane;

typedef struct trace_event {
    uint32_t rank;
    span_kind kind;
    trace_lane lane;
    uint64_t index;
    double began; /* Seconds; the origin is still to be taken off. */
    double ended;
} trace_event;

typedef struct trace {
    const char *wanted; /* The file for all ranks; NULL: no trace. */
    uint32_t rank;
    bool leads;          /* That file is this rank's; others have one beside it. */
    uint64_t steps;      /* So many steps are in it; */
    uint64_t steps_done; /* later spans are not, but for evaluation. */
    double origin;       /* What is second 0, on this rank's clock; */
    double started;      /* the same for all ranks, since 1970. */
    trace_event *event;
    size_t count;
    size_t room;
    bool written; /* All events so far are in the file. */
    bool full;    /* There was no more memory, or too many. */
} trace;

/* Whose it is. */
typedef struct trace_owner {
    uint32_t rank;
    bool leads;
    double started; /* The same on all ranks, seconds since 1970; virtual: 0. */
} trace_owner;

/* path NULL: none. */
trace
trace_open(const char *path, uint64_t steps, const trace_owner *owner);

/* By spans.c: of this rank, on its first lane and on the other. */
void
trace_span(trace *t, span_kind kind, uint64_t index, double began, double ended);
void
trace_beside(trace *t, span_kind kind, double began, double ended);

/* Of any rank, for virtual runs: the trace was opened with started 0, and times count
 * from 0. */
void
trace_add(trace *t, const trace_event *event);

/* After each step; true: write it now. trace_write may be called any time, and writes
 * what is new. */
bool
trace_step_done(trace *t);
TRAINER_MUST_USE bool
trace_write(trace *t, problem *why);

/* The rank that leads, when all others have written: takes their files of this run
 * in. */
TRAINER_MUST_USE bool
trace_merge(trace *t, uint32_t ranks, problem *why);

void
trace_free(trace *t);

#endif
