/* layers.c - the pieces of the network (see layers.h). */
#include "layers.h"

#include "clones.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* --- linear: three products ------------------------------------------------------ */

void
linear_forward(layer_shape shape, const float *x, const float *w, float *z)
{
    const int n = (int)shape.n;
    const int k = (int)shape.k;
    const int m = (int)shape.m;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, m, k, 1.0f, x, k, w, m,
                0.0f, z, m);
}

void
linear_backward_weight(layer_shape shape, const float *x, const float *dz, float *dw)
{
    const int n = (int)shape.n;
    const int k = (int)shape.k;
    const int m = (int)shape.m;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, m, n, 1.0f, x, k, dz, m,
                0.0f, dw, m);
}

void
linear_backward_input(layer_shape shape, const float *dz, const float *w, float *dx)
{
    const int n = (int)shape.n;
    const int k = (int)shape.k;
    const int m = (int)shape.m;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, k, m, 1.0f, dz, m, w, m,
                0.0f, dx, k);
}

/* --- bias ------------------------------------------------------------------------ */

TRAINER_CLONES void
bias_forward(layer_shape shape, const float *b, float *z)
{
    for (uint32_t n = 0; n < shape.n; n++) {
        float *row = z + (uint64_t)n * shape.m;
        for (uint32_t m = 0; m < shape.m; m++) {
            row[m] += b[m];
        }
    }
}

TRAINER_CLONES void
bias_backward(layer_shape shape, const float *dz, float *db)
{
    memset(db, 0, shape.m * sizeof *db);
    for (uint32_t n = 0; n < shape.n; n++) {
        const float *row = dz + (uint64_t)n * shape.m;
        for (uint32_t m = 0; m < shape.m; m++) {
            db[m] += row[m];
        }
    }
}

/* --- bias and rectifier: one pass each way --------------------------------------- */

TRAINER_CLONES void
bias_relu_forward(layer_shape shape, const float *b, float *z)
{
    for (uint32_t n = 0; n < shape.n; n++) {
        float *row = z + (uint64_t)n * shape.m;
        for (uint32_t m = 0; m < shape.m; m++) {
            const float sum = row[m] + b[m];
            /* So written, a NaN stays one: a network that has blown up must show it. */
            row[m] = sum < 0.0f ? 0.0f : sum;
        }
    }
}

TRAINER_CLONES void
bias_relu_backward(layer_shape shape, const float *y, float *dy, float *db)
{
    memset(db, 0, shape.m * sizeof *db);
    for (uint32_t n = 0; n < shape.n; n++) {
        const float *y_row = y + (uint64_t)n * shape.m;
        float *dy_row = dy + (uint64_t)n * shape.m;
        for (uint32_t m = 0; m < shape.m; m++) {
            const float slope = y_row[m] > 0.0f ? dy_row[m] : 0.0f;
            dy_row[m] = slope;
            db[m] += slope;
        }
    }
}

/* --- softmax and cross entropy --------------------------------------------------- */

/* The loss of one sample; row[M] becomes its gradient. */
static double
softmax_row(uint32_t count, uint8_t label, float scale, float *row)
{
    float largest = row[0];
    for (uint32_t m = 1; m < count; m++) {
        largest = row[m] > largest ? row[m] : largest;
    }
    /* Taking the largest away changes nothing but that no exponential overflows. */
    const float at_label = row[label] - largest;
    float sum = 0.0f;
    for (uint32_t m = 0; m < count; m++) {
        row[m] = expf(row[m] - largest);
        sum += row[m];
    }
    for (uint32_t m = 0; m < count; m++) {
        const float target = m == label ? 1.0f : 0.0f;
        row[m] = (row[m] / sum - target) * scale;
    }
    return log((double)sum) - (double)at_label;
}

double
softmax_loss(layer_shape shape, const uint8_t *label, float scale, float *z)
{
    double loss = 0.0;
    for (uint32_t n = 0; n < shape.n; n++) {
        loss += softmax_row(shape.m, label[n], scale, z + (uint64_t)n * shape.m);
    }
    return loss * (double)scale;
}

uint32_t
count_correct(layer_shape shape, const uint8_t *label, const float *z)
{
    uint32_t correct = 0;
    for (uint32_t n = 0; n < shape.n; n++) {
        const float *row = z + (uint64_t)n * shape.m;
        uint32_t best = 0;
        for (uint32_t m = 1; m < shape.m; m++) {
            best = row[m] > row[best] ? m : best;
        }
        correct += best == label[n];
    }
    return correct;
}
