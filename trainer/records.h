/* records.h - what a run reports: once at its start, of steps, of workers, of epochs,
 * and at its end. metrics.c writes these to a file, progress.c tells them to a
 * person. */
#ifndef TRAINER_RECORDS_H
#define TRAINER_RECORDS_H

#include "model.h"
#include "options.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct run_record {
    const options *o;
    const model *net;
    uint32_t ranks;
    uint32_t global_batch;
    uint64_t steps; /* Of all epochs; --steps may end the run before. */
    uint32_t steps_per_epoch;
    uint32_t train_images;
    uint32_t test_images;
    uint64_t data_fingerprint;
    uint32_t servers; /* Ranks that are no workers. */
    double started;   /* Seconds since 1970, the same on all ranks; virtual: 0. */
} run_record;

/* Whose file it is; the first line of those of other ranks than 0. */
typedef struct rank_record {
    uint32_t rank;  /* At the start of the run. */
    double started; /* As in run_record. */
    bool returned;  /* The process was started again, and its file goes on. */
} rank_record;

#define GRADIENT_STALENESS_MAX 255u

/* What happened to gradients; each rank has those it knows of, and they add up. */
typedef struct gradient_counts {
    uint64_t used;
    uint64_t dropped;
    /* How many used ones had staleness 0, 1, ...; the last: or more. All 0 where there
     * is no such thing. */
    uint64_t staleness[GRADIENT_STALENESS_MAX + 1];
} gradient_counts;

/* What a worker's steps since its last record came to. */
typedef struct worker_record {
    uint32_t worker;
    uint64_t step;    /* This worker's, so far. */
    uint64_t version; /* Of the parameters that its last gradient is of. */
    double staleness; /* Mean; negative: not known. */
    uint64_t images;  /* This worker's, so far. */
    double loss;      /* Of the last step. */
    double elapsed;   /* Seconds in the training loop, so far. */
    double seconds;   /* Since the last record, as are all below. */
    double compute;
    double communicate;
    double wait;
    double bytes; /* Payload, sent and received. */
    uint32_t steps;
    const double *step_seconds; /* Of each. */
} worker_record;

/* A hash of the parameters, where one was taken. */
typedef struct hash_record {
    bool taken;
    uint64_t value;
} hash_record;

typedef struct step_record {
    uint64_t step;  /* Steps done, so the first is 1. */
    uint64_t epoch; /* The first is 1. */
    double loss;    /* Mean over the global batch. */
    double rate;
    double elapsed;  /* Seconds in the training loop, so far. */
    uint64_t images; /* Of all workers, so far. */
    bool apart;      /* Virtual, and workers have parameters of their own: */
    double distance; /* root mean square of theirs from their mean. */
    hash_record hash;
} step_record;

typedef struct epoch_record {
    uint64_t step;
    uint64_t epoch;
    double loss; /* Mean over the steps of this epoch. */
    double test_accuracy;
    double seconds;       /* In the training loop, this epoch. */
    double elapsed;       /* Likewise, all epochs so far. */
    uint64_t images;      /* Of all workers, so far. */
    double images_second; /* Of all ranks together. */
    hash_record hash;
} epoch_record;

/* What only virtual time knows of a run. */
typedef struct virtual_record {
    uint64_t workers;
    uint64_t updates;
    uint64_t started;  /* Gradients: used, dropped, */
    uint64_t given_up; /* or not computed to the end. */
    uint64_t spread;   /* The most steps that workers were apart. */
    double staleness_mean;
    uint64_t staleness_p50;
    uint64_t staleness_p99;
    uint64_t staleness_largest;
    uint64_t staleness_open; /* Sum over gradients not yet there at the end, as if they
                              * were. */
    double wait_share;       /* Of all workers' time. */
    double communicate_share;
    double update_mean; /* Seconds from update to update, as are the next ones. */
    double update_p50;
    double update_p90;
    double update_p95;
    double update_p99;
    double update_largest;
} virtual_record;

/* What the server of the first shard knows of a run; every shard sees all gradients. */
typedef struct server_record {
    uint64_t version;  /* Updates. */
    uint64_t pushes;   /* Gradients that came: used or dropped. */
    uint64_t given_up; /* Not computed to the end, by all workers. */
    uint64_t pulls;
    uint64_t spread; /* The most steps that workers were apart. */
    uint64_t staleness_sum;
    uint64_t staleness_largest;
} server_record;

typedef struct final_record {
    uint64_t steps;
    uint64_t images; /* Of all ranks together. */
    double test_accuracy;
    double seconds;       /* In the training loop, all epochs; the slowest rank's. */
    double images_second; /* images / seconds */
    double total_seconds; /* With reading the data and evaluating. */
    double wait_seconds;  /* Of seconds: rank 0 waiting for the exchange. */
    double payload_bytes; /* Gradients given to the exchange by a rank. */
    uint64_t hash;
    gradient_counts gradients;          /* Of all ranks. */
    const virtual_record *virtual_time; /* NULL: real time. */
    const server_record *server;        /* NULL: there is none. */
} final_record;

#endif
