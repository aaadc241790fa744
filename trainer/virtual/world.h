/* world.h - a virtual run: workers that are a few numbers each, a clock that is a
 * number, and what they have done. One process plays all of them, with the gradients,
 * the updates and the averages of a real run; only the time is made up:
 *
 *   a step takes         straggler_seconds(worker, step)
 *   a vector on its way  --virtual-latency + bytes / --virtual-bandwidth
 *
 * Two runs with the same options have the same records, bit for bit.
 *
 * The modes are in barrier.c (sync, local, diloco), server.c (backup, async, ssp),
 * neighbours.c (gossip) and pairs.c (ad-gossip). */
#ifndef TRAINER_VIRTUAL_WORLD_H
#define TRAINER_VIRTUAL_WORLD_H

#include "straggler.h"
#include "trainer.h"
#include "virtual/orders.h"
#include "virtual/samples.h"

typedef struct world_worker {
    uint64_t step;  /* Steps it has begun. */
    double waiting; /* Seconds, so far. */
    double sending; /* Seconds for vectors to arrive, so far. */
    float *own;     /* Parameters, where each worker has its own; else NULL. */
    optimiser descent;
    /* Since its last record: */
    worker_record record;
    double *step_seconds; /* NULL: there are no records. */
    double staleness;     /* Sum, over so many: */
    uint64_t stale;
} world_worker;

/* Gradients: started = used + dropped + those that were given up on the way. */
typedef struct world_counts {
    uint64_t started;
    gradient_counts gradients; /* Used; dropped: computed, sent, and too late. */
    uint64_t vectors;          /* Sent, of all workers together. */
    uint64_t staleness_sum;
    uint64_t staleness_largest;
    uint64_t staleness_open; /* Sum over those that are computed at the end. */
    uint64_t spread;         /* The most steps that workers were apart. */
} world_counts;

typedef struct world {
    trainer *t;
    uint32_t workers;
    world_worker *worker;
    straggler times;
    bool timing;    /* Nothing is computed. */
    uint64_t count; /* Values of a vector of parameters. */
    double vector_bytes;
    float *gradient; /* count + 1: room for one, and its loss. */
    float *seen;     /* count: see world_seen. */
    orders orders;
    world_counts counts;

    /* Updates, and what steps and epochs are made of them: a step of all workers is one
     * update, or as many as there are workers. */
    uint64_t updates;
    uint64_t updates_end;
    uint32_t updates_step;
    uint64_t updates_epoch;
    double now;        /* Of the last update. */
    samples intervals; /* From update to update. */
    double step_loss;  /* Sum over updates of this step; */
    double epoch_loss; /* of this epoch. */
    uint64_t epoch_updates;
    uint64_t images;   /* So far. */
    epoch_record last; /* The last epoch that is over. */
} world;

/* own: each worker has parameters and an optimiser of its own. *t must stay where it
 * is. world_free undoes what was done, also after a failure. */
TRAINER_MUST_USE bool
world_create(trainer *t, bool own, world *w, problem *why);
void
world_free(world *w);

/* So many updates are a step; 1 after world_create. */
void
world_set_updates(world *w, uint32_t in_a_step);

/* Seconds that this step takes; begins it. */
double
world_begin(world *w, uint32_t worker);

/* What a step was made of: began <= compute_began <= ... <= ended. What is neither
 * computing nor waiting is sending. */
typedef struct world_step {
    uint32_t worker;
    double began;
    double compute_began;
    double compute_ended;
    double wait_began;
    double wait_ended;
    double ended;
    uint64_t version; /* That it computed from. */
    double staleness; /* Negative: there is no such thing. */
    uint64_t images;
    double loss;
    double vectors; /* Sent and received. */
} world_step;

/* A worker's step is over. Its records hold --log-every of them. */
TRAINER_MUST_USE bool
world_step_done(world *w, const world_step *s, problem *why);
/* For world_create and world_finish. */
TRAINER_MUST_USE bool
world_create_steps(world *w, problem *why);
TRAINER_MUST_USE bool
world_finish_steps(world *w, problem *why);

/* Seconds that so many bytes are on their way. */
double
world_transfer(const world *w, double bytes);

/* Which gradient. */
typedef struct world_ask {
    uint32_t worker;
    uint64_t step; /* Whose images of this worker, from 1. */
    const float *parameter;
    float scale; /* Of a sample's loss; 0: 1 / the images. */
} world_ask;

/* What came of it. */
typedef struct world_part {
    uint64_t images;
    double loss; /* Scaled. */
} world_part;

/* The scale with which the plain mean over all workers' gradients is the mean over the
 * step's images. */
float
world_scale(const world *w);

/* The gradient to `gradient` (count + 1). */
TRAINER_MUST_USE bool
world_gradient(world *w, const world_ask *ask, float *gradient, world_part *part,
               problem *why);

/* --- arithmetic ------------------------------------------------------------------ */

void
world_add(uint64_t count, const float *term, float *sum);
void
world_divide(uint64_t count, uint32_t by, float *vector);

/* An update is made. */
typedef struct world_update {
    double time;
    double loss;
    double rate;
    uint64_t images; /* It was made from. */
    /* What the world looks like after it; called where a record needs it. */
    const float *(*seen)(void *user);
    void *user;
} world_update;

TRAINER_MUST_USE bool
world_updated(world *w, const world_update *u, problem *why);

/* Of a gradient that is used. */
void
world_note_staleness(world *w, uint64_t staleness);
/* The steps that workers are apart now. */
void
world_note_spread(world *w, uint64_t spread);

/* The schedule's rate of the next update. */
double
world_rate(const world *w);

/* Whether updates_end is reached. */
bool
world_done(const world *w);

/* The mean of all workers' own parameters: w->seen. */
const float *
world_mean(void *w);

/* Root of the mean square distance of workers' own parameters from their mean. */
double
world_distance(world *w);

/* The last record. */
TRAINER_MUST_USE bool
world_finish(world *w, problem *why);

/* --- the modes ------------------------------------------------------------------- */

TRAINER_MUST_USE bool
world_run_barrier(world *w, problem *why);
TRAINER_MUST_USE bool
world_run_server(world *w, problem *why);
TRAINER_MUST_USE bool
world_run_neighbours(world *w, problem *why);
TRAINER_MUST_USE bool
world_run_pairs(world *w, problem *why);

#endif
