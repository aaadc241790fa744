/* progress.h - what a person sees while training runs: on a terminal a few lines that
 * are written over again and again, one for each worker and one for all; elsewhere a
 * plain line now and then. */
#ifndef TRAINER_PROGRESS_H
#define TRAINER_PROGRESS_H

#include "records.h"
#include "status.h"

typedef enum progress_style {
    PROGRESS_NONE,  /* Another rank than the one that draws. */
    PROGRESS_QUIET, /* The result alone. */
    PROGRESS_LINES,
    PROGRESS_LIVE
} progress_style;

typedef struct progress {
    progress_style style;
    uint64_t steps_end; /* The run's last step. */
    double start;       /* When this display began; clock_seconds. */
    uint64_t before;    /* Steps that were done then. */
    bool counting;      /* That is known. */
    double next;        /* When to write again. */
    uint32_t lines;     /* Live lines that stand on the terminal. */
    double accuracy;    /* Of the last epoch; negative: none yet. */
    const run_record *run;
    const status_board *status; /* May be NULL: of this worker alone. */
} progress;

/* draws: this rank does. */
progress
progress_create(const run_record *run, const status_board *status, bool draws);

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

/* Another rank draws from now on. */
void
progress_stop(progress *p);

/* Ends the live lines, so that an error starts at the left margin. */
void
progress_end_line(progress *p);

#endif
