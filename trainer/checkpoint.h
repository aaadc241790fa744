/* checkpoint.h - a run's state in files, and back. --checkpoint DIR saves every
 * --checkpoint-every steps (and at the end), --resume goes on from there.
 *
 * DIR/step-S/rank-R has what rank R (by name, see group.h) needs after S steps: named
 * parts and a checksum (state_file.h), among them the options that must be equal
 * (state_options.h). DIR/step-S counts once all its files are there; older ones go
 * after that, but for one. So a kill at any moment loses at most the steps since the
 * last complete one.
 *
 * Where ranks have equal parameters, the lowest living one's file is for all, and any
 * number of ranks may go on from it. Otherwise every rank has a file; with another
 * number of ranks, rank R takes that of the (R modulo their number)-th one. In modes
 * with servers it is these that have the state: their shards, in files of their own
 * (modes/shard_file.h). */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "problem.h"

#include <stdint.h>

#define STATE_PARTS_MAX 32u

/* One thing that is saved: bytes in memory, where it is loaded to as well. */
typedef struct state_part {
    const char *name; /* A literal of at most 31 characters. */
    void *data;
    uint64_t bytes;
} state_part;

typedef struct state_list {
    state_part part[STATE_PARTS_MAX];
    uint32_t count;
} state_list;

/* Adds a part; there are never more than STATE_PARTS_MAX. */
void
state_add(state_list *list, const char *name, void *data, uint64_t bytes);

struct trainer;

/* Before the first step, all ranks together: makes DIR, or goes back to its newest
 * complete checkpoint. A damaged or foreign file is an error that names it and what is
 * wrong; so is a DIR with checkpoints where --resume is not asked for. */
TRAINER_MUST_USE bool
checkpoint_begin(struct trainer *t, problem *why);

/* Between steps, and before the end: saves this rank's state if it is time to. */
TRAINER_MUST_USE bool
checkpoint_keep(struct trainer *t, problem *why);

#endif
