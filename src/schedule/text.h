/* text.h - steps in words, and what makes a schedule well formed. */
#ifndef SCHEDULE_TEXT_H
#define SCHEDULE_TEXT_H

#include "schedule/schedule.h"

/* Long enough for any step without its needs. */
#define RONDO_STEP_TEXT_MAX 256

/* A step in words, as a value. */
typedef struct rondo_step_words {
    char text[RONDO_STEP_TEXT_MAX];
} rondo_step_words;

/* rondo_step_text - "reduce out[0+4] = in[0+4] op scratch[0+4]", without its needs. */
rondo_step_words
rondo_step_text(const rondo_step *step);

/* rondo_step_text_kind - "send"; a finishing reduction is "finish". */
const char *
rondo_step_text_kind(rondo_step_kind kind, bool final);

/* rondo_buffer_text - "scratch". */
const char *
rondo_buffer_text(rondo_buffer buffer);

/* rondo_step_fault - what is not well formed about step `index`, or null: a slice
 * outside its buffer or of another length than its neighbour, a peer that does not
 * exist, a need that is no earlier step, and the like. */
const char *
rondo_step_fault(const rondo_schedule *schedule, uint64_t index);

/* rondo_schedule_bare - an empty schedule without a builder: the parser, and tests that
 * spoil schedules, fill it themselves. RONDO_ERR_ARG for a collective that cannot
 * be. */
RONDO_MUST_USE rondo_status
rondo_schedule_bare(const rondo_coll *coll, rondo_schedule **schedule);

#endif /* SCHEDULE_TEXT_H */
