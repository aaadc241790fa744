/*
 * rondo/comm.h - make, split and end communicators.
 *
 * A communicator is a group of ranks that make the same calls in the same order. One
 * thread at a time drives a communicator; different communicators may be driven by
 * different threads with no locking by the caller. rondo_comm_abort alone may be
 * called from any thread at any time.
 *
 * How the ranks find each other
 *   - by environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT as torchrun and
 *     rondo-run set them (a config whose fields are left alone);
 *   - by a unique id: one rank makes it, any means carries it, all ranks join by it.
 * A rank that does not arrive is named, and the start fails at its deadline.
 *
 * After fork the child's copies of all handles are invalid: every call returns
 * RONDO_ERR_FORKED there, rondo_comm_destroy only frees memory.
 */
#ifndef RONDO_COMM_H
#define RONDO_COMM_H

#include <rondo/types.h>

typedef struct rondo_comm rondo_comm;

/* Opaque; plain bytes that may be copied, sent, written to a file. */
typedef struct rondo_unique_id {
    unsigned char bytes[128];
} rondo_unique_id;

/* For rondo_comm_config.rank and .nranks: read it from the environment. */
#define RONDO_FROM_ENV UINT32_MAX

/* For rondo_comm_split: this rank takes part in the call but gets no communicator. */
#define RONDO_NO_COLOR (-1)

/* Severity of a log line. */
typedef enum rondo_log_level {
    RONDO_LOG_ERROR = 0,
    RONDO_LOG_WARN = 1,
    RONDO_LOG_INFO = 2,
    RONDO_LOG_DEBUG = 3
} rondo_log_level;

/* Receives log lines; may be called from any thread, also from the library's own. */
typedef void (*rondo_log_function)(rondo_log_level level, const char *line, void *user);

/* Fill with rondo_comm_config_init, then change what differs. */
typedef struct rondo_comm_config {
    size_t size;               /* of this structure, set by the init function */
    uint32_t rank;             /* RONDO_FROM_ENV: read RANK (1 rank if not set) */
    uint32_t nranks;           /* RONDO_FROM_ENV: read WORLD_SIZE (1 if not set) */
    const rondo_unique_id *id; /* null: MASTER_ADDR and MASTER_PORT */
    const char *name;          /* for messages; null: "world"; copied */
    uint64_t start_timeout_ms; /* 0: RONDO_START_TIMEOUT or 60 s */
    uint64_t op_timeout_ms;    /* 0: RONDO_TIMEOUT or 600 s */
} rondo_comm_config;

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_log_set - send log lines to `log` (null: stderr again). Warnings and errors
 * come always, more with RONDO_LOG=info or debug. Applies to the whole process. */
RONDO_API void
rondo_log_set(rondo_log_function log, void *user);

/* rondo_comm_config_init - defaults in every field; `config` must not be null. */
RONDO_API void
rondo_comm_config_init(rondo_comm_config *config);

/*
 * rondo_unique_id_create - an id by which ranks can meet; the caller's process becomes
 * the meeting point: it listens from now on, until the communicator is made or the
 * start time-out has passed.
 *
 * It listens at one address only, and an id made without RONDO_INTERFACE ("auto") is
 * for the ranks of this host alone: 127.0.0.1, or ::1 where that is missing. For ranks
 * of other hosts set RONDO_INTERFACE to what they can reach: an address (10.0.0.5), an
 * interface (eth0: its first address, IPv4 before IPv6), a pattern (ib*), a range
 * (10.1.0.0/16), or a list of these; "^eth1" takes out. The id holds a secret of its
 * own: whoever has it can join.
 *
 * RONDO_ERR_ARG     `id` is null, or RONDO_INTERFACE means nothing on this host (the
 *                   text lists what there is)
 * RONDO_ERR_SYSTEM  no socket could be opened
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_unique_id_create(rondo_unique_id *id);

/*
 * rondo_comm_create - join the other ranks; returns when all are there.
 *
 * config  Null: all defaults (by environment). Borrowed during the call.
 * comm    Set only on RONDO_OK; ended by rondo_comm_destroy.
 *
 * RONDO_ERR_ARG       a value or an environment variable is not allowed; the text
 *                     names it, its value and what is allowed
 * RONDO_ERR_START     not all ranks arrived in time (the text says which), the
 *                     secret or the version differs, or a rank failed to start;
 *                     MASTER_ADDR cannot be resolved (at once), there is no way to it
 *                     (after 5 s), nobody answers there (at the deadline), or whoever
 *                     answers is no meeting point
 * RONDO_ERR_SYSTEM    rank 0, at once: MASTER_ADDR is no address of its host, or the
 *                     port is taken (the text says by whom, if that can be seen)
 * RONDO_ERR_MEMORY
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_create(const rondo_comm_config *config, rondo_comm **comm);

/*
 * rondo_comm_create_start - the same without waiting: several ranks can then be made
 * from one thread. Follow with rondo_comm_create_test until it is not RONDO_BUSY.
 * On RONDO_OK `comm` may be passed to create_test, abort and destroy only.
 * Statuses as rondo_comm_create.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_create_start(const rondo_comm_config *config, rondo_comm **comm);

/* rondo_comm_create_test - RONDO_BUSY until the communicator is usable, then RONDO_OK,
 * or the error of rondo_comm_create (destroy it then). Never blocks. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_create_test(rondo_comm *comm);

/*
 * rondo_comm_split - new communicators, one for each colour; collective over `comm`.
 *
 * color  Ranks with the same colour (>= 0) end up together; RONDO_NO_COLOR: none.
 * key    Orders the new ranks; equal keys keep the order of `comm`.
 * part   Null for RONDO_NO_COLOR, otherwise ended by rondo_comm_destroy.
 *
 * RONDO_ERR_ARG (a colour below -1), the broken and the system group.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_split(rondo_comm *comm, int32_t color, int32_t key, rondo_comm **part);

/*
 * rondo_comm_destroy - end a communicator; null is allowed. Local and quick: it waits
 * for no one. Requests that are not finished become invalid; their buffers must be
 * there until it returns. Between hosts what was sent is given a second to leave. Never
 * fails.
 */
