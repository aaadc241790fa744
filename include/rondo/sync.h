/*
 * rondo/sync.h - the gradient synchroniser: parameters are registered, packed into
 * buckets in reverse order, and a bucket's all-reduce starts when backward filled it.
 *
 *   create -> add each parameter -> commit (all ranks; layouts are compared)
 *   each step: step_begin -> backward: grad_ready(last layer first), progress now and
 *              then -> step_wait: every gradient holds the mean over all ranks
 *
 * Buckets are fixed at commit and start in the order of the plan, so that the order of
 * sums never depends on timing. No hidden thread: progress is made inside grad_ready,
 * progress and step_wait. One thread drives a synchroniser, and with it its
 * communicator. Method: bucketed all-reduce overlapped with backward (Li et al.,
 * "PyTorch Distributed", VLDB 2020).
 *
 * A bucket takes parameters, the last one added first, until it has its bytes. Where
 * its gradients lie one behind the other in memory they are reduced in place; otherwise
 * they are packed into memory of the synchroniser and copied back. Which of the two may
 * differ from rank to rank. After commit a step allocates nothing of its own.
 *
 * canonical gathers each bucket from all ranks and sums it as ((0 + 1) + (2 + 3)) +
 * ..., then multiplies by 1 / nranks. It needs a power of two ranks, nranks times the
 * memory of the gradients, and more time; it is for comparing runs, not for speed.
 */
#ifndef RONDO_SYNC_H
#define RONDO_SYNC_H

#include <rondo/coll.h>

typedef struct rondo_sync rondo_sync;

/* How gradients of different ranks become one. */
typedef enum rondo_sync_mode {
    RONDO_SYNC_ALL_REDUCE = 0, /* mean over the ranks, every step */
    RONDO_SYNC_NONE = 1        /* no exchange: the upper limit of speed */
} rondo_sync_mode;

/* Fill with rondo_sync_config_init, then change what differs. */
typedef struct rondo_sync_config {
    size_t size;          /* of this structure, set by the init function */
    rondo_sync_mode mode; /* default RONDO_SYNC_ALL_REDUCE */
    uint32_t canonical;   /* 1: one fixed binary tree over ranks, so that the bits
                                  * do not depend on how many ranks share the work */
    uint64_t first_bucket_bytes; /* default 64 KiB: starts communication early */
    uint64_t bucket_bytes;       /* default 1 MiB */
    uint64_t step_timeout_ms;    /* 0: the communicator's; see rondo_sync_step_wait */
} rondo_sync_config;

/* What a finished step cost. */
typedef struct rondo_sync_step_info {
    size_t size;               /* of this structure; set by the caller */
    uint64_t step;             /* counts from 0 */
    uint64_t payload_bytes;    /* gradient bytes given to all-reduce */
    uint64_t wait_ns;          /* time in step_wait: communication left exposed */
    uint64_t communication_ns; /* from the first bucket's start to the last one's end */
} rondo_sync_step_info;

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_sync_config_init - defaults in every field; `config` must not be null. */
RONDO_API void
rondo_sync_config_init(rondo_sync_config *config);

/*
 * rondo_sync_create - a synchroniser on `comm`, which it uses but does not own; keep
 * `comm` until rondo_sync_destroy. Local. `config` null: defaults.
 *
 * RONDO_ERR_ARG     a value that is not allowed, canonical without a power of two ranks
 * RONDO_ERR_MEMORY
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_create(rondo_comm *comm, const rondo_sync_config *config, rondo_sync **sync);

/*
 * rondo_sync_add - one parameter tensor, in the order of the forward pass.
 *
 * name   For messages; copied.
 * grad   Its gradient, `count` fp32 elements, borrowed until destroy. Gradients that
 *        lie one behind the other in memory (in the order of adding) are all-reduced
 *        without a copy.
 * param  Set on RONDO_OK: 0, 1, 2, ...
 *
 * RONDO_ERR_ARG    null, count 0
 * RONDO_ERR_STATE  after commit
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_add(rondo_sync *sync, const char *name, float *grad, uint64_t count,
               uint32_t *param);

/*
 * rondo_sync_commit - plan the buckets and compare the layout with all ranks;
 * collective.
 *
 * RONDO_ERR_MISMATCH  the layouts differ; the text names a rank and the first
 *                     parameter that differs, with both sides' values
 * RONDO_ERR_ARG       gradients overlap in memory, here or on the rank the text names
 * RONDO_ERR_MEMORY    likewise
 * The broken group as in coll.h. After any other error the communicator stays good, and
 * all ranks have got one.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_commit(rondo_sync *sync);

/* rondo_sync_step_begin - a new step. RONDO_ERR_STATE: before commit, or the last step
 * was not waited for. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_step_begin(rondo_sync *sync);

/*
 * rondo_sync_grad_ready - the gradient of `param` is complete; it must not be touched
 * until step_wait. Starts every bucket that is full, in plan order.
 *
 * RONDO_ERR_ARG    no such parameter
 * RONDO_ERR_STATE  outside a step, or said twice in a step
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_grad_ready(rondo_sync *sync, uint32_t param);

/* rondo_sync_progress - move buckets in flight; never blocks. Call it between
 * layers. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_progress(rondo_sync *sync);

/*
 * rondo_sync_step_wait - wait until all gradients hold the mean over all ranks. `info`
 * may be null.
 *
 * With a step_timeout_ms, the time from this call on is limited as well: when it has
 * passed, the communicator is aborted, so that no rank waits for one that has given up.
 * (A silent rank is named by the communicator's own deadline only.)
 *
 * RONDO_ERR_STATE    a parameter was not marked ready; the text names it; mark it and
 *                    wait again
 * RONDO_ERR_TIMEOUT  step_timeout_ms has passed, or the communicator's deadline
 * The broken group as in coll.h; the text names the step, the bucket, its parameters
 * and this rank. All later calls give the same status.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_sync_step_wait(rondo_sync *sync, rondo_sync_step_info *info);

/* rondo_sync_error_text - the sentence of the last error on `sync`, "" if none. */
RONDO_API const char *
rondo_sync_error_text(const rondo_sync *sync);

/* rondo_sync_destroy - null is allowed; local. In the middle of a step, with buckets in
 * flight, it aborts the communicator. */
RONDO_API void
rondo_sync_destroy(rondo_sync *sync);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_SYNC_H */
