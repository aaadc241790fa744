/* model_cnn.c - a small convolutional network: 3 x 3 filters, 16 and then 32, each with
 * 2 x 2 pooling, and linear layers of the widths of --hidden behind them. */
#include "models.h"

static bool
shape(const model_request *ask, model *net, problem *why)
{
    static const uint32_t filters[] = {16, 32};
    const uint32_t convolutions = sizeof filters / sizeof filters[0];
    const uint32_t least = 1u << convolutions;
    image_size image = ask->image;
    if (image.height < least || image.width < least) {
        return problem_fail(why,
                            "--model cnn: images of %u x %u pixels are smaller than "
                            "the %u x %u that its pooling needs",
                            image.height, image.width, least, least);
    }
    *net = model_begin(image.height * image.width * image.channels);
    for (uint32_t i = 0; i < convolutions; i++) {
        image = model_add_convolution(net, image, filters[i]);
    }
    model_add_tail(ask, net);
    return true;
}

const model_kind model_kind_cnn = {.hidden_count = 1, .hidden = {128}, .shape = shape};