RONDO_API void
rondo_comm_destroy(rondo_comm *comm);

/*
 * rondo_comm_abort - break `comm` on all ranks: their calls return RONDO_ERR_ABORTED,
 * naming this rank. From any thread, at any time before destroy; repeated calls do
 * nothing. rondo_comm_destroy must still be called.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_abort(rondo_comm *comm);

/*
 * rondo_comm_revoke - end the use of `comm` on all ranks, so that all come to
 * rondo_comm_shrink: their calls return RONDO_ERR_ABORTED. From any thread, at any time
 * before destroy; repeated calls do nothing. (As MPI_Comm_revoke of ULFM.)
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_revoke(rondo_comm *comm);

/*
 * rondo_comm_shrink - a new communicator of the ranks of `comm` that still live, in
 * their old order; collective over them, whether `comm` is whole, broken or revoked. It
 * breaks `comm` if that is whole still, so that ranks which do not know yet come here
 * too. Ranks that die meanwhile are left out as well. `comm` can then only be
 * destroyed; where the call fails it may be made again.
 *
 * Between hosts all that is said about it passes through rank 0's process, and on each
 * host through that of its lowest rank. Without that the host's other ranks are left
 * out and fail; without rank 0 the ranks of all hosts fail, so that no two go on apart.
 *
 * timeout_ms  For all of it; 0: the start time-out. Ranks that have not called by then
 *             are not left out: the call fails, and names them.
 * smaller     Set on RONDO_OK; ended by rondo_comm_destroy.
 *
 * RONDO_ERR_ARG     null
 * RONDO_ERR_TIMEOUT a living rank has not called
 * RONDO_ERR_PEER    ranks on other hosts cannot be reached any more: rank 0's process
 *                   is gone, or that of the lowest rank of this host
 * RONDO_ERR_STATE   `comm` is not ready, or has been shrunk, or the others have gone on
 *                   without this rank (it had given up)
 * RONDO_ERR_MEMORY, RONDO_ERR_SYSTEM, RONDO_ERR_FORKED
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_shrink(rondo_comm *comm, uint64_t timeout_ms, rondo_comm **smaller);

/* rondo_comm_former_rank - which rank `rank` was in the communicator that this one was
 * split or shrunk from; `rank` itself where it was made in another way. UINT32_MAX: no
 * rank of it. */
RONDO_API uint32_t
rondo_comm_former_rank(const rondo_comm *comm, uint32_t rank);

/* rondo_comm_state - RONDO_OK, or the status that broke the communicator. */
RONDO_API rondo_status
rondo_comm_state(const rondo_comm *comm);

/* rondo_comm_rank, rondo_comm_nranks - who am I, how many are we. */
RONDO_API uint32_t
rondo_comm_rank(const rondo_comm *comm);
/* rondo_comm_nranks - number of ranks of `comm`. */
RONDO_API uint32_t
rondo_comm_nranks(const rondo_comm *comm);

/* rondo_comm_error_text - the sentence of the last error on `comm`, "" if none; valid
 * until the next failing call on it. */
RONDO_API const char *
rondo_comm_error_text(const rondo_comm *comm);

/* rondo_comm_timeout_set - deadline of later operations in ms; 0 restores the
 * default. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_timeout_set(rondo_comm *comm, uint64_t timeout_ms);
/* rondo_comm_timeout - that deadline, in ms; 0 for null. */
RONDO_API uint64_t
rondo_comm_timeout(const rondo_comm *comm);

/* What a communicator has moved since it was made, by kind of transport. */
typedef struct rondo_comm_counters {
    size_t size;              /* of this structure; set by the caller */
    uint64_t operations;      /* collectives and point-to-point calls finished */
    uint64_t sent_bytes;      /* payload handed to any transport */
    uint64_t received_bytes;  /* payload taken from any transport */
    uint64_t shm_sent_bytes;  /* of sent_bytes: through shared memory */
    uint64_t mapped_bytes;    /* written straight into a peer's mapped buffer */
    uint64_t schedules_built; /* misses of the schedule cache */
    uint64_t net_sent_bytes;  /* of sent_bytes: to ranks on other hosts */
    uint64_t zero_copy_bytes; /* by this process, straight from registered memory */
    uint64_t hosts;           /* that the ranks are on */
} rondo_comm_counters;

/* rondo_comm_counters_get - a copy of the counters, as far as `size` has room for them.
 * RONDO_ERR_ARG: size is smaller than the first version's. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_counters_get(const rondo_comm *comm, rondo_comm_counters *counters);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_COMM_H */
