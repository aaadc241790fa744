/*
 * rondo/client.h - shards behind a communicator, and a worker's side of them. server.h
 * says what shards do, and how the pieces go together.
 *
 * Placement. The vector of `count` parameters is cut into nshards parts: shard s has
 * the elements from count * s / nshards up to count * (s + 1) / nshards. owner[s] is
 * the rank whose server holds it; a rank may hold several. All ranks pass the same
 * placement, and the same channel of active messages (message.h), which then is theirs.
 *
 * Memory is bounded: a server holds at most one push and one pull under way for each
 * worker and shard; a worker that is faster waits. Everything runs inside the calls
 * here and inside other calls on the communicator; there is no hidden thread.
 *
 * A rank is a server, or one worker, or neither. Waits last as long as operations of
 * the communicator may (rondo_comm_timeout). Servers and clients are destroyed before
 * their communicator, unless they have been bound to another one.
 */
#ifndef RONDO_CLIENT_H
#define RONDO_CLIENT_H

#include <stdbool.h>

#include <rondo/server.h>

/* Fill with rondo_placement_init, then change what differs; borrowed by each call. */
typedef struct rondo_placement {
    size_t size;             /* of this structure, set by the init function */
    uint64_t count;          /* parameters in all */
    uint32_t nshards;        /* 1 to count */
    const uint32_t *owner;   /* by shard: a rank */
    uint32_t nworkers;       /* numbers of workers, the living and the others */
    const uint32_t *rank_of; /* by worker: its rank, UINT32_MAX: it is gone */
    uint32_t channel;        /* of active messages; default 14 */
} rondo_placement;

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_placement_init - defaults in every field; `placement` must not be null. */
RONDO_API void
rondo_placement_init(rondo_placement *placement);

/* rondo_server_create - a server on `comm`, without shards yet. It uses `comm` but does
 * not own it. RONDO_ERR_ARG: a placement that makes no sense. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_server_create(rondo_comm *comm, const rondo_placement *placement,
                    rondo_server **server);

/* rondo_server_add - shard number `index`, which stays the caller's and must outlive
 * the server. Workers without a rank leave it, those with one join. RONDO_ERR_ARG:
 * placed elsewhere, there already, of another size or number of workers. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_server_add(rondo_server *server, uint32_t index, rondo_shard *shard);

/*
 * rondo_server_serve - answer workers for at most `timeout_ms` (0: what is there now).
 *
 * RONDO_OK    all living workers have said goodbye; or no shard is placed here
 * RONDO_BUSY  the time has passed, or rondo_server_wake was called; go on by calling
 *             again. Between calls the shards may be read, saved and changed.
 * RONDO_ERR_STATE   a shard that is placed here has not been added
 * RONDO_ERR_WIRE    a message that makes no sense: the text names its rank and field.
 *                   Nothing of it was believed, the others can go on: call again
 * RONDO_ERR_MEMORY  a push could not be taken in; it comes again when both sides bind
 * The broken group: `comm` broke. Bind to another one and go on.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_server_serve(rondo_server *server, uint64_t timeout_ms);

/* rondo_server_wake - a handler of active messages asks server_serve to return. */
RONDO_API void
rondo_server_wake(rondo_server *server);

/* rondo_server_bind - go on with another communicator and placement (same count,
 * nshards, nworkers). Workers whose rank_of is UINT32_MAX leave all shards; others that
 * had left so join again (those that said goodbye: when they are created again). What
 * was under way is forgotten, and comes again when the worker is bound. Shards that are
 * placed here now are to be added, shards placed elsewhere are let go. Local; the
 * former communicator is not used, and may be gone. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_server_bind(rondo_server *server, rondo_comm *comm,
                  const rondo_placement *placement);

/* rondo_server_destroy - null is allowed; the shards stay. */
RONDO_API void
rondo_server_destroy(rondo_server *server);

/* rondo_client_create - the side of worker number `worker`. It uses `comm` but does not
 * own it. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_create(rondo_comm *comm, const rondo_placement *placement, uint32_t worker,
                    rondo_client **client);

/*
 * rondo_client_pull - all parameters, after this worker's pushes; waits until every
 * shard gives them. They are asked for with the push before, and come meanwhile: then
 * they are those right after that push.
 *
 * parameters  count values.
 * RONDO_ERR_TIMEOUT  the communicator's deadline has passed; the text names the shard
 *                    and its rank. The communicator is still good, the pull goes on
 *                    when it is called again.
 * RONDO_BUSY         rondo_client_wake was called; call again
 * RONDO_ERR_WIRE     an answer that makes no sense
 * The broken group: bind to another communicator, then call again.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_pull(rondo_client *client, float *parameters);

/*
 * rondo_client_push - the gradient of the parameters last pulled, once for each pull.
 * Returns when `gradient` may be used again; the next pull, push or leave sees to the
 * rest. On RONDO_OK the gradient is taken, and sent again after a bind if need be;
 * otherwise it is not.
 *
 * weight     As in rondo_shard_push.
 * Statuses as in rondo_client_pull. RONDO_ERR_STATE: nothing pulled since the last
 * push.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_push(rondo_client *client, double weight, const float *gradient);

/* rondo_client_superseded - makes progress; true when a shard has told that the version
 * last pulled is over, so that a push of it would be dropped (backup). A worker may
 * then give its step up: rondo_client_skip instead of push, then pull. */
RONDO_API RONDO_MUST_USE bool
rondo_client_superseded(rondo_client *client);
/* rondo_client_skip - no push for the parameters last pulled; the clock goes on. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_skip(rondo_client *client);

/* What a client has seen. */
typedef struct rondo_client_stats {
    size_t size;      /* of this structure; set by the caller */
    uint64_t clock;   /* pushes and skips */
    uint64_t version; /* last pulled, of shard 0 */
    uint64_t seen;    /* newest version heard of, of shard 0 */
    uint64_t pushed;  /* gradients */
    uint64_t dropped; /* of these, by shard 0 */
    uint64_t skipped;
    uint64_t wait_ns;        /* in client_pull and client_push */
    uint64_t sent_bytes;     /* payload of pushes */
    uint64_t received_bytes; /* payload of pulls */
} rondo_client_stats;

/* rondo_client_stats_get - a copy, as far as `size` has room. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_stats_get(const rondo_client *client, rondo_client_stats *stats);

/* rondo_client_wake - a handler of active messages asks the waiting call to return. */
RONDO_API void
rondo_client_wake(rondo_client *client);

/* rondo_client_bind - go on with another communicator and placement; what was under way
 * is sent again, and taken once. A gradient for a shard that begins again from an
 * earlier state is given up, and counted as dropped. A worker that joins again starts
 * at the shards' clock. Local; the former communicator is not used, and may be gone. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_bind(rondo_client *client, rondo_comm *comm,
                  const rondo_placement *placement);

/* rondo_client_leave - say goodbye to all shards and wait until they know; then the
 * client can only be destroyed. Statuses as in rondo_client_pull. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_client_leave(rondo_client *client);

/* rondo_client_error_text, rondo_server_error_text - the sentence of the last error. */
RONDO_API const char *
rondo_client_error_text(const rondo_client *client);
/* rondo_server_error_text - see rondo_client_error_text. */
RONDO_API const char *
rondo_server_error_text(const rondo_server *server);

/* rondo_client_destroy - null is allowed; waits for no one. */
RONDO_API void
rondo_client_destroy(rondo_client *client);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_CLIENT_H */
