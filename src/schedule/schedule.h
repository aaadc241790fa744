/*
 * schedule.h - the schedule: what one rank does in one collective, as plain data.
 *
 * An algorithm appends steps in program order; the builder derives which steps must
 * wait for which from the slices they touch. A schedule holds no pointer to user
 * memory, no type and no operator: slices count elements, so the same schedule serves
 * every type, can be printed, hashed, verified and kept in a cache.
 *
 * Rules that algorithms follow
 *   - the i-th send of rank a to rank b is the i-th receive of b from a, of equal
 *   count;
 *   - a slice of count 0 appends nothing, on either side;
 *   - a step whose destination is exactly its source appends nothing;
 *   - in place is canonical: slices of IN and OUT that are the same memory are written
 *     as the same slice by the builder, so overlaps are seen.
 */
#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rondo/status.h>

#include "schedule/coll.h"

typedef enum rondo_buffer {
    RONDO_BUF_IN,      /* the caller's send buffer */
    RONDO_BUF_OUT,     /* the caller's receive buffer */
    RONDO_BUF_SCRATCH, /* elements that live as long as the schedule runs */
    RONDO_BUF_WIRE     /* encoded bytes; `first` and `count` are those of the elements
                        * they stand for */
} rondo_buffer;

/* For rondo_slice.owner: this rank's own memory. */
#define RONDO_OWN UINT32_MAX

/* For rondo_step.reader: there is no such step. */
#define RONDO_NO_STEP UINT64_MAX

/* A run of elements in one buffer of one rank. */
typedef struct rondo_slice {
    uint64_t first;      /* element at which it begins */
    uint64_t count;      /* elements */
    uint32_t owner;      /* RONDO_OWN, or the peer whose mapped buffer it is */
    rondo_buffer buffer; /* which of the owner's buffers */
} rondo_slice;

typedef enum rondo_step_kind {
    RONDO_STEP_SEND,   /* a -> peer */
    RONDO_STEP_RECV,   /* peer -> to */
    RONDO_STEP_COPY,   /* to = a */
    RONDO_STEP_REDUCE, /* to = a op b, operands in this order */
    RONDO_STEP_ENCODE, /* to (WIRE) = code of a */
    RONDO_STEP_DECODE, /* to = decoded a (WIRE) */
    RONDO_STEP_SIGNAL, /* tell all ranks: my `signal`-th signal of this schedule */
    RONDO_STEP_WAIT    /* until `peer` has given its `signal`-th signal */
} rondo_step_kind;

/* One step. Unused slices have count 0. */
typedef struct rondo_step {
    rondo_step_kind kind;
    uint32_t peer;     /* send, recv, wait */
    uint32_t signal;   /* signal, wait: counts from 1 */
    bool final;        /* reduce: completes the result (an average divides here) */
    rondo_slice to;    /* written */
    rondo_slice a;     /* read */
    rondo_slice b;     /* read: reduce only */
    uint64_t needs_at; /* first entry in rondo_schedule.needs */
    uint64_t needs;    /* number of entries: earlier steps that must be done before */
    uint64_t reader; /* recv into scratch: the step that reads all of it as one operand
                        * and is the only one to read any; else RONDO_NO_STEP */
} rondo_step;

/*
 * A frame: some of the ranks, and a run of elements, that stand for the whole. Inside
 * it an algorithm appends as it always does, its peers and its slices of IN and OUT
 * counted within the frame; the builder translates. So one algorithm can be a phase of
 * another.
 */
typedef struct rondo_frame {
    const uint32_t *ranks; /* the rank at place p is ranks[p * stride] */
    uint32_t stride;
    uint32_t nranks;     /* places */
    bool partial;        /* more is added later: no reduction in here is final */
    rondo_slice in;      /* what IN stands for */
    rondo_slice out;     /* what OUT stands for */
    rondo_slice scratch; /* scratch to use again, what an earlier frame of the same
                          * shape has left; of count 0: fresh scratch */
} rondo_frame;

/* A schedule, owned by whoever called rondo_schedule_create. Read it, never write
 * it. */
