/*
 * exec.h - runs schedules: a plan is a schedule prepared for running, with the memory
 * its run needs, so that starting and polling allocate nothing.
 *
 * A receive whose data is read by one reduction or copy only is fused with it: each
 * piece is reduced straight out of the transport's memory. Fusing is decided when the
 * first piece is there: if the reader's other needs are met; otherwise the data goes to
 * scratch, so that fusing never makes a receive wait (the proof of no deadlock holds).
 */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include <rondo/types.h>

#include "schedule/schedule.h"
#include "transport/transport.h"

typedef struct rondo_plan rondo_plan;

/* What a run works on. Copied at start; what it points to must live until the end. */
typedef struct rondo_binding {
    rondo_transport *const *routes; /* by peer; null at my own place */
    rondo_lane lane;                /* which lane messages take */
    uint64_t token;                 /* every message carries it, every one is checked */
    rondo_dtype dtype;
    rondo_op op;                /* ignored where nothing is reduced */
    const void *in;             /* may be null when the schedule never reads it */
    void *out;                  /* equals what in place means for the collective */
    const void *const *peer_in; /* by peer: its IN, mapped; null if none is used */
    void *const *peer_out;      /* by peer: its OUT, mapped; null if none is used */
    uint64_t signal_base;       /* signals of this run are base + 1, base + 2, ... */
} rondo_binding;

/* Where a run stands, for messages to people. */
typedef struct rondo_standing {
    uint64_t step; /* first unfinished step */
    uint64_t nsteps;
    uint32_t peer;        /* whom it waits for; UINT32_MAX: nobody */
    rondo_step_kind kind; /* of that step */
    uint64_t
        token_found; /* after RONDO_ERR_MISMATCH: what the peer's message carried */
} rondo_standing;

/* rondo_plan_create - prepare `schedule`; the plan owns it on RONDO_OK. */
RONDO_MUST_USE rondo_status
rondo_plan_create(rondo_schedule *schedule, rondo_plan **plan);

/* rondo_plan_destroy - null is allowed; also while a run is unfinished. */
void
rondo_plan_destroy(rondo_plan *plan);

/* rondo_plan_bytes - memory the plan holds, for the limit of the cache. */
uint64_t
rondo_plan_bytes(const rondo_plan *plan);

/* rondo_plan_start - begin a run; the one before must have ended. Scratch for a wider
 * type than before is allocated here, otherwise nothing is. RONDO_ERR_MEMORY. */
RONDO_MUST_USE rondo_status
rondo_plan_start(rondo_plan *plan, const rondo_binding *binding);

/* rondo_plan_poll - move the run as far as it goes; never blocks. RONDO_OK: done;
 * RONDO_BUSY; RONDO_ERR_MISMATCH: a foreign token or length; RONDO_ERR_PEER, _WIRE. */
RONDO_MUST_USE rondo_status
rondo_plan_poll(rondo_plan *plan);

/* rondo_plan_moves - grows whenever a poll moved anything (a piece, a step, a slice of
 * a long step): a waiting rank that sees it grow does not go to sleep. Cheap. */
uint64_t
rondo_plan_moves(const rondo_plan *plan);

/* rondo_plan_standing - where it stands. */
void
rondo_plan_standing(const rondo_plan *plan, rondo_standing *standing);

/*
 * The schedule cache: plans by key, least recently used ones dropped when `plans_max`
 * or `bytes_max` is passed. One per communicator; not thread safe.
 */
typedef struct rondo_plan_cache rondo_plan_cache;

/* Everything a plan depends on. */
typedef struct rondo_plan_key {
    rondo_coll coll;
    uint32_t algo; /* index in the table of algorithms */
} rondo_plan_key;

RONDO_MUST_USE rondo_status
rondo_plan_cache_create(uint32_t plans_max, uint64_t bytes_max,
                        rondo_plan_cache **cache);
void
rondo_plan_cache_destroy(rondo_plan_cache *cache);

/* rondo_plan_cache_find - the plan, or null. Finding it makes it the most recent. */
rondo_plan *
rondo_plan_cache_find(rondo_plan_cache *cache, const rondo_plan_key *key);

/* rondo_plan_cache_insert - the cache owns `plan` on RONDO_OK. May drop others, never
 * one whose run has not ended. RONDO_ERR_STATE: full of such. */
RONDO_MUST_USE rondo_status
rondo_plan_cache_insert(rondo_plan_cache *cache, const rondo_plan_key *key,
                        rondo_plan *plan);

#endif /* EXEC_EXEC_H */
