/* serving.h - a server rank of backup, async and ssp: its shards of the parameters,
 * updated by the trainer's optimiser, and kept in files where there are checkpoints. */
#ifndef TRAINER_MODES_SERVING_H
#define TRAINER_MODES_SERVING_H

#include "modes/places.h"

/* What differs between the modes. */
typedef struct serving_rule {
    rondo_shard_rule rule;
    uint32_t quorum;
    uint64_t bound;
    uint64_t updates; /* In a step of the run: the schedule goes by steps. */
    double share;     /* Of the step's rate that an update has. */
} serving_rule;

typedef struct serving_shard {
    trainer *t;
    const serving_rule *rule;
    uint64_t begin; /* Its first element, and how many. */
    uint64_t count;
    rondo_shard *shard; /* NULL: it is elsewhere. */
    optimiser descent;  /* Steps of its own, the vectors of t->descent. */
    uint64_t saved;     /* The version that is in its file. */
} serving_shard;

typedef struct serving {
    trainer *t;
    serving_rule rule;
    rondo_server *server;
    uint32_t shards; /* In all. */
    serving_shard *shard;
    bool done;          /* All workers have said goodbye. */
    double alone_since; /* Without workers; 0: not. */
} serving;

/* With the shards that are placed here: from t->parameter, or, in a process that was
 * restarted and with --resume, from their files. *v must stay where it is. */
TRAINER_MUST_USE bool
serving_create(trainer *t, const serving_rule *rule, const places *where, serving *v,
               problem *why);
void
serving_free(serving *v);

/* Until all workers have said goodbye. */
TRAINER_MUST_USE bool
serving_serve(serving *v, const places *where, problem *why);

/* Answers for a moment: this rank waits for others, and they perhaps for answers. */
TRAINER_MUST_USE bool
serving_answer(serving *v, problem *why);

/* Goes on in a new group. First serving_part, which keeps what another rank may have
 * from now on; when all ranks have done so, serving_bind. */
TRAINER_MUST_USE bool
serving_part(serving *v, problem *why);
TRAINER_MUST_USE bool
serving_bind(serving *v, const places *where, problem *why);

/* For a handler of active messages: the server is to look around. */
void
serving_wake(void *user);

#endif
