/* options.h - what the command line asks for. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "models.h"
#include "optimiser.h"
#include "problem.h"
#include "rate.h"

#include <stdint.h>
#include <stdio.h>

typedef enum train_mode { TRAIN_SYNC, TRAIN_NONE } train_mode;

/* What the run is to do, apart from training. */
typedef enum options_action {
    ACTION_TRAIN,
    ACTION_HELP,
    ACTION_VERSION
} options_action;

/* hidden_count while --hidden is not given. */
#define HIDDEN_NOT_GIVEN UINT32_MAX

/* A number below the least that its row allows: not given, and then filled in by what
 * other options say, or of no meaning to this run. */
#define NUMBER_NOT_GIVEN (-1.0)

typedef struct options {
    options_action action;
    train_model model;
    uint32_t hidden_count;
    uint32_t hidden[MODEL_HIDDEN_MAX];
    uint64_t epochs;
    uint64_t batch;        /* Per rank; 0: global_batch is given. */
    uint64_t global_batch; /* 0: batch is given. */
    uint64_t steps;        /* Stop after so many; 0: after the epochs. */
    uint64_t accumulate;   /* Passes over a rank's images of a step, at least 1. */
    train_optimiser optimiser;
    double rate;
    uint64_t rate_batch; /* The images that rate is for; 0: for any number. */
    optimiser_settings settings;
    rate_schedule schedule;
    double warmup;        /* Epochs. */
    uint64_t decay_every; /* Epochs; with schedule steps only, else 0. */
    double decay_factor;
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
#define OPTIONS_MAX       40u

/* An option and its value as text. */
typedef struct option_text {
    const char *name; /* "--seed" */
    char value[OPTIONS_VALUE_MAX];
} option_text;

/* The options that must be the same on all ranks, in a fixed order; returns how
 * many. */
uint32_t
options_shared(const options *o, option_text text[OPTIONS_MAX]);

/* "sync", "none"; "constant", "cosine", "steps". */
const char *
options_mode_text(train_mode mode);
const char *
options_schedule_text(rate_schedule schedule);

/* Refuses options that make no sense together; fills in what depends on others. */
TRAINER_MUST_USE bool
options_complete(options *o, problem *why);

#endif
