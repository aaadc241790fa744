/* models.c - the table of networks (see models.h). */
#include "models.h"

#include <stddef.h>

#define ROW_WORD(upper, lower) #lower,
#define ROW_KIND(upper, lower) &model_kind_##lower,

const char *const model_words[] = {MODEL_LIST(ROW_WORD) NULL};
static const model_kind *const kinds[] = {MODEL_LIST(ROW_KIND)};

const model_kind *
model_kind_of(train_model which)
{
    return kinds[which];
}

void
model_add_tail(const model_request *ask, model *net)
{
    for (uint32_t i = 0; i < ask->hidden_count; i++) {
        model_add_linear(net, ask->hidden[i]);
    }
    model_add_linear(net, ask->outputs);
}
