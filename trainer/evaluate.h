/* evaluate.h - how many test images the network gets right. */
#ifndef TRAINER_EVALUATE_H
#define TRAINER_EVALUATE_H

#include "data.h"
#include "model.h"

/* Images go through in chunks whose places do not depend on who computes them. */
#define EVALUATE_CHUNK 100u

/* Some of the chunks: those from chunks * share / shares to chunks * (share + 1) /
 * shares. */
typedef struct evaluate_share {
    uint32_t share;
    uint32_t shares;
} evaluate_share;

/* The tape holds at least EVALUATE_CHUNK samples. */
uint64_t
evaluate_correct(const model *net, const float *parameter, const data_part *images,
                 evaluate_share mine, tape *t);

#endif
