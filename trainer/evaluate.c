/* evaluate.c - how many test images the network gets right (see evaluate.h). */
#include "evaluate.h"

#include "layers.h"

uint64_t
evaluate_correct(const model *net, const float *parameter, const data_part *images,
                 evaluate_share mine, tape *t)
{
    const uint64_t chunks = (images->images + EVALUATE_CHUNK - 1) / EVALUATE_CHUNK;
    const uint64_t end = chunks * (mine.share + 1) / mine.shares;
    uint64_t correct = 0;
    for (uint64_t chunk = chunks * mine.share / mine.shares; chunk < end; chunk++) {
        const uint32_t first = (uint32_t)(chunk * EVALUATE_CHUNK);
        const uint32_t left = images->images - first;
        t->samples = left < EVALUATE_CHUNK ? left : EVALUATE_CHUNK;
        data_slice(images, first, t->samples, t->x[0], t->label);
        model_forward(net, parameter, t);
        const layer_shape logits = {.n = t->samples, .m = net->width[net->layers]};
        correct += count_correct(logits, t->label, t->x[net->layers]);
    }
    return correct;
}
