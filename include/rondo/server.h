/*
 * rondo/server.h - the parameter server: fp32 parameters in shards, one or more on each
 * server rank; workers push gradients and pull parameters by active messages.
 *
 * Two layers. A shard holds parameters and the rule by which pushes become updates and
 * pulls are answered. It knows no communicator and no clock, so that the same code
 * serves real workers and a simulation of them. A server is shards behind a
 * communicator; a client is a worker's side of it.
 *
 *   server rank: shard_create, server_create, server_add, then server_serve until all
 *                workers have said goodbye
 *   worker rank: client_create; each step: client_pull, the gradient, client_push; at
 *                the end client_leave, which says goodbye, and client_destroy
 *
 * Workers are numbered 0 to nworkers - 1 whatever their rank, and keep their number
 * when ranks change (rondo_comm_shrink): then both sides are bound to the new
 * communicator, and what was under way is sent again and taken once.
 *
 * A version counts the updates of a shard; a clock counts the steps of a worker. The
 * staleness of a gradient is the number of updates between the version it was computed
 * from and the one it meets.
 *
 * Sources: Dean et al., "Large scale distributed deep networks", 2012 (async); Chen et
 * al., "Revisiting distributed synchronous SGD", 2016 (backup workers); Ho et al.,
 * "More effective distributed ML via a stale synchronous parallel parameter server",
 * 2013 (bounded staleness); Zhang et al., "Staleness-aware async-SGD", 2015; Zheng et
 * al., "Asynchronous SGD with delay compensation", 2017.
 */
#ifndef RONDO_SERVER_H
#define RONDO_SERVER_H

#include <rondo/message.h>

typedef struct rondo_shard rondo_shard;
typedef struct rondo_server rondo_server;
typedef struct rondo_client rondo_client;

/* How pushes become updates. */
typedef enum rondo_shard_rule {
    RONDO_SHARD_ASYNC = 0,  /* each at once */
    RONDO_SHARD_BACKUP = 1, /* the first `quorum` of a version as their weighted mean,
                             * in worker order; later ones of it are dropped */
    RONDO_SHARD_BOUNDED = 2 /* each at once, but a worker whose clock is more than
                             * `bound` ahead of the slowest waits; bound 0: all workers'
                             * gradients of a clock as their weighted mean, in worker
                             * order */
} rondo_shard_rule;

/* What an update is made from. */
typedef struct rondo_shard_update {
    uint64_t version;   /* before it; the first is 0 */
    uint64_t staleness; /* of the gradient; 0 where several are averaged */
    uint64_t
        staleness_of;   /* what the rate is divided by, see staleness_aware; 1: not */
    uint32_t worker;    /* whose gradient; UINT32_MAX: several workers' */
    uint32_t gradients; /* how many it is the mean of */
} rondo_shard_update;

/* Makes one update: `parameters` from `gradient`, `count` values each, scaled by what
 * the update says. The optimiser is the caller's. */
typedef void (*rondo_shard_update_function)(void *user,
                                            const rondo_shard_update *update,
                                            const float *gradient, float *parameters,
                                            uint64_t count);

/* Fill with rondo_shard_config_init, then change what differs. */
typedef struct rondo_shard_config {
    size_t size; /* of this structure, set by the init function */
    rondo_shard_rule rule;
    uint32_t nworkers;
    uint32_t quorum; /* backup: 0: all living workers, else at most that many */
    uint64_t bound;  /* bounded: clocks */
    uint32_t staleness_aware; /* 1: an update's rate is divided by its staleness, if
                               * that is more than 1; not with backup */
    float compensation;       /* lambda of delay compensation: g + lambda g g (w - w_b),
                               * w_b being what the worker pulled; 0: none; not with
                               * backup */
    uint32_t compensation_adaptive; /* 1: lambda / sqrt(mean square + 1e-7), the mean
                                     * being 0.95 of the last one and 0.05 of g g */
    rondo_shard_update_function update;
    void *user;
} rondo_shard_config;

/* What became of a push. */
typedef enum rondo_push_outcome {
    RONDO_PUSH_APPLIED = 0, /* an update was made */
    RONDO_PUSH_KEPT = 1,    /* taken, waits for others of its version or clock */
    RONDO_PUSH_DROPPED = 2, /* its version is over: thrown away as a whole */
    RONDO_PUSH_REPEATED = 3 /* a push with this number was taken before: ignored */
} rondo_push_outcome;

/* Upper end of the staleness histogram; its last place counts all larger ones too. */
#define RONDO_STALENESS_MAX 255

