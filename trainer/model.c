/* model.c - a multi-layer perceptron, forward and backward (see model.h). The letters
 * N, K and M are those of layers.h. */
#include "model.h"

#include "layers.h"
#include "memory.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

model
model_shape(uint32_t inputs, uint32_t hidden_count, const uint32_t *hidden,
            uint32_t outputs)
{
    model net = {.layers = hidden_count + 1};
    net.width[0] = inputs;
    for (uint32_t i = 0; i < hidden_count; i++) {
        net.width[i + 1] = hidden[i];
    }
    net.width[net.layers] = outputs;

    uint64_t place = 0;
    for (uint32_t l = 0; l < net.layers; l++) {
        net.weight_at[l] = place;
        place += (uint64_t)net.width[l] * net.width[l + 1];
        net.bias_at[l] = place;
        place += net.width[l + 1];
    }
    net.parameters = place;
    return net;
}

void
model_initialise(const model *net, uint64_t seed, float *parameter)
{
    memset(parameter, 0, net->parameters * sizeof *parameter);
    for (uint32_t l = 0; l < net->layers; l++) {
        const random_stream stream = random_open(seed, RANDOM_WEIGHTS, l);
        const float deviation = sqrtf(2.0f / (float)net->width[l]);
        float *weight = parameter + net->weight_at[l];
        const uint64_t weights = (uint64_t)net->width[l] * net->width[l + 1];
        for (uint64_t i = 0; i < weights; i++) {
            weight[i] = deviation * random_normal(stream, i);
        }
    }
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
    free(t->label);
    *t = (tape){.samples_max = 0};
}

static layer_shape
shape_of(const model *net, uint32_t layer, uint32_t n)
{
    return (layer_shape){.n = n, .k = net->width[layer], .m = net->width[layer + 1]};
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
        linear_forward(shape, x, w, z);
        if (l < last) {
            bias_relu_forward(shape, b, z);
        } else {
            bias_forward(shape, b, z);
        }
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
        const float *w = parameter + net->weight_at[l]; /* K x M */
        const float *x = t->x[l];                       /* N x K */
        float *dw = gradient + net->weight_at[l];       /* K x M */
        float *db = gradient + net->bias_at[l];         /* M */
        float *dx = t->dx[l];                           /* N x K */
        if (l < last) {
            bias_relu_backward(shape, t->x[l + 1], dz, db);
        } else {
            bias_backward(shape, dz, db);
        }
        linear_backward_weight(shape, x, dz, dw);
        /* Before the product below: the exchange can run while that is computed. */
        if (done.call != NULL) {
            done.call(done.user, l);
        }
        if (l == 0) {
            return; /* Nobody asks for the gradient of the images. */
        }
        linear_backward_input(shape, dz, w, dx);
        dz = dx;
    }
}
