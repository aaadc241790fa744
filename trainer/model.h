/* model.h - a network of layers: where its parameters lie, and how a batch goes through
 * it and back.
 *
 * A layer is linear or a convolution (with its pooling, see conv.h), with a bias; all
 * but the last are followed by a rectifier. All parameters lie in one flat vector,
 * layer after layer, weights before bias; gradients lie the same way in a vector of
 * their own. One place more, right after the gradients, holds the loss, so that it
 * travels between ranks with them. models.h lists the networks made from these layers.
 */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include "conv.h"
#include "problem.h"
#include "spans.h"

#include <stdint.h>

#define MODEL_HIDDEN_MAX       8u
#define MODEL_CONVOLUTIONS_MAX 4u
#define MODEL_LAYERS_MAX       (MODEL_CONVOLUTIONS_MAX + MODEL_HIDDEN_MAX + 1)
#define MODEL_WIDTH_MAX        16384u

typedef struct model {
    uint32_t layers;                      /* L */
    uint32_t width[MODEL_LAYERS_MAX + 1]; /* Of a sample before layer l; at the end. */
    image_size image[MODEL_LAYERS_MAX];   /* What a convolution takes; else all 0. */
    uint32_t k[MODEL_LAYERS_MAX];         /* Layer l has a matrix of k[l] x m[l] */
    uint32_t m[MODEL_LAYERS_MAX];         /* weights, and m[l] biases. */
    uint64_t weight_at[MODEL_LAYERS_MAX]; /* The weights lie from here, */
    uint64_t bias_at[MODEL_LAYERS_MAX];   /* the biases from here. */
    uint64_t parameters;                  /* In all; the loss's place. */
} model;

/* What forward keeps for backward. */
typedef struct tape {
    uint32_t samples_max;
    uint32_t samples;                /* N, set by whoever fills in x[0] and label. */
    float *x[MODEL_LAYERS_MAX + 1];  /* x[l]: what goes into layer l, N x width[l];
                                      * x[L]: what comes out at the end. */
    float *dx[MODEL_LAYERS_MAX + 1]; /* The gradients of x[1] .. x[L - 1]. */
    uint8_t *pick[MODEL_LAYERS_MAX]; /* Of a convolution: see conv.h. */
    conv_scratch scratch;
    uint8_t *label; /* N */
    spans *spans;   /* What the time goes to; NULL: nobody asks. */
} tape;

/* Called during backward when the gradients of a layer are complete, last layer
 * first. */
typedef struct layer_done {
    void (*call)(void *user, uint32_t layer);
    void *user;
} layer_done;

/* A network without layers, and one layer more. */
model
model_begin(uint32_t inputs);
void
model_add_linear(model *net, uint32_t outputs);
/* image: what the layer takes. Returns what it gives. */
image_size
model_add_convolution(model *net, image_size image, uint32_t filters);

/* He: weights normal with variance 2 / inputs of an output, biases 0. */
void
model_initialise(const model *net, uint64_t seed, float *parameter);

TRAINER_MUST_USE bool
tape_create(const model *net, uint32_t samples_max, tape *result, problem *why);
void
tape_free(tape *t);

/* From t->x[0] to t->x[L]. */
void
model_forward(const model *net, const float *parameter, tape *t);

/* After model_forward: the gradient of scale times the summed loss of the samples, and
 * in gradient[parameters] that scaled loss itself. Overwrites t->x[L]. done.call may be
 * NULL. */
void
model_backward(const model *net, const float *parameter, float scale, tape *t,
               float *gradient, layer_done done);

#endif
