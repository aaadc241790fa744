/* mode.h - how ranks work together: one file per mode, one row here. A mode is a few
 * functions that loop.c calls; model, data, optimiser and metrics know nothing of it.
 * To add one: a row in MODE_LIST, and a file NAME.c here that defines
 * mode_kind_NAME.
 *
 * A rank that lives on after another's death: step, serve, settle or finish returns
 * false, loop.c sees that the group is broken (or that a rank waits at the door), makes
 * a new one, calls regroup and goes on from t->step. */
#ifndef TRAINER_MODES_MODE_H
#define TRAINER_MODES_MODE_H

#include "problem.h"

#include <stdint.h>

struct trainer;
struct state_list;

/* What the rest of the trainer must know of a mode. */
typedef enum mode_trait {
    MODE_EQUAL = 1,    /* Workers have equal parameters after each step. */
    MODE_SERVERS = 2,  /* The first --servers ranks are no workers. */
    MODE_SURVIVES = 4, /* Goes on without a rank that has died. */
    MODE_REJOIN = 8,   /* Takes a rank in again that has been restarted. */
    MODE_LOCKSTEP = 16 /* Workers take step k together. */
} mode_trait;

/* One step of a worker, as loop.c asks for it. */
typedef struct mode_step {
    uint64_t step; /* This worker's, from 1: t->step + 1. */
    float rate;
    double loss; /* Set by the mode: over the samples it knows of. */
} mode_step;

typedef struct mode_kind {
    const char *help;
    uint32_t traits; /* Of mode_trait. */
    /* Makes t->mode_state, after t->parameter has rank 0's values on all ranks; may be
     * NULL, as may all below but step. On a rank that has returned (t->newcomer) it is
     * called without the others, and regroup, with all of them, follows. */
    bool (*create)(struct trainer *t, problem *why);
    /* Gradient, exchange and update of one step; t->sample says which images. */
    bool (*step)(struct trainer *t, mode_step *s, problem *why);
    /* Instead of steps, on ranks that are servers: until all workers are done. */
    bool (*serve)(struct trainer *t, problem *why);
    /* Before t->parameter is evaluated or saved: what is to be seen of it. */
    bool (*settle)(struct trainer *t, problem *why);
    /* Before the communicator goes, because a rank has died or one is back: lets go of
     * all that stands on it. May be called twice; then comes regroup, or the end. */
    void (*part)(struct trainer *t);
    /* After a rank has died or joined, t->group being new already: go on. Collective;
     * newcomers get here what they lack. t->step is set by the caller in lockstep, and
     * for a newcomer of a mode without servers. */
    bool (*regroup)(struct trainer *t, problem *why);
    /* After the last step, together with all others (servers too, after serve): leaves
     * the run's result in t->parameter. May be called again after a regroup. */
    bool (*finish)(struct trainer *t, problem *why);
    void (*free)(struct trainer *t);
    /* The mode's own vectors and numbers, for checkpoints: what must be saved beside
     * parameters, optimiser and the place in the data. */
    void (*state)(struct trainer *t, struct state_list *list);
} mode_kind;

/* The name in C, and the word of --mode. */
#define MODE_LIST(ROW)            \
    ROW(SYNC, sync, "sync")       \
    ROW(NONE, none, "none")       \
    ROW(BACKUP, backup, "backup") \
    ROW(ASYNC, async, "async")    \
    ROW(SSP, ssp, "ssp")          \
    ROW(LOCAL, local, "local")    \
    ROW(DILOCO, diloco, "diloco") \
    ROW(GOSSIP, gossip, "gossip") \
    ROW(AD_GOSSIP, ad_gossip, "ad-gossip")

#define MODE_ENUM(upper, lower, word) TRAIN_##upper,
#define MODE_KIND(upper, lower, word) extern const mode_kind mode_kind_##lower;
typedef enum train_mode { MODE_LIST(MODE_ENUM) } train_mode;
MODE_LIST(MODE_KIND)

/* Names, for --mode ("ad-gossip"); ends with NULL. */
extern const char *const mode_words[];

const mode_kind *
mode_kind_of(train_mode which);

#endif