/* What a shard has done so far. */
typedef struct rondo_shard_stats {
    size_t size;      /* of this structure; set by the caller */
    uint64_t version; /* updates made */
    uint64_t pushes;  /* taken: used + dropped + those that wait */
    uint64_t used;    /* gradients that are in an update */
    uint64_t dropped;
    uint64_t pulls;
    uint64_t staleness_sum;                      /* over used ones */
    uint64_t staleness_largest;                  /* likewise */
    uint64_t staleness[RONDO_STALENESS_MAX + 1]; /* how many used ones had it */
    uint64_t clock_least;                        /* of living workers */
    uint64_t clock_largest;
    uint64_t spread_largest; /* clock_largest - clock_least, at any time */
    uint32_t living;         /* workers */
} rondo_shard_stats;

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_shard_config_init - defaults in every field; `config` must not be null. */
RONDO_API void
rondo_shard_config_init(rondo_shard_config *config);

/*
 * rondo_shard_create - a shard with `count` parameters, copied from `parameters`. All
 * workers live. With backup, and with bound 0, it keeps a gradient for each worker;
 * with compensation, parameters for each worker; otherwise none.
 *
 * RONDO_ERR_ARG     a value that is not allowed; the text names it and what is
 * RONDO_ERR_MEMORY
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_create(const rondo_shard_config *config, const float *parameters,
                   uint64_t count, rondo_shard **shard);

/*
 * rondo_shard_push - a gradient of `worker`, computed from `version`.
 *
 * number    Of the worker's pushes, from 1: the clock it has reached. A number that is
 *           not larger than the last one taken is RONDO_PUSH_REPEATED.
 * weight    Samples it is the mean of, for means of several; more than 0. 0: the worker
 *           had none; the gradient is not read, and no number counts it. Then the push
 *           stands for the worker's clock and for its part in a quorum only.
 * outcome   Set on RONDO_OK.
 *
 * RONDO_ERR_ARG    null, no such worker, a version that is still to come, a weight that
 *                  is not finite or negative
 * RONDO_ERR_STATE  the worker has left; bounded: it is too far ahead, and should have
 *                  waited in a pull
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_push(rondo_shard *shard, uint32_t worker, uint64_t number, uint64_t version,
                 double weight, const float *gradient, rondo_push_outcome *outcome);

/*
 * rondo_shard_pull - the parameters for `worker`, which has done `clock` steps: as many
 * as it has pushed, or more if it has given some up.
 *
 * parameters  Set on RONDO_OK: of the shard, valid until its next call. They hold all
 *             updates so far, the worker's own among them.
 * version     Set on RONDO_OK.
 *
 * RONDO_BUSY: not yet. Bounded: the worker is more than `bound` clocks ahead of the
 * slowest living one; backup: its gradient of this version was taken.
 * Errors as in rondo_shard_push.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_pull(rondo_shard *shard, uint32_t worker, uint64_t clock,
                 const float **parameters, uint64_t *version);

/* rondo_shard_leave - `worker` is gone: nobody waits for it, the quorum shrinks to the
 * living, what it pushed counts. May make the update that waited for it.
 * rondo_shard_join - it is there (again), at the clock of the slowest living worker;
 * its pushes are numbered on from there, which `clock` is set to. With bound 0 and a
 * gradient of its that still waits: at the clock of that. Where none lives: at the
 * largest clock. Whoever lives begins anew. RONDO_ERR_ARG: no such worker. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_leave(rondo_shard *shard, uint32_t worker);
/* rondo_shard_join - see rondo_shard_leave. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_join(rondo_shard *shard, uint32_t worker, uint64_t *clock);

/* rondo_shard_stats_get - a copy, as far as `size` has room. RONDO_ERR_ARG: size is
 * smaller than the first version's. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_stats_get(const rondo_shard *shard, rondo_shard_stats *stats);

/* rondo_shard_parameters - as they are, valid until the shard's next call; and how
 * many. */
RONDO_API const float *
rondo_shard_parameters(const rondo_shard *shard, uint64_t *count);

/* rondo_shard_state_bytes - how much rondo_shard_state_save writes to `state`:
 * everything but the configuration, plain bytes with a version and a checksum.
 * rondo_shard_state_load - takes it into a shard of the same rule and count, made for
 * the same or another number of workers (pushes kept of workers that there are no more
 * are given up). RONDO_ERR_ARG: damaged, of another version or rule, of another size;
 * the shard is as it was. */
RONDO_API uint64_t
rondo_shard_state_bytes(const rondo_shard *shard);
/* rondo_shard_state_save - see rondo_shard_state_bytes. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_state_save(const rondo_shard *shard, void *state, uint64_t bytes);
/* rondo_shard_state_load - see rondo_shard_state_bytes. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_shard_state_load(rondo_shard *shard, const void *state, uint64_t bytes);

/* rondo_shard_destroy - null is allowed. */
RONDO_API void
rondo_shard_destroy(rondo_shard *shard);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_SERVER_H */
