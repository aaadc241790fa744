/* option_table.c - the list of all options (see option_table.h). */
#include "option_table.h"

#include <string.h>

static const char *const schedule_words[] = {"constant", "cosine", "steps", NULL};
static const char *const policy_words[] = {"cancel", "finish", NULL};
static const char *const graph_words[] = {"ring", "exponential", "complete", NULL};
static const char *const failure_words[] = {"stop", "shrink", NULL};
static const char *const status_words[] = {"auto", "lines", "live", "none", NULL};

#define AT(field) offsetof(options, field)
#define COUNT_MAX 1e15 /* Exact in a double. */
#define BATCH_MAX 1e6
#define RANKS_MAX 4096

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
     "how ranks work together; see README.md"},
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
    {"--servers", KIND_COUNT, SCOPE_ALL, AT(servers), 1, RANKS_MAX, NULL,
     "of backup, async, ssp: ranks that hold parameters [1]"},
    {"--backups", KIND_COUNT, SCOPE_ALL, AT(backups), 0, RANKS_MAX, NULL,
     "of backup: workers that a version does not wait for [1]"},
    {"--policy", KIND_CHOICE, SCOPE_ALL, AT(policy), 0, 0, policy_words,
     "of backup: what a worker that is late does"},
    {"--bound", KIND_COUNT, SCOPE_ALL, AT(bound), 0, COUNT_MAX, NULL,
     "of ssp: steps that workers may be apart [1]"},
    {"--staleness-aware", KIND_FLAG, SCOPE_ALL, AT(staleness_aware), 0, 0, NULL,
     "of async, ssp: a stale gradient's rate is divided"},
    {"--compensate", KIND_NUMBER, SCOPE_ALL, AT(compensate), 1e-9, 1e3, NULL,
     "of async, ssp: lambda of delay compensation"},
    {"--compensate-adaptive", KIND_FLAG, SCOPE_ALL, AT(compensate_adaptive), 0, 0, NULL,
     "with --compensate: by the mean square of gradients"},
    {"--graph", KIND_CHOICE, SCOPE_ALL, AT(graph), 0, 0, graph_words,
     "of gossip: who averages with whom"},
    {"--local-steps", KIND_COUNT, SCOPE_ALL, AT(local_steps), 1, COUNT_MAX, NULL,
     "of local, diloco: steps between averages [16]"},
    {"--local-from", KIND_COUNT, SCOPE_ALL, AT(local_from), 1, COUNT_MAX, NULL,
     "of local: steps that are done as in sync first"},
    {"--outer-lr", KIND_NUMBER, SCOPE_ALL, AT(outer_rate), 1e-9, 1e3, NULL,
     "of diloco: rate of the outer update [0.7]"},
    {"--outer-momentum", KIND_NUMBER, SCOPE_ALL, AT(outer_momentum), 0, 0.9999, NULL,
     "of diloco: Nesterov momentum of the outer update [0.9]"},
    {"--own-images", KIND_COUNT, SCOPE_RANK, AT(own_images), 0, BATCH_MAX, NULL,
     "images that this rank has for itself"},
    {"--straggler", KIND_TEXT, SCOPE_ALL, AT(straggler), 0, 0, NULL,
     "how long steps are made to take; see README.md"},
    {"--on-failure", KIND_CHOICE, SCOPE_ALL, AT(on_failure), 0, 0, failure_words,
     "when a rank dies; modes that survive: shrink"},
    {"--door", KIND_TEXT, SCOPE_RANK, AT(door), 0, 0, NULL,
     "file of the ticket by which a restarted rank returns"},
    {"--return", KIND_FLAG, SCOPE_RANK, AT(returning), 0, 0, NULL,
     "this process is a restarted rank: through the door"},
    {"--return-timeout", KIND_NUMBER, SCOPE_ALL, AT(return_timeout), 0.1, 1e6, NULL,
     "seconds to wait for a server to return [30]"},
    {"--checkpoint", KIND_TEXT, SCOPE_RANK, AT(checkpoint), 0, 0, NULL,
     "directory of state files"},
    {"--checkpoint-every", KIND_COUNT, SCOPE_ALL, AT(checkpoint_every), 1, COUNT_MAX,
     NULL, "steps between state files [those of an epoch]"},
    {"--resume", KIND_FLAG, SCOPE_ALL, AT(resume), 0, 0, NULL,
     "go on from the newest state in --checkpoint"},
    {"--virtual", KIND_FLAG, SCOPE_ALL, AT(virtual_time), 0, 0, NULL,
     "one process plays all workers, in virtual time"},
    {"--workers", KIND_COUNT, SCOPE_ALL, AT(workers), 1, RANKS_MAX, NULL,
     "with --virtual: how many [4]"},
    {"--virtual-timing", KIND_FLAG, SCOPE_ALL, AT(virtual_timing_only), 0, 0, NULL,
     "with --virtual: what takes how long, without training"},
    {"--virtual-latency", KIND_NUMBER, SCOPE_ALL, AT(virtual_latency), 0, 1e3, NULL,
     "with --virtual: seconds of a message [0]"},
    {"--virtual-bandwidth", KIND_NUMBER, SCOPE_ALL, AT(virtual_bandwidth), 1, 1e15,
     NULL, "with --virtual: bytes a second of a link [endless]"},
    {"--trace", KIND_TEXT, SCOPE_RANK, AT(trace), 0, 0, NULL,
     "file for a trace of the first steps, for Perfetto"},
    {"--trace-steps", KIND_COUNT, SCOPE_RANK, AT(trace_steps), 1, COUNT_MAX, NULL,
     "with --trace: how many [20]"},
    {"--status", KIND_CHOICE, SCOPE_RANK, AT(status), 0, 0, status_words,
     "how progress is shown; auto: live on a terminal"},
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
                   sizeof(rate_schedule) == sizeof(uint32_t) &&
                   sizeof(backup_policy) == sizeof(uint32_t) &&
                   sizeof(rondo_graph) == sizeof(uint32_t) &&
                   sizeof(failure_policy) == sizeof(uint32_t) &&
                   sizeof(status_style) == sizeof(uint32_t),
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
