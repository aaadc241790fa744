/* records.h - what a run reports: once at its start, of steps, of epochs, and at its
 * end. metrics.c writes these to a file, progress.c tells them to a person. */
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
} run_record;

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
    hash_record hash;
} step_record;

typedef struct epoch_record {
    uint64_t step;
    uint64_t epoch;
    double loss; /* Mean over the steps of this epoch. */
    double test_accuracy;
    double seconds;       /* In the training loop, this epoch. */
    double images_second; /* Of all ranks together. */
    hash_record hash;
} epoch_record;

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
} final_record;

#endif
