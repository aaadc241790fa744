/* metrics.h - the metrics file: one JSON object a line. README.md lists the fields. */
#ifndef TRAINER_METRICS_H
#define TRAINER_METRICS_H

#include "records.h"

#include <limits.h>
#include <stdio.h>

typedef struct metrics {
    FILE *file;  /* NULL: not open, or no records are wanted. */
    bool wanted; /* This rank writes records. */
    bool leads;  /* And all kinds, not those of a worker alone. */
    rank_record rank;
    char path[PATH_MAX];
} metrics;

/* Of the rank that leads. path NULL: every call below does nothing. An existing file is
 * replaced. */
TRAINER_MUST_USE bool
metrics_open(const char *path, metrics *result, problem *why);

/* Of the rank that leads, in a process that has been started again: the file goes
 * on. */
TRAINER_MUST_USE bool
metrics_reopen(const char *path, metrics *result, problem *why);

/* Of another rank: worker records alone, in a file beside that one (files.h), which is
 * opened with the first of them. Where path is a device there is none. */
TRAINER_MUST_USE bool
metrics_open_beside(const char *path, const rank_record *rank, metrics *result,
                    problem *why);

/* The rank that led is gone: this rank's file gets what follows. It is back: no
 * more. */
void
metrics_lead(metrics *m);
void
metrics_follow(metrics *m);

/* Each line is in the file when the call returns. */
TRAINER_MUST_USE bool
metrics_run(metrics *m, const run_record *r, problem *why);
TRAINER_MUST_USE bool
metrics_step(metrics *m, const step_record *r, problem *why);
TRAINER_MUST_USE bool
metrics_epoch(metrics *m, const epoch_record *r, problem *why);
TRAINER_MUST_USE bool
metrics_final(metrics *m, const run_record *run, const final_record *r, problem *why);
/* Of any rank. */
TRAINER_MUST_USE bool
metrics_worker(metrics *m, const worker_record *r, problem *why);

void
metrics_close(metrics *m);

#endif
