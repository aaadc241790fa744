/* account.h - what this worker's steps cost: feeds the worker records, the display and
 * the trace. loop.c calls it around each step; a mode notes what it alone knows. */
#ifndef TRAINER_ACCOUNT_H
#define TRAINER_ACCOUNT_H

#include "metrics.h"
#include "spans.h"
#include "status.h"
#include "trace.h"

/* Worker records hold the times of at most so many steps. */
#define ACCOUNT_STEPS_MAX 4096u

typedef struct account {
    spans spans;
    metrics *metrics;
    status_board *status;
    uint64_t log_every; /* Steps from one record to the next; 0: none. */
    status_report now;  /* So far. */
    double bytes;       /* Payload sent and received so far. */
    double step_began;
    double share_began[SPAN_SHARES]; /* spans.total at that moment. */
    /* Since the last record: */
    double *step_seconds; /* Of each step. */
    uint32_t steps;
    double staleness_sum;
    uint64_t staleness_count;
    double seconds;
    double share[SPAN_SHARES]; /* In steps; not between them. */
    double bytes_before;
} account;

typedef struct account_parts {
    uint32_t worker;
    uint64_t log_every;
    metrics *metrics;
    status_board *status; /* NULL: nobody is told. */
    trace *trace;         /* NULL: none. */
} account_parts;

TRAINER_MUST_USE bool
account_create(const account_parts *parts, account *result, problem *why);
void
account_free(account *a);

/* Notes of a mode, at any time of a step. */
void
account_version(account *a, uint64_t version); /* Parameters are of this version. */
void
account_staleness(account *a, uint64_t staleness); /* Of the gradient just used. */
void
account_bytes(account *a, double payload); /* Sent or received. */

/* Around a step. After a failure the end may be left out. */
void
account_step_begin(account *a, uint64_t step);
typedef struct account_step {
    uint64_t images; /* This worker's, in this step. */
    double loss;
} account_step;
TRAINER_MUST_USE bool
account_step_end(account *a, const account_step *s, problem *why);

/* After the last step: the rest of the records, and the trace. */
TRAINER_MUST_USE bool
account_finish(account *a, problem *why);

#endif
