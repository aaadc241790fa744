/* gradient.h - the gradient of a rank's part of a step: in one go, in several passes,
 * or from a fixed tree.
 *
 * The tree is for --canonical. The step's samples are cut into pieces of equal size,
 * each piece's gradient is computed alone, and the pieces are added in pairs: a tree
 * over places in the global batch, whose shape knows nothing of ranks. Two ranks hold
 * its two halves, four ranks its four quarters; the synchroniser adds the rest of the
 * way up.
 */
#ifndef TRAINER_GRADIENT_H
#define TRAINER_GRADIENT_H

#include "data.h"
#include "model.h"
#include "sampler.h"

/* What a gradient is computed from. */
typedef struct gradient_of {
    const model *net;
    const float *parameter;
    const data_part *images;
    float scale; /* Of a sample's loss: 1 / the samples of the mean. */
    tape *t;     /* Big enough for the samples of one go. */
} gradient_of;

/* The gradient and the loss (see model.h) of some samples, in one go. */
void
gradient_direct(const gradient_of *of, sampler_part samples, float *gradient,
                layer_done done);

/* The same in several passes, each over as many samples as fits (at most one more than
 * another): less memory, the same mean. */
typedef struct gradient_passes {
    uint32_t passes;
    float *sum; /* Parameters and the loss; NULL where there is one pass. */
} gradient_passes;

TRAINER_MUST_USE bool
gradient_passes_create(const model *net, uint32_t passes, gradient_passes *result,
                       problem *why);
void
gradient_passes_free(gradient_passes *p);
void
gradient_in_passes(const gradient_passes *p, const gradient_of *of,
                   sampler_part samples, float *gradient, layer_done done);

#define TREE_LEVELS_MAX 32u

typedef struct gradient_tree {
    uint32_t piece;                /* Samples in a piece. */
    uint64_t count;                /* Floats to add: parameters and the loss. */
    uint32_t levels;               /* Of the tree above its leaves. */
    float *spare[TREE_LEVELS_MAX]; /* A right half at each level. */
} gradient_tree;

/* For `pieces` pieces (at least 1) of `piece` samples each. */
TRAINER_MUST_USE bool
gradient_tree_create(const model *net, uint32_t pieces, uint32_t piece,
                     gradient_tree *result, problem *why);
void
gradient_tree_free(gradient_tree *tree);

/* samples.count is a multiple of tree->piece. */
void
gradient_by_tree(const gradient_tree *tree, const gradient_of *of, sampler_part samples,
                 float *gradient);

/* Multiplies gradient and loss; exact where factor is a power of two. */
void
gradient_multiply(const model *net, float factor, float *gradient);

#endif
