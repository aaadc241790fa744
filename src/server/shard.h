/*
 * shard.h - what a shard is made of, for the files of this room.
 *
 * A shard is a state machine: parameters, a clock for each worker, and gradients that
 * wait for others. Its rule says what becomes of a push, who may pull, and what follows
 * when workers come or go. Nothing here knows of communicators or of time.
 */
#ifndef SERVER_SHARD_H
#define SERVER_SHARD_H

#include <stdbool.h>

#include <rondo/server.h>

/* A worker, as its shard sees it. */
typedef struct rondo_shard_worker {
    uint64_t clock;  /* number of the last push taken, or more if a pull told so */
    uint64_t pulled; /* with has_pulled: the version that it pulled last */
    double weight;   /* of the gradient that waits */
    bool living;
    bool waits;      /* its gradient is kept for an update to come */
    bool has_pulled; /* what it got is in shard->pulled; only with compensation */
} rondo_shard_worker;

/* A push that has passed the checks. */
typedef struct rondo_shard_push_taken {
    uint32_t worker;
    uint64_t version;
    double weight;
    const float *gradient; /* not read if weight is 0 */
} rondo_shard_push_taken;

/* What distinguishes the rules. */
typedef struct rondo_shard_rule_kind {
    /* A gradient has come; says what became of it. */
    rondo_push_outcome (*take)(rondo_shard *shard, const rondo_shard_push_taken *push);
    bool (*may_pull)(const rondo_shard *shard, uint32_t worker);
    /* Clocks, the living or what waits have changed: true if what waits is due now. */
    bool (*due)(const rondo_shard *shard);
    bool keeps; /* gradients wait: they need memory */
} rondo_shard_rule_kind;

/* Told before parameters change: a server may be in the middle of sending them. */
typedef void (*rondo_shard_watcher)(void *user);

struct rondo_shard {
    rondo_shard_config config;
    const rondo_shard_rule_kind *rule;
    uint64_t count; /* of parameters */
    uint64_t version;
    float *parameters;
    float *kept;    /* nworkers * count, if the rule keeps; else null */
    float *pulled;  /* nworkers * count, with compensation; else null */
    float *squares; /* count, with adaptive compensation; else null */
    float *mended;  /* count, with compensation: the gradient as it is used */
    rondo_shard_worker *workers;
    rondo_shard_stats stats; /* but for size, version and what follows from workers */
    uint64_t loads;          /* states taken in */
    rondo_shard_watcher watcher; /* or null */
    void *watcher_user;
};

/* rondo_shard_rule_find - the functions of the configured rule. */
const rondo_shard_rule_kind *
rondo_shard_rule_find(const rondo_shard_config *config);

/* rondo_shard_least, rondo_shard_most - the clocks of the slowest and of the fastest
 * living worker; 0 if none lives. */
uint64_t
rondo_shard_least(const rondo_shard *shard);
uint64_t
rondo_shard_most(const rondo_shard *shard);

/* rondo_shard_newcomer_clock - where whoever comes in begins: with the slowest; where
 * nobody is left, at the furthest that anyone has been. */
uint64_t
rondo_shard_newcomer_clock(const rondo_shard *shard);

/* rondo_shard_note_spread - a clock has moved: how far apart are they? */
void
rondo_shard_note_spread(rondo_shard *shard);

/* rondo_shard_worker_check - there is a shard, and it knows such a worker; `call` is
 * named if not. rondo_shard_clock_check - `worker` may come to `clock` under the
 * rule. */
RONDO_MUST_USE rondo_status
rondo_shard_worker_check(const rondo_shard *shard, uint32_t worker, const char *call);
RONDO_MUST_USE rondo_status
rondo_shard_clock_check(const rondo_shard *shard, uint32_t worker, uint64_t clock);

/* rondo_shard_living - how many workers there are now. */
uint32_t
rondo_shard_living(const rondo_shard *shard);

/* rondo_shard_apply - one update, from one worker's gradient. */
void
rondo_shard_apply(rondo_shard *shard, const rondo_shard_push_taken *push);

/* rondo_shard_settle - the update that is due, if one is: from the gradients that wait.
 * True if parameters have changed. */
bool
rondo_shard_settle(rondo_shard *shard);

/* rondo_shard_mend - delay compensation: `push`'s gradient as it should be used, valid
 * until the next call; the gradient itself where there is nothing to mend. */
const float *
rondo_shard_mend(rondo_shard *shard, const rondo_shard_push_taken *push);

/* rondo_shard_remember - keep what `worker` pulls now, for compensation. */
void
rondo_shard_remember(rondo_shard *shard, uint32_t worker);

/* rondo_shard_watch - call `watcher` before parameters change; null: nobody. */
void
rondo_shard_watch(rondo_shard *shard, rondo_shard_watcher watcher, void *user);

/* rondo_shard_changing - tell the watcher. */
void
rondo_shard_changing(const rondo_shard *shard);

/* rondo_shard_lives - whether `worker` is there. */
bool
rondo_shard_lives(const rondo_shard *shard, uint32_t worker);

#endif /* SERVER_SHARD_H */
