/* gradient.c - the gradient of a rank's part of a step (see gradient.h). */
#include "gradient.h"

#include "clones.h"
#include "memory.h"

#include <stddef.h>
#include <string.h>

void
gradient_direct(const gradient_of *of, sampler_part samples, float *gradient,
                layer_done done)
{
    tape *t = of->t;
    t->samples = samples.count;
    span_begin(t->spans, SPAN_FORWARD, 0);
    data_gather(of->images, samples.index, samples.count, t->x[0], t->label);
    model_forward(of->net, of->parameter, t);
    span_end(t->spans);
    model_backward(of->net, of->parameter, of->scale, t, gradient, done);
}

TRAINER_CLONES static void
add(uint64_t count, const float *restrict term, float *restrict sum)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += term[i];
    }
}

/* --- in passes ------------------------------------------------------------------- */

bool
gradient_passes_create(const model *net, uint32_t passes, gradient_passes *result,
                       problem *why)
{
    gradient_passes p = {.passes = passes};
    if (passes > 1) {
        p.sum = memory_floats(net->parameters + 1, why);
        if (p.sum == NULL) {
            return false;
        }
    }
    *result = p;
    return true;
}

void
gradient_passes_free(gradient_passes *p)
{
    memory_free(p->sum);
    *p = (gradient_passes){.sum = NULL};
}

/* The last pass: each layer receives the sum of those before, then others are told. */
typedef struct last_pass {
    const model *net;
    const float *sum;
    float *gradient;
    layer_done done;
} last_pass;

static void
add_earlier(void *user, uint32_t layer)
{
    const last_pass *last = user;
    const model *net = last->net;
    const uint64_t from = net->weight_at[layer];
    /* The loss lies behind the last layer. */
    const uint64_t end =
        net->bias_at[layer] + net->m[layer] + (layer + 1 == net->layers ? 1 : 0);
    add(end - from, last->sum + from, last->gradient + from);
    if (last->done.call != NULL) {
        last->done.call(last->done.user, layer);
    }
}

void
gradient_in_passes(const gradient_passes *p, const gradient_of *of,
                   sampler_part samples, float *gradient, layer_done done)
{
    if (p->passes == 1) {
        gradient_direct(of, samples, gradient, done);
        return;
    }
    const uint64_t count = of->net->parameters + 1;
    memset(p->sum, 0, count * sizeof *p->sum);
    for (uint32_t pass = 0; pass < p->passes; pass++) {
        const uint64_t begin = (uint64_t)samples.count * pass / p->passes;
        const uint64_t end = (uint64_t)samples.count * (pass + 1) / p->passes;
        const sampler_part part = {.index = samples.index + begin,
                                   .count = (uint32_t)(end - begin)};
        if (pass + 1 < p->passes) {
            gradient_direct(of, part, gradient, (layer_done){.call = NULL});
            add(count, gradient, p->sum);
        } else {
            last_pass last = {
                .net = of->net, .sum = p->sum, .gradient = gradient, .done = done};
            gradient_direct(of, part, gradient,
                            (layer_done){.call = add_earlier, .user = &last});
        }
    }
}

/* --- by the tree ----------------------------------------------------------------- */

/* Where n pieces are cut in two. Even counts are halved, so that a power of two of
 * ranks finds its parts as whole branches. */
static uint32_t
left_of(uint32_t pieces)
{
    return (pieces + 1) / 2;
}

bool
gradient_tree_create(const model *net, uint32_t pieces, uint32_t piece,
                     gradient_tree *result, problem *why)
{
    gradient_tree tree = {.piece = piece, .count = net->parameters + 1};
    for (uint32_t n = pieces; n > 1; n = left_of(n)) {
        float *spare = memory_floats(tree.count, why);
        if (spare == NULL) {
            gradient_tree_free(&tree);
            return false;
        }
        tree.spare[tree.levels++] = spare;
    }
    *result = tree;
    return true;
}

void
gradient_tree_free(gradient_tree *tree)
{
    for (uint32_t level = 0; level < tree->levels; level++) {
        memory_free(tree->spare[level]);
    }
    *tree = (gradient_tree){.levels = 0};
}

/* level: how far below the root, and so which spare vector is free. */
static void
sum_pieces(const gradient_tree *tree, const gradient_of *of, sampler_part samples,
           uint32_t level, float *sum)
{
    const uint32_t pieces = samples.count / tree->piece;
    if (pieces == 1) {
        gradient_direct(of, samples, sum, (layer_done){.call = NULL});
        return;
    }
    sampler_part left = samples;
    left.count = left_of(pieces) * tree->piece;
    const sampler_part right = {.index = samples.index + left.count,
                                .count = samples.count - left.count};
    float *spare = tree->spare[level];
    sum_pieces(tree, of, left, level + 1, sum);
    sum_pieces(tree, of, right, level + 1, spare);
    add(tree->count, spare, sum);
}

void
gradient_by_tree(const gradient_tree *tree, const gradient_of *of, sampler_part samples,
                 float *gradient)
{
    sum_pieces(tree, of, samples, 0, gradient);
}

TRAINER_CLONES void
gradient_multiply(const model *net, float factor, float *gradient)
{
    const uint64_t count = net->parameters + 1;
    for (uint64_t i = 0; i < count; i++) {
        gradient[i] *= factor;
    }
}
