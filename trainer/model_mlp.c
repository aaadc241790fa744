/* model_mlp.c - a multi-layer perceptron: linear layers of the widths of --hidden. */
#include "models.h"

static bool
shape(const model_request *ask, model *net, problem *why)
{
    (void)why;
    *net = model_begin(ask->image.height * ask->image.width * ask->image.channels);
    model_add_tail(ask, net);
    return true;
}

const model_kind model_kind_mlp = {
    .hidden_count = 2, .hidden = {256, 128}, .shape = shape};
