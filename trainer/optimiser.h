/* optimiser.h - the update: from gradients to parameters, by one of several formulas.
 * To add one: a row here, and a file optimiser_NAME.c that defines optimiser_kind_NAME.
 *
 * In the formulas w is a parameter, g its gradient, r the learning rate of the step, d
 * the weight decay, and |v| the Euclidean norm of a tensor (the weights or the biases
 * of one layer).
 */
#ifndef TRAINER_OPTIMISER_H
#define TRAINER_OPTIMISER_H

#include "model.h"
#include "problem.h"

#include <stdint.h>

/* What the formulas take from the options. */
typedef struct optimiser_settings {
    double momentum;
    double weight_decay;
    double beta1;
    double beta2;
    double epsilon;
    double trust;
} optimiser_settings;

typedef struct optimiser_kind optimiser_kind;

typedef struct optimiser {
    const optimiser_kind *kind;
    const model *net;
    optimiser_settings settings;
    uint64_t steps; /* Done. */
    float *first;   /* A value for each parameter, all 0 at the start: a velocity, */
    float *second;  /* or two moments; NULL where the formula has none. */
} optimiser;

/* One tensor's part of an update. */
typedef struct tensor_update {
    uint64_t count;
    bool bias;
    const float *gradient;
    float *parameter;
    float *first;
    float *second;
} tensor_update;

/* What a formula uses, beside the weight decay. */
typedef enum optimiser_use {
    USES_MOMENTUM = 1,
    USES_BETAS = 2, /* And epsilon. */
    USES_TRUST = 4,
    USES_NORMS = 8 /* Of whole tensors. */
} optimiser_use;

struct optimiser_kind {
    uint32_t uses;    /* Of optimiser_use. */
    uint32_t vectors; /* 0, 1 or 2: first, second. */
    double rate;      /* Where --lr is not given. */
    double epsilon;
    void (*update)(const optimiser *o, float rate, const tensor_update *t);
};

#define OPTIMISER_LIST(ROW) \
    ROW(MOMENTUM, momentum) \
    ROW(SGD, sgd)           \
    ROW(NESTEROV, nesterov) \
    ROW(ADAMW, adamw)       \
    ROW(LARS, lars)         \
    ROW(LAMB, lamb)

#define OPTIMISER_ENUM(upper, lower) TRAIN_##upper,
#define OPTIMISER_KIND(upper, lower) extern const optimiser_kind optimiser_kind_##lower;
typedef enum train_optimiser { OPTIMISER_LIST(OPTIMISER_ENUM) } train_optimiser;
OPTIMISER_LIST(OPTIMISER_KIND)

/* Names, for --optimiser; ends with NULL. */
extern const char *const optimiser_words[];

const optimiser_kind *
optimiser_kind_of(train_optimiser which);

/* net must outlive the result. */
TRAINER_MUST_USE bool
optimiser_create(train_optimiser which, const model *net,
                 const optimiser_settings *settings, optimiser *result, problem *why);
void
optimiser_free(optimiser *o);

/* Both vectors lie as model.h says. */
void
optimiser_step(optimiser *o, float rate, const float *gradient, float *parameter);

/* The elements from `from` alone, as one server of several has them. Formulas that take
 * norms of tensors (USES_NORMS) need whole tensors. */
typedef struct optimiser_part {
    uint64_t from;
    uint64_t count;
    const float *gradient; /* `count` each: the part, not the whole. */
    float *parameter;
} optimiser_part;
void
optimiser_step_part(optimiser *o, float rate, const optimiser_part *part);

/* --- for the formulas ------------------------------------------------------------ */

/* The norm of vector; the order of its additions is fixed. */
double
optimiser_norm(const float *vector, uint64_t count);

/* The moments of Adam, shared by AdamW and LAMB, for step k = 1, 2, ...:
 *   first = beta1 first + (1 - beta1) g      second = beta2 second + (1 - beta2) g^2
 * and the factors that make up for their start at 0: 1 / (1 - beta^k). */
typedef struct moment_factors {
    float first;
    float second;
} moment_factors;
moment_factors
optimiser_moments(const optimiser *o, const tensor_update *t);

#endif
