/* metrics.h - the metrics file: one JSON object a line. README.md lists the fields. */
#ifndef TRAINER_METRICS_H
#define TRAINER_METRICS_H

#include "records.h"

#include <stdio.h>

typedef struct metrics {
    FILE *file; /* NULL: no records are wanted. */
    const char *path;
} metrics;

/* path NULL: every call below does nothing. An existing file is replaced. */
TRAINER_MUST_USE bool
metrics_open(const char *path, metrics *result, problem *why);

/* Each line is in the file when the call returns. */
TRAINER_MUST_USE bool
metrics_run(metrics *m, const run_record *r, problem *why);
TRAINER_MUST_USE bool
metrics_step(metrics *m, const step_record *r, problem *why);
TRAINER_MUST_USE bool
metrics_epoch(metrics *m, const epoch_record *r, problem *why);
TRAINER_MUST_USE bool
metrics_final(metrics *m, const run_record *run, const final_record *r, problem *why);

void
metrics_close(metrics *m);

#endif
