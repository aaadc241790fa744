/* exchange.h - the gradient, and how it becomes the mean over all ranks: the trainer's
 * use of rondo/sync.h. */
#ifndef TRAINER_EXCHANGE_H
#define TRAINER_EXCHANGE_H

#include "model.h"
#include "ranks.h"
#include "spans.h"

typedef struct exchange {
    const ranks *all;
    uint32_t layers;
    rondo_sync *sync;
    float *gradient; /* Of all parameters, and the loss: see model.h. */
    uint32_t weight[MODEL_LAYERS_MAX]; /* What the synchroniser calls them. */
    uint32_t bias[MODEL_LAYERS_MAX];
    uint32_t loss;
    rondo_status failed;  /* The first failure during backward. */
    spans *spans;         /* What the time goes to; NULL: nobody asks. */
    double began;         /* When the first layer of this step was ready. */
    double wait_seconds;  /* Of the last step: spent in exchange_wait, */
    double payload_bytes; /* given to the others. */
} exchange;

/* `all` must outlive the result. Collective. */
TRAINER_MUST_USE bool
exchange_create(const ranks *all, const model *net, bool canonical, exchange *result,
                problem *why);
void
exchange_free(exchange *e);

/* One step: begin; backward, which says of each layer when its gradient is complete
 * (exchange_layer_done is a layer_done.call, its user the exchange); wait. */
TRAINER_MUST_USE bool
exchange_begin(exchange *e, problem *why);
void
exchange_layer_done(void *user, uint32_t layer);
TRAINER_MUST_USE bool
exchange_wait(exchange *e, problem *why);

#endif
