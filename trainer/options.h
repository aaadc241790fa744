/* options.h - what the command line asks for. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "model.h"
#include "problem.h"
#include "rate.h"

#include <stdint.h>
#include <stdio.h>

typedef enum train_model { TRAIN_MLP } train_model;
typedef enum train_mode { TRAIN_SYNC, TRAIN_NONE } train_mode;

/* What the run is to do, apart from training. */
typedef enum options_action {
    ACTION_TRAIN,
    ACTION_HELP,
    ACTION_VERSION
} options_action;

typedef struct options {
    options_action action;
    train_model model;
    uint32_t hidden_count;
    uint32_t hidden[MODEL_HIDDEN_MAX];
    uint64_t epochs;
    uint64_t batch;        /* Per rank; 0: global_batch is given. */
    uint64_t global_batch; /* 0: batch is given. */
    uint64_t steps;        /* Stop after so many; 0: after the epochs. */
    double rate;
    double momentum;
    double weight_decay;
    rate_schedule schedule;
    uint64_t seed;
    train_mode mode;
    bool canonical;
    uint64_t micro_batch; /* Samples; with canonical only, else 0. */
    const char *data;
    const char *metrics; /* NULL: none. */
    uint64_t log_every;  /* A step record every so many steps; 0: none. */
    uint64_t hash_every; /* Likewise; 0: at the end of each epoch. */
    bool quiet;
} options;

/* Reads the command line. Strings of the result point into argv. */
TRAINER_MUST_USE bool
options_read(int argc, char *const *argv, options *result, problem *why);

/* The text of --help. */
void
options_print_help(FILE *out);

#define OPTIONS_VALUE_MAX 96u
#define OPTIONS_MAX       32u

/* An option and its value as text. */
typedef struct option_text {
    const char *name; /* "--seed" */
    char value[OPTIONS_VALUE_MAX];
} option_text;

/* The options that must be the same on all ranks, in a fixed order; returns how
 * many. */
uint32_t
options_shared(const options *o, option_text text[OPTIONS_MAX]);

/* "sync", "none"; "constant", "cosine". */
const char *
options_mode_text(train_mode mode);
const char *
options_schedule_text(rate_schedule schedule);

#endif
