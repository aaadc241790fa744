/* model.c - a network of layers, forward and backward (see model.h). The letters
 * N, K and M are those of layers.h. */
#include "model.h"

#include "layers.h"
#include "memory.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

model
model_begin(uint32_t inputs)
{
    model net = {.layers = 0};
    net.width[0] = inputs;
    return net;
}

static void
add_layer(model *net, uint32_t k, uint32_t m, uint32_t outputs)
{
    const uint32_t l = net->layers;
    net->k[l] = k;
    net->m[l] = m;
    net->width[l + 1] = outputs;
    net->weight_at[l] = net->parameters;
    net->bias_at[l] = net->weight_at[l] + (uint64_t)k * m;
    net->parameters = net->bias_at[l] + m;
    net->layers++;
}

void
model_add_linear(model *net, uint32_t outputs)
{
    add_layer(net, net->width[net->layers], outputs, outputs);
}

image_size
model_add_convolution(model *net, image_size image, uint32_t filters)
{
    const image_size out = conv_output(image, filters);
    net->image[net->layers] = image;
    add_layer(net, CONV_ROOM * image.channels, filters,
              out.height * out.width * filters);
    return out;
}

void
model_initialise(const model *net, uint64_t seed, float *parameter)
{
    memset(parameter, 0, net->parameters * sizeof *parameter);
    for (uint32_t l = 0; l < net->layers; l++) {
        const random_stream stream = random_open(seed, RANDOM_WEIGHTS, l);
        const float deviation = sqrtf(2.0f / (float)net->k[l]);
        float *weight = parameter + net->weight_at[l];
        const uint64_t weights = (uint64_t)net->k[l] * net->m[l];
        for (uint64_t i = 0; i < weights; i++) {
            weight[i] = deviation * random_normal(stream, i);
        }
    }
}

/* Bytes that say which pixels were picked, and room for the products. */
static bool
create_for_convolutions(const model *net, tape *t, problem *why)
{
    uint64_t rows = 0;
    uint64_t full = 0;
    for (uint32_t l = 0; l < net->layers && net->image[l].channels > 0; l++) {
        const uint64_t pixels =
            (uint64_t)CONV_CHUNK * net->image[l].height * net->image[l].width;
        rows = pixels * net->k[l] > rows ? pixels * net->k[l] : rows;
        full = pixels * net->m[l] > full ? pixels * net->m[l] : full;
        t->pick[l] = malloc((size_t)t->samples_max * net->width[l + 1]);
        if (t->pick[l] == NULL) {
            return problem_fail(why, "no memory for the pooling of %u samples",
                                t->samples_max);
        }
    }
    if (rows == 0) {
        return true;
    }
    t->scratch.rows = memory_floats(rows, why);
    t->scratch.full = memory_floats(full, why);
    return t->scratch.rows != NULL && t->scratch.full != NULL;
}

bool
tape_create(const model *net, uint32_t samples_max, tape *result, problem *why)
{
    tape t = {.samples_max = samples_max};
    for (uint32_t l = 0; l <= net->layers; l++) {
        const uint64_t count = (uint64_t)samples_max * net->width[l];
        const bool has_gradient = l > 0 && l < net->layers;
        t.x[l] = memory_floats(count, why);
        t.dx[l] = has_gradient ? memory_floats(count, why) : NULL;
        if (t.x[l] == NULL || (has_gradient && t.dx[l] == NULL)) {
            tape_free(&t);
            return false;
        }
    }
    if (!create_for_convolutions(net, &t, why)) {
        tape_free(&t);
        return false;
    }
    t.label = malloc(samples_max);
    if (t.label == NULL) {
        tape_free(&t);
        return problem_fail(why, "no memory for %u labels", samples_max);
    }
    *result = t;
    return true;
}