typedef struct rondo_schedule {
    rondo_coll coll;         /* what it was built for */
    rondo_step *steps;       /* in program order */
    uint64_t nsteps;         /* entries in steps */
    uint64_t *needs;         /* indexes of steps, grouped by the step that needs them */
    uint64_t nneeds;         /* entries in needs */
    uint64_t scratch_count;  /* elements of scratch the schedule may touch */
    uint64_t wire_count;     /* elements the WIRE buffer stands for */
    uint32_t signals;        /* signals this rank gives */
    rondo_status status;     /* sticky: after a failed append nothing is appended */
    struct rondo_deps *deps; /* builder's memory; null once sealed */
    bool framed;             /* builder: `frame` holds */
    rondo_frame frame;       /* builder: the frame it is in */
    uint64_t taken;          /* builder: elements of scratch the frame has taken */
    const rondo_levels *own_levels; /* parsed: coll.levels, to be freed; else null */
    uint64_t steps_room;            /* builder: entries that fit into steps */
    uint64_t needs_room;            /* builder: entries that fit into needs */
} rondo_schedule;

/* rondo_schedule_create - an empty schedule for `coll`, to be appended to. */
RONDO_MUST_USE rondo_status
rondo_schedule_create(const rondo_coll *coll, rondo_schedule **schedule);

/* rondo_schedule_seal - no more appends; returns the sticky status and frees what only
 * the builder needed. */
RONDO_MUST_USE rondo_status
rondo_schedule_seal(rondo_schedule *schedule);

/* rondo_schedule_destroy - null is allowed. */
void
rondo_schedule_destroy(rondo_schedule *schedule);

/* rondo_slice_make - own elements [first, first + count) of `buffer`. */
rondo_slice
rondo_slice_make(rondo_buffer buffer, uint64_t first, uint64_t count);

/* rondo_slice_of - the same in the mapped buffer of `owner`. */
rondo_slice
rondo_slice_of(uint32_t owner, rondo_buffer buffer, uint64_t first, uint64_t count);

/* rondo_slice_part - elements [at, at + count) of `slice`. */
rondo_slice
rondo_slice_part(rondo_slice slice, uint64_t at, uint64_t count);

/* rondo_schedule_scratch - a fresh slice of scratch. */
rondo_slice
rondo_schedule_scratch(rondo_schedule *schedule, uint64_t count);

/* rondo_schedule_wire - a fresh slice of wire for the code of `count` elements. */
rondo_slice
rondo_schedule_wire(rondo_schedule *schedule, uint64_t count);

/* rondo_schedule_enter, rondo_schedule_leave - begin and end a frame; there is one at a
 * time. Leaving tells what scratch was taken inside. */
void
rondo_schedule_enter(rondo_schedule *schedule, const rondo_frame *frame);
rondo_slice
rondo_schedule_leave(rondo_schedule *schedule);

/* Appends, in program order. All are void: the status is sticky. */
void
rondo_schedule_send(rondo_schedule *schedule, uint32_t peer, rondo_slice from);
void
rondo_schedule_recv(rondo_schedule *schedule, uint32_t peer, rondo_slice to);
void
rondo_schedule_copy(rondo_schedule *schedule, rondo_slice to, rondo_slice from);
void
rondo_schedule_reduce(rondo_schedule *schedule, rondo_slice to, rondo_slice a,
                      rondo_slice b);
/* The reduction that completes the result of these elements. */
void
rondo_schedule_reduce_final(rondo_schedule *schedule, rondo_slice to, rondo_slice a,
                            rondo_slice b);
void
rondo_schedule_encode(rondo_schedule *schedule, rondo_slice wire, rondo_slice from);
void
rondo_schedule_decode(rondo_schedule *schedule, rondo_slice to, rondo_slice wire);
/* My next signal: waits for all earlier steps that touch memory a peer can see. */
void
rondo_schedule_signal(rondo_schedule *schedule);
/* Later steps wait until `peer` has given its `signal`-th (from 1) of this schedule. */
void
rondo_schedule_wait(rondo_schedule *schedule, uint32_t peer, uint32_t signal);

/*
 * rondo_schedule_print - the text form, one line a step; rondo_schedule_parse reads it
 * back. The text is complete: printing what was parsed gives the same text.
 */
RONDO_MUST_USE rondo_status
rondo_schedule_print(const rondo_schedule *schedule, FILE *out);
/* rondo_schedule_parse - RONDO_ERR_ARG names the line and what is wrong with it. */
RONDO_MUST_USE rondo_status
rondo_schedule_parse(FILE *in, rondo_schedule **schedule);

#endif /* SCHEDULE_SCHEDULE_H */
