/*
 * proof.h - what the parts of the verifier share: events, what each needs, memory.
 *
 * An event is a step of one rank, or a mark: rank r starts, is between two collectives,
 * ends. A start and an end stand for the caller, who may do anything with IN and OUT
 * before the one and after the other.
 */
#ifndef VERIFY_PROOF_H
#define VERIFY_PROOF_H

#include "schedule/schedule.h"
#include "verify/verify.h"

/* Collectives run back to back. */
#define RONDO_PHASES 2

/* There is no such event. */
#define RONDO_NO_EVENT UINT64_MAX

typedef struct rondo_event {
    const rondo_step *step; /* null: a mark */
    uint64_t other;         /* send, recv: its other side; wait: the signal */
    uint64_t opening;       /* of a step: the mark in front of its phase */
    uint32_t rank;
    uint32_t phase; /* which collective; of a mark, the one behind it */
} rondo_event;

/* Where the buffers of one rank in one phase begin, in the cells of that phase. */
typedef struct rondo_layout {
    uint64_t buffer[4]; /* by rondo_buffer; in place lays IN over OUT */
    uint64_t first;     /* the caller's cells: IN and OUT */
    uint64_t count;
} rondo_layout;

typedef struct rondo_proof {
    const rondo_schedule *const *schedules[RONDO_PHASES];
    uint32_t nranks;
    uint32_t phases;
    rondo_event *events; /* by rank, within a rank in program order */
    uint64_t nevents;
    uint64_t *first_event;               /* by rank, and one past the last */
    rondo_layout *layouts[RONDO_PHASES]; /* by rank */
    uint64_t cells[RONDO_PHASES];        /* of all ranks */
    uint64_t *order;                     /* events, each after all it waits for; a
                                         * message stands at its send, its recv
                                         * behind */
    uint64_t *stamps;                    /* for searches: by event */
    uint64_t *stack;                     /* for searches: room for all events */
    uint64_t stamp;                      /* of the last search */
} rondo_proof;

/* Which of the events that may run runs next. */
typedef enum rondo_order { RONDO_ORDER_OLDEST, RONDO_ORDER_NEWEST } rondo_order;

/* rondo_proof_begin - check each schedule by itself, number the events, match messages
 * and signals, lay out memory. The caller clears `proof` first and ends it always. */
RONDO_MUST_USE rondo_status
rondo_proof_begin(rondo_proof *proof);
void
rondo_proof_end(rondo_proof *proof);

/* rondo_proof_take - `count` zeroed items of `width` bytes. */
RONDO_MUST_USE rondo_status
rondo_proof_take(uint64_t count, uint64_t width, void **memory);

/* rondo_proof_refuse - RONDO_ERR_INTERNAL with a sentence: which event, and what. */
rondo_status
rondo_proof_refuse(const rondo_proof *proof, uint64_t event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* rondo_proof_text - "rank 2 step 5, recv scratch[0+3] from 1", into `text`. */
#define RONDO_EVENT_TEXT_MAX 320
typedef struct rondo_event_words {
    char text[RONDO_EVENT_TEXT_MAX];
} rondo_event_words;
rondo_event_words
rondo_proof_text(const rondo_proof *proof, uint64_t event);

/* rondo_proof_schedule - the schedule an event belongs to. */
static inline const rondo_schedule *
rondo_proof_schedule(const rondo_proof *proof, const rondo_event *event)
{
    return proof->schedules[event->phase][event->rank];
}

/* rondo_proof_local - the place of an event among those of its rank; 0: the start. */
static inline uint64_t
rondo_proof_local(const rondo_proof *proof, uint64_t event)
{
    return event - proof->first_event[proof->events[event].rank];
}

/* rondo_proof_needs, rondo_proof_need - how many events a step needs, and which. One
 * that needs no step needs the mark in front of its phase. */
static inline uint64_t
rondo_proof_needs(const rondo_proof *proof, uint64_t event)
{
    const uint64_t needs = proof->events[event].step->needs;

    return needs == 0 ? 1 : needs;
}

static inline uint64_t
rondo_proof_need(const rondo_proof *proof, uint64_t event, uint64_t at)
{
    const rondo_event *const found = &proof->events[event];
    const uint64_t *const needs = rondo_proof_schedule(proof, found)->needs;

    return found->step->needs == 0
               ? found->opening
               : found->opening + 1 + needs[found->step->needs_at + at];
}

/* rondo_proof_cell - the first cell of a slice of a step. */
static inline uint64_t
rondo_proof_cell(const rondo_proof *proof, const rondo_event *event, rondo_slice slice)
{
    const uint32_t owner = slice.owner == RONDO_OWN ? event->rank : slice.owner;

    return proof->layouts[event->phase][owner].buffer[slice.buffer] + slice.first;
}

/* rondo_order_run - the order of the events, or the sentence of the deadlock. */
RONDO_MUST_USE rondo_status
rondo_order_run(rondo_proof *proof, rondo_order order);

/* rondo_reach_before - whether `early` is done before `late` starts, by needs alone;
 * both are events of one rank. */
bool
rondo_reach_before(rondo_proof *proof, uint64_t early, uint64_t late);

/* rondo_reach_check - the rules on needs that hold whatever is computed: messages of a
 * channel in order, a wait before all that follows, a signal behind all before it. */
RONDO_MUST_USE rondo_status
rondo_reach_check(rondo_proof *proof);

/* rondo_races_check - that every two accesses of which one writes are ordered, the
 * caller's included; and, for a barrier, that every end knows of every start. */
RONDO_MUST_USE rondo_status
rondo_races_check(rondo_proof *proof);

/* rondo_values_check - run the steps in the proof's order and look at what comes
 * out. */
RONDO_MUST_USE rondo_status
rondo_values_check(const rondo_proof *proof, rondo_verdict *verdict);

#endif /* VERIFY_PROOF_H */