void
tape_free(tape *t)
{
    for (uint32_t l = 0; l <= MODEL_LAYERS_MAX; l++) {
        memory_free(t->x[l]);
        memory_free(t->dx[l]);
    }
    for (uint32_t l = 0; l < MODEL_LAYERS_MAX; l++) {
        free(t->pick[l]);
    }
    memory_free(t->scratch.rows);
    memory_free(t->scratch.full);
    free(t->label);
    *t = (tape){.samples_max = 0};
}

static bool
convolves(const model *net, uint32_t layer)
{
    return net->image[layer].channels > 0;
}

static conv_shape
conv_shape_of(const model *net, uint32_t layer, uint32_t n)
{
    return (conv_shape){.n = n, .image = net->image[layer], .filters = net->m[layer]};
}

/* Of the matrices of a linear layer. Of what comes out of a convolution: there each
 * pixel is a row. */
static layer_shape
shape_of(const model *net, uint32_t layer, uint32_t n)
{
    const uint32_t rows = net->width[layer + 1] / net->m[layer];
    return (layer_shape){.n = n * rows, .k = net->k[layer], .m = net->m[layer]};
}

void
model_forward(const model *net, const float *parameter, tape *t)
{
    const uint32_t last = net->layers - 1;
    for (uint32_t l = 0; l <= last; l++) {
        const layer_shape shape = shape_of(net, l, t->samples);
        const float *w = parameter + net->weight_at[l]; /* K x M */
        const float *b = parameter + net->bias_at[l];   /* M */
        const float *x = t->x[l];                       /* N x K */
        float *z = t->x[l + 1];                         /* N x M */
        if (convolves(net, l)) {
            conv_forward(conv_shape_of(net, l, t->samples), x, w, t->scratch,
                         t->pick[l], z);
        } else {
            linear_forward(shape, x, w, z);
        }
        if (l < last) {
            bias_relu_forward(shape, b, z);
        } else {
            bias_forward(shape, b, z);
        }
    }
}

static void
backward_weight(const model *net, uint32_t l, const tape *t, const float *dz, float *dw)
{
    if (convolves(net, l)) {
        conv_backward_weight(conv_shape_of(net, l, t->samples), t->x[l], dz, t->pick[l],
                             t->scratch, dw);
    } else {
        linear_backward_weight(shape_of(net, l, t->samples), t->x[l], dz, dw);
    }
}

static void
backward_input(const model *net, uint32_t l, const tape *t, const float *dz,
               const float *w)
{
    if (convolves(net, l)) {
        conv_backward_input(conv_shape_of(net, l, t->samples), dz, t->pick[l], w,
                            t->scratch, t->dx[l]);
    } else {
        linear_backward_input(shape_of(net, l, t->samples), dz, w, t->dx[l]);
    }
}

void
model_backward(const model *net, const float *parameter, float scale, tape *t,
               float *gradient, layer_done done)
{
    const uint32_t last = net->layers - 1;
    float *dz = t->x[net->layers]; /* N x M; the logits turn into their gradient. */
    gradient[net->parameters] =
        (float)softmax_loss(shape_of(net, last, t->samples), t->label, scale, dz);
    for (uint32_t l = last;; l--) {
        const layer_shape shape = shape_of(net, l, t->samples);
        float *db = gradient + net->bias_at[l]; /* M */
        span_begin(t->spans, SPAN_BACKWARD, l);
        if (l < last) {
            bias_relu_backward(shape, t->x[l + 1], dz, db);
        } else {
            bias_backward(shape, dz, db);
        }
        backward_weight(net, l, t, dz, gradient + net->weight_at[l]);
        /* Before the product below: the exchange can run while that is computed. */
        if (done.call != NULL) {
            done.call(done.user, l);
        }
        if (l > 0) { /* Nobody asks for the gradient of the images. */
            backward_input(net, l, t, dz, parameter + net->weight_at[l]);
            dz = t->dx[l];
        }
        span_end(t->spans);
        if (l == 0) {
            return;
        }
    }
}
