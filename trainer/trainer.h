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
#include "shard.h"
#include "straggler.h"

/* t->worker of a rank that is none. */
#define NO_WORKER UINT32_MAX

/* Of the epoch that runs. */
typedef struct epoch_sums {
    uint64_t steps;
    uint64_t images_before;
    double loss;
    double seconds; /* In the training loop. */
} epoch_sums;

typedef struct trainer {
    group *group;      /* The living. */
    const ranks *all;  /* group->all */
    uint32_t worker;   /* This rank's number among the workers, or NO_WORKER. */
    uint32_t workers;  /* Numbers of workers, the living and the others. */
    bool reports;      /* Writes metrics and progress: at first the lowest worker, */
    uint32_t reporter; /* then whoever takes over from it. In all. */
    const options *o;
    const data_set *set;
    double began; /* When the program did; clock_seconds. */
    run_record run;
    model net;
    float *parameter; /* Of all, and room for the loss. */
    sampler order;
    tape t;
    gradient_passes passes;
    rate_plan rate;
    optimiser descent;
    const mode_kind *mode;
    void *mode_state; /* The mode's own. */

    straggler slow;
    image_shard own; /* With --own-images. */

    /* Where training is. A checkpoint or a regroup may change it between steps. */
    uint64_t step;        /* Of this worker; done. */
    uint64_t steps_end;   /* This worker's last step. */
    uint32_t epoch_steps; /* This worker's, of an epoch. */
    uint64_t epoch;       /* The one that `order` is of. */
    uint64_t closed;      /* Epochs that have been evaluated. */
    uint64_t saved;       /* The step of the last checkpoint. */
    bool served;          /* A server: all workers have said goodbye. */
    bool finished;        /* The mode's finish is done. */
    bool over;
    bool renewal;          /* A rank is to be taken in before the next step. */
    sampler_part sample;   /* This step's images of this rank. */
    uint64_t step_images;  /* Of this rank; in lockstep of all together. */
    uint64_t images;       /* Of all steps so far. */
    double gradient_began; /* clock_seconds; of this step. */
    epoch_sums sums;
    epoch_record last; /* The last epoch that was closed. */

    /* For the mode's regroup: what the ranks of the new group have said. */
    bool newcomer;          /* This rank has returned, and has no state yet. */
    bool has_newcomers;     /* Some rank has. */
    uint32_t furthest;      /* The lowest rank with the most steps; no newcomer. */
    uint64_t furthest_step; /* How many it has done. */

    /* Noted by modes. */
    double wait_seconds;  /* Waiting for others, all steps together. */
    double payload_bytes; /* Given to an exchange or average. */

    gradient_counts gradients; /* That this rank knows the fate of. */
    server_record server;      /* Of the run; set by finish in modes with servers. */
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

/* The part of trainer_create that needs no other rank: network, vectors, order of
 * images and schedule, from what *t says already (all, o and set). */
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

/* How many epochs have all their steps; whether one has just got its last. */
uint64_t
trainer_epochs_over(const trainer *t);
bool
trainer_at_border(const trainer *t);

/* After a failure: where the mode and the options allow it, makes a group of those that
 * live, or takes in those that are back, and brings all to a common state. False: the
 * run is at its end, for the reason that stands in `why`. */
TRAINER_MUST_USE bool
trainer_mend(trainer *t, problem *why);
/* The part of it that a process which has returned begins with. */
TRAINER_MUST_USE bool
trainer_settle_down(trainer *t, problem *why);

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

/* The same at other parameters. */
void
trainer_gradient_at(trainer *t, const float *parameter, float scale, float *gradient,
                    layer_done done);

/* The update of all parameters. */
void
trainer_update(trainer *t, float rate, const float *gradient);

/* The scale with which the plain mean over all workers' gradients is the mean over the
 * step's images, even where some have one more than others. */
float
trainer_scale(const trainer *t);

/* Notes payload that this rank has given to others. */
void
trainer_sent(trainer *t, double bytes);

/* The parameters become their mean over all ranks but newcomers; *loss too, if not
 * NULL. Collective. */
TRAINER_MUST_USE bool
trainer_average(trainer *t, double *loss, problem *why);

/* Parameters and optimiser become those of rank t->furthest. Collective. */
TRAINER_MUST_USE bool
trainer_adopt(trainer *t, problem *why);

#endif
