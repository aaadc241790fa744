/* options.h - what the command line asks for. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "models.h"
#include "modes/mode.h"
#include "optimiser.h"
#include "problem.h"
#include "rate.h"

#include <rondo/average.h>
#include <stdint.h>
#include <stdio.h>

/* What the run is to do, apart from training. */
typedef enum options_action {
    ACTION_TRAIN,
    ACTION_HELP,
    ACTION_VERSION
} options_action;

/* What a late worker of --mode backup does. */
typedef enum backup_policy { POLICY_CANCEL, POLICY_FINISH } backup_policy;

/* What living ranks do when one has died. */
typedef enum failure_policy { FAILURE_STOP, FAILURE_SHRINK } failure_policy;

/* How progress is shown; auto: live on a terminal, else lines. */
typedef enum status_style {
    STATUS_AUTO,
    STATUS_LINES,
    STATUS_LIVE,
    STATUS_NONE
} status_style;

/* hidden_count while --hidden is not given. */
#define HIDDEN_NOT_GIVEN UINT32_MAX

/* A number below the least that its row allows: not given, and then filled in by what
 * other options say, or of no meaning to this run. */
#define NUMBER_NOT_GIVEN (-1.0)
#define COUNT_NOT_GIVEN  UINT64_MAX

#define OPTIONS_VALUE_MAX 96u
#define OPTIONS_MAX       72u

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

    /* Of some modes only; see README.md. */
    uint64_t servers; /* 0 in modes without. */
    uint64_t backups; /* Workers that a version does not wait for. */
    backup_policy policy;
    uint64_t bound;
    bool staleness_aware;
    double compensate; /* 0: no compensation. */
    bool compensate_adaptive;
    rondo_graph graph;
    uint64_t local_steps;
    uint64_t local_from; /* Steps of sync before. */
    double outer_rate;
    double outer_momentum;
    uint64_t own_images; /* COUNT_NOT_GIVEN: ranks share all images. */

    const char *straggler; /* Text for straggler_read; NULL: none. */
    failure_policy on_failure;
    const char *door;          /* NULL: none. */
    bool returning;            /* This process has been restarted. */
    double return_timeout;     /* Seconds. */
    const char *checkpoint;    /* Directory; NULL: none. */
    uint64_t checkpoint_every; /* Steps; 0: each epoch. */
    bool resume;
    status_style status;
    const char *trace; /* File; NULL: none. */
    uint64_t trace_steps;
    bool virtual_time;
    bool virtual_timing_only; /* No gradients: what takes how long. */
    uint64_t workers;         /* Of virtual time. */
    double virtual_latency;
    double virtual_bandwidth; /* Bytes a second. */

    bool given[OPTIONS_MAX]; /* By row of the table: stood on the command line. */
} options;

/* Reads the command line. Strings of the result point into argv. */
TRAINER_MUST_USE bool
options_read(int argc, char *const *argv, options *result, problem *why);

/* Whether the option of that name stood on the command line. */
bool
options_given(const options *o, const char *name);

/* The text of --help. */
void
options_print_help(FILE *out);

/* An option and its value as text. */
typedef struct option_text {
    const char *name; /* "--seed" */
    char value[OPTIONS_VALUE_MAX];
} option_text;

/* The options that must be the same on all ranks, in a fixed order; returns how
 * many. */
uint32_t
options_shared(const options *o, option_text text[OPTIONS_MAX]);

/* "sync", "ad-gossip"; "constant", "cosine", "steps". */
const char *
options_mode_text(train_mode mode);
const char *
options_schedule_text(rate_schedule schedule);

/* Refuses options that make no sense together; fills in what depends on others.
 * options_complete_mode is its part about modes, failures and virtual time. */
TRAINER_MUST_USE bool
options_complete(options *o, problem *why);
TRAINER_MUST_USE bool
options_complete_mode(options *o, problem *why);

#endif
