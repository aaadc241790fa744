/* layers.h - the pieces of the network, each forward beside its backward.
 *
 * Dimension letters, here and in model.c:
 *   N  samples in the batch        K  inputs of a layer        M  outputs of a layer
 * Matrices are row-major: x[N][K] has the K values of a sample side by side.
 * A name that starts with d is the gradient of the loss by what follows: dw by w.
 */
#ifndef TRAINER_LAYERS_H
#define TRAINER_LAYERS_H

#include <stdint.h>

typedef struct layer_shape {
    uint32_t n; /* N */
    uint32_t k; /* K */
    uint32_t m; /* M */
} layer_shape;

/* z[N][M] = x[N][K] w[K][M] */
void
linear_forward(layer_shape shape, const float *x, const float *w, float *z);
/* dw[K][M] = x[N][K]^T dz[N][M] */
void
linear_backward_weight(layer_shape shape, const float *x, const float *dz, float *dw);
/* dx[N][K] = dz[N][M] w[K][M]^T */
void
linear_backward_input(layer_shape shape, const float *dz, const float *w, float *dx);

/* z[N][M] += b[M], in place. */
void
bias_forward(layer_shape shape, const float *b, float *z);
/* db[M] = the sum of the N rows of dz[N][M]. */
void
bias_backward(layer_shape shape, const float *dz, float *db);

/* y = max(z + b, 0), in place of z[N][M]. */
void
bias_relu_forward(layer_shape shape, const float *b, float *z);
/* dz = dy where y is above 0, else 0, in place of dy[N][M]; db as in bias_backward. */
void
bias_relu_backward(layer_shape shape, const float *y, float *dy, float *db);

/* The cross entropy of softmax(z[N][M]) and the N labels, summed over the samples and
 * multiplied by scale; z becomes dz, multiplied by scale too. Forward and backward are
 * one here: dz = (softmax(z) - one_hot(label)) * scale. */
double
softmax_loss(layer_shape shape, const uint8_t *label, float scale, float *z);

/* How many of the N rows of z[N][M] are largest at their label. */
uint32_t
count_correct(layer_shape shape, const uint8_t *label, const float *z);

#endif
