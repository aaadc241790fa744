/* models.h - the networks there are. To add one: a row here, and a file model_NAME.c
 * that defines model_kind_NAME. */
#ifndef TRAINER_MODELS_H
#define TRAINER_MODELS_H

#include "model.h"

/* What the options and the data ask of a network. */
typedef struct model_request {
    image_size image;
    uint32_t outputs;
    uint32_t hidden_count;
    const uint32_t *hidden;
} model_request;

typedef struct model_kind {
    /* Where --hidden is not given; -1: the network takes none. */
    int32_t hidden_count;
    uint32_t hidden[MODEL_HIDDEN_MAX];
    bool (*shape)(const model_request *ask, model *net, problem *why);
} model_kind;

#define MODEL_LIST(ROW)   \
    ROW(MLP, mlp)         \
    ROW(SOFTMAX, softmax) \
    ROW(CNN, cnn)

#define MODEL_VALUE(upper, lower) TRAIN_##upper,
#define MODEL_KIND(upper, lower)  extern const model_kind model_kind_##lower;
typedef enum train_model { MODEL_LIST(MODEL_VALUE) } train_model;
MODEL_LIST(MODEL_KIND)

/* Names, for --model; ends with NULL. */
extern const char *const model_words[];

const model_kind *
model_kind_of(train_model which);

/* Convolution layers at the front, linear ones of `ask` behind, the outputs last. */
void
model_add_tail(const model_request *ask, model *net);

#endif
