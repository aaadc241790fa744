/* model_softmax.c - softmax regression: one linear layer from pixels to classes. The
 * loss is convex in its parameters, so every optimiser should come to the same
 * result. */
#include "models.h"

static bool
shape(const model_request *ask, model *net, problem *why)
{
    (void)why;
    *net = model_begin(ask->image.height * ask->image.width * ask->image.channels);
    model_add_linear(net, ask->outputs);
    return true;
}

const model_kind model_kind_softmax = {.hidden_count = -1, .shape = shape};
