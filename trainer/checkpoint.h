/* checkpoint.h - a run's state in files, and back. --checkpoint DIR saves every
 * --checkpoint-every steps (and at the end), --resume goes on from there.
 *
 * DIR/step-S/rank-R has what rank R (by name, see group.h) needs: header (magic,
 * version, the options that must be equal), parts by name, a checksum over all
 * (BLAKE2b, of libsodium). A file is written beside its place, synchronised and
 * renamed; DIR/step-S counts once its last file, complete, is there; older ones go
 * after that, but for one. So a kill at any moment loses at most the steps since the
 * last complete one.
 */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "problem.h"

#include <stdint.h>

#define STATE_PARTS_MAX 32u

/* One thing that is saved: bytes in memory, where it is loaded to as well. */
typedef struct state_part {
    const char *name; /* A literal. */
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

/* This rank's state after `step` steps. */
TRAINER_MUST_USE bool
checkpoint_save(struct trainer *t, uint64_t step, problem *why);

/* Goes back to the newest complete checkpoint of DIR; *step is 0 where there is none. A
 * damaged or foreign file is an error that names it and what is wrong. Collective where
 * ranks have equal parameters: all take the same step. */
TRAINER_MUST_USE bool
checkpoint_load(struct trainer *t, uint64_t *step, problem *why);

#endif
