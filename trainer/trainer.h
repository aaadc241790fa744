/* trainer.h - everything a run needs while it trains, and the training itself. */
#ifndef TRAINER_TRAINER_H
#define TRAINER_TRAINER_H

#include "account.h"
#include "data.h"
#include "gradient.h"
#include "group.h"
#include "metrics.h"
#include "model.h"
#include "optimiser.h"
#include "options.h"
#include "progress.h"
#include "rate.h"
#include "sampler.h"

/* t->worker of a rank that is none. */
#define NO_WORKER UINT32_MAX

typedef struct trainer {
    group *group;     /* The living. */
    const ranks *all; /* group->all */
    uint32_t worker;  /* This rank's number among the workers, or NO_WORKER. */
    uint32_t workers; /* Numbers of workers, the living and the others. */
    bool reports;     /* Writes metrics and progress: the lowest living worker. */
    const options *o;
    const data_set *set;
    double began; /* When the program did; clock_seconds. */
    run_record run;
    model net;
    float *parameter;
    sampler order;
    tape t;
    gradient_passes passes;
    rate_plan rate;
    optimiser descent;
    const mode_kind *mode;
    void *mode_state; /* The mode's own. */

    /* Where training is. A checkpoint or a regroup may change it between steps. */
    uint64_t step;        /* Of this worker; done. */
    uint64_t steps_end;   /* The run's last step. */
    uint64_t epoch;       /* The one that `order` is of. */
    sampler_part sample;  /* This step's images of this rank. */
    uint64_t step_images; /* Of this rank; in lockstep of all together. */
    uint64_t images;      /* Of all steps so far. */

    /* Noted by modes. */
    double wait_seconds;  /* Waiting for others, all steps together. */
    double payload_bytes; /* Given to an exchange or average. */

    gradient_counts gradients; /* That this rank knows the fate of. */
    double seconds;            /* In the training loop, in epochs that are over. */
    metrics metrics;
    status_board status;
    trace trace;
    account account;
    progress progress;
} trainer;

/* What the options come to for so many ranks; refuses what does not fit them. */
typedef struct batch_plan {
    uint32_t workers;      /* Ranks that are not servers. */
    uint32_t global_batch; /* Images of all workers in a step. */
    uint32_t pieces;       /* With --canonical: of a rank in a step; else 0. */
} batch_plan;
TRAINER_MUST_USE bool
trainer_plan(const options *o, uint32_t ranks_count, batch_plan *plan, problem *why);

/* The part of trainer_create that needs no other rank: network, vectors, order of images
 * and schedule, from what *t says already (all, o and set). */
TRAINER_MUST_USE bool
trainer_prepare(trainer *t, const batch_plan *plan, uint64_t fingerprint, problem *why);

/* Checks the settings against the other ranks, and starts with rank 0's parameters.
 * Fills in *t, which must then stay where it is; trainer_free undoes whatever was done,
 * also after a failure. What is passed in must outlive *t. */
TRAINER_MUST_USE bool
trainer_create(group *living, const options *o, const data_set *set, double began,
               trainer *t, problem *why);
void
trainer_free(trainer *t);

/* All epochs, up to the last record. */
TRAINER_MUST_USE bool
trainer_run(trainer *t, problem *why);

/* Metrics, display and trace of this rank: made together with all ranks; told to the
 * rank that draws on a new communicator, before the old one goes. By trainer_create,
 * after a regroup, and by trainer_free. */
TRAINER_MUST_USE bool
trainer_reports_open(trainer *t, problem *why);
TRAINER_MUST_USE bool
trainer_reports_bind(trainer *t, problem *why);
void
trainer_reports_free(trainer *t);

/* --- for modes ------------------------------------------------------------------- */

/* The gradient and the loss of this step's images (t->sample; zeros where it has none)
 * at t->parameter, each sample's times `scale`; of all parameters and the loss, see
 * model.h. */
void
trainer_gradient(trainer *t, float scale, float *gradient, layer_done done);

/* The update of all parameters. */
void
trainer_update(trainer *t, float rate, const float *gradient);

/* The scale with which the plain mean over all workers' gradients is the mean over the
 * step's images, even where some have one more than others. */
float
trainer_scale(const trainer *t);

#endif
