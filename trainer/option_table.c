/* option_table.c - the list of all options (see option_table.h). */
#include "option_table.h"

#include <string.h>

static const char *const schedule_words[] = {"constant", "cosine", "steps", NULL};
static const char *const mode_words[] = {"sync", "none", NULL};

#define AT(field) offsetof(options, field)
#define COUNT_MAX 1e15 /* Exact in a double. */
#define BATCH_MAX 1e6

const option option_table[] = {
    {"--model", KIND_CHOICE, SCOPE_ALL, AT(model), 0, 0, model_words,
     "kind of network"},
    {"--hidden", KIND_WIDTHS, SCOPE_ALL, AT(hidden), 1, MODEL_WIDTH_MAX, NULL,
     "linear layers before the last; 0: none [mlp: 256,128; cnn: 128]"},
    {"--epochs", KIND_COUNT, SCOPE_ALL, AT(epochs), 1, 1e6, NULL,
     "passes over the training images"},
    {"--batch", KIND_COUNT, SCOPE_ALL, AT(batch), 1, BATCH_MAX, NULL,
     "images per rank in a step [64]"},
    {"--global-batch", KIND_COUNT, SCOPE_ALL, AT(global_batch), 1, BATCH_MAX, NULL,
     "instead of --batch: images of all ranks in a step"},
    {"--accumulate", KIND_COUNT, SCOPE_ALL, AT(accumulate), 1, 1e4, NULL,
     "passes that a rank's images of a step go through in"},
    {"--optimiser", KIND_CHOICE, SCOPE_ALL, AT(optimiser), 0, 0, optimiser_words,
     "formula of the update"},
    {"--lr", KIND_NUMBER, SCOPE_ALL, AT(rate), 1e-9, 1e3, NULL,
     "learning rate [0.03; sgd: 0.1; adamw: 0.001; lars: 1; lamb: 0.02]"},
    {"--lr-batch", KIND_COUNT, SCOPE_ALL, AT(rate_batch), 1, BATCH_MAX, NULL,
     "images a step that --lr is for: scaled to those there are"},
    {"--momentum", KIND_NUMBER, SCOPE_ALL, AT(settings.momentum), 0, 0.9999, NULL,
     "of momentum, nesterov, lars [0.9]"},
    {"--weight-decay", KIND_NUMBER, SCOPE_ALL, AT(settings.weight_decay), 0, 1, NULL,
     "weight decay, for weights and biases; lars, lamb: weights"},
    {"--beta1", KIND_NUMBER, SCOPE_ALL, AT(settings.beta1), 0, 0.9999, NULL,
     "of adamw, lamb: how long gradients last [0.9]"},
    {"--beta2", KIND_NUMBER, SCOPE_ALL, AT(settings.beta2), 0, 0.999999, NULL,
     "of adamw, lamb: how long their squares last [0.999]"},
    {"--epsilon", KIND_NUMBER, SCOPE_ALL, AT(settings.epsilon), 1e-20, 1, NULL,
     "of adamw, lamb: added to the root [1e-8; lamb: 1e-6]"},
    {"--trust", KIND_NUMBER, SCOPE_ALL, AT(settings.trust), 1e-9, 1e3, NULL,
     "of lars: relative size of a layer's move [0.01]"},
    {"--schedule", KIND_CHOICE, SCOPE_ALL, AT(schedule), 0, 0, schedule_words,
     "learning rate over the steps of all epochs"},
    {"--warmup", KIND_NUMBER, SCOPE_ALL, AT(warmup), 0, 1e6, NULL,
     "epochs in which the learning rate rises first"},
    {"--decay-every", KIND_COUNT, SCOPE_ALL, AT(decay_every), 1, 1e6, NULL,
     "of --schedule steps: epochs [a third of all]"},
    {"--decay-factor", KIND_NUMBER, SCOPE_ALL, AT(decay_factor), 1e-9, 1, NULL,
     "of --schedule steps: what the rate is multiplied by [0.1]"},
    {"--seed", KIND_COUNT, SCOPE_ALL, AT(seed), 0, COUNT_MAX, NULL,
     "of the first parameters and the order of images"},
    {"--mode", KIND_CHOICE, SCOPE_ALL, AT(mode), 0, 0, mode_words,
     "sync: average gradients over ranks; none: do not"},
    {"--canonical", KIND_FLAG, SCOPE_ALL, AT(canonical), 0, 0, NULL,
     "same bits for 1, 2, 4, ... ranks; slower"},
    {"--micro-batch", KIND_COUNT, SCOPE_ALL, AT(micro_batch), 1, BATCH_MAX, NULL,
     "with --canonical: images in a piece [32]"},
    {"--steps", KIND_COUNT, SCOPE_ALL, AT(steps), 1, COUNT_MAX, NULL,
     "stop early, after so many steps"},
    {"--log-every", KIND_COUNT, SCOPE_ALL, AT(log_every), 0, COUNT_MAX, NULL,
     "steps from one step record to the next; 0: none"},
    {"--hash-every", KIND_COUNT, SCOPE_ALL, AT(hash_every), 0, COUNT_MAX, NULL,
     "steps between comparisons of ranks; 0: each epoch"},
    {"--data", KIND_TEXT, SCOPE_RANK, AT(data), 0, 0, NULL,
     "directory of the four IDX files, gzip'ed or plain"},
    {"--metrics", KIND_TEXT, SCOPE_RANK, AT(metrics), 0, 0, NULL,
     "file for records, one JSON object a line"},
    {"--quiet", KIND_FLAG, SCOPE_RANK, AT(quiet), 0, 0, NULL, "print the result alone"},
    {"--help", KIND_ACTION, SCOPE_RANK, AT(action), ACTION_HELP, 0, NULL,
     "print this text"},
    {"--version", KIND_ACTION, SCOPE_RANK, AT(action), ACTION_VERSION, 0, NULL,
     "print the version"},
};
#define ROWS (sizeof option_table / sizeof option_table[0])
const uint32_t option_rows = ROWS;
_Static_assert(ROWS <= OPTIONS_MAX, "options_shared's array holds every row");
_Static_assert(sizeof(train_model) == sizeof(uint32_t) &&
                   sizeof(train_optimiser) == sizeof(uint32_t) &&
                   sizeof(train_mode) == sizeof(uint32_t) &&
                   sizeof(rate_schedule) == sizeof(uint32_t),
               "a choice is stored as 32 bits");

const option *
option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        const option *row = &option_table[i];
        if (strncmp(row->name, name, length) == 0 && row->name[length] == '\0') {
            return row;
        }
    }
    return NULL;
}

bool
option_stands_alone(const option *row)
{
    return row->kind == KIND_FLAG || row->kind == KIND_ACTION;
}
