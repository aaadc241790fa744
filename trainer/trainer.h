/* trainer.h - everything a run needs while it trains, and the training itself. */
#ifndef TRAINER_TRAINER_H
#define TRAINER_TRAINER_H

#include "data.h"
#include "exchange.h"
#include "gradient.h"
#include "metrics.h"
#include "model.h"
#include "optimiser.h"
#include "options.h"
#include "progress.h"
#include "ranks.h"
#include "rate.h"
#include "sampler.h"

typedef struct trainer {
    const ranks *all;
    const options *o;
    const data_set *set;
    double began; /* When the program did; clock_seconds. */
    run_record run;
    model net;
    float *parameter;
    sampler order;
    tape t;
    gradient_tree tree;     /* With --canonical only, */
    gradient_passes passes; /* else this. */
    exchange exchange;
    rate_plan rate;
    optimiser descent;
    metrics metrics;
    progress progress;
} trainer;

/* What the options come to for so many ranks; refuses what does not fit them. */
typedef struct batch_plan {
    uint32_t global_batch; /* Images of all ranks in a step. */
    uint32_t pieces;       /* With --canonical: of a rank in a step; else 0. */
} batch_plan;
TRAINER_MUST_USE bool
trainer_plan(const options *o, uint32_t ranks_count, batch_plan *plan, problem *why);

/* Checks the settings against the other ranks, and starts with rank 0's parameters.
 * Fills in *t, which must then stay where it is; trainer_free undoes whatever was done,
 * also after a failure. What is passed in must outlive *t. */
TRAINER_MUST_USE bool
trainer_create(const ranks *all, const options *o, const data_set *set, double began,
               trainer *t, problem *why);
void
trainer_free(trainer *t);

/* All epochs, up to the last record. */
TRAINER_MUST_USE bool
trainer_run(trainer *t, problem *why);

#endif
