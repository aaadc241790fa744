/* progress.h - what a person sees while training runs: on a terminal a line that is
 * written over again and again, elsewhere a plain line now and then. */
#ifndef TRAINER_PROGRESS_H
#define TRAINER_PROGRESS_H

#include "records.h"

typedef enum progress_style {
    PROGRESS_NONE,  /* Another rank than 0. */
    PROGRESS_QUIET, /* The result alone. */
    PROGRESS_LINES,
    PROGRESS_LIVE
} progress_style;

typedef struct progress {
    progress_style style;
    uint64_t steps_end; /* The run's last step. */
    double start;       /* Of the first epoch; clock_seconds. */
    double next;        /* When to write again. */
    bool line_open;     /* A live line stands on the terminal. */
    const run_record *run;
} progress;

progress
progress_create(const run_record *run, uint32_t rank);

void
progress_start(progress *p);

/* After a step. It looks at the time and mostly does nothing; elapsed is the
 * epoch's. */
void
progress_step(progress *p, const step_record *r, double elapsed);
void
progress_epoch(progress *p, const epoch_record *r);
void
progress_final(progress *p, const final_record *r);

/* Ends a live line, so that an error starts at the left margin. */
void
progress_end_line(progress *p);

#endif
