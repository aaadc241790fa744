/*
 * rondo/coll.h - collectives and point-to-point, blocking or with a request.
 *
 * Every collective is called by all ranks of a communicator in the same order with the
 * same count, type, operator and root. If they differ, all ranks get
 * RONDO_ERR_MISMATCH with both sides' values (from that call, or from the next one
 * where the call had already finished).
 *
 * In place: pass the same pointer where the call says so. One rank may be in place
 * while another is not. Any other overlap of send and receive buffer is refused.
 * Count 0 moves nothing and waits for no one, but takes its turn in the order check;
 * buffers may then be null.
 *
 * Same call, same ranks, same settings: same bits, on every rank, whatever the timing.
 *
 * Blocking calls return when this rank's part is done (buffers usable). The _start
 * forms return at once; progress is made by rondo_request_test, rondo_request_wait
 * and rondo_comm_progress. Several may be in flight; collectives of a communicator
 * run one after another in the order of their calls; sends and receives run beside
 * them, in order per peer. Buffers are borrowed until the request is done.
 *
 * Statuses of all calls here
 *   RONDO_ERR_ARG       null buffer, unknown type or operator, root or peer out of
 *                       range, bad overlap, count too large for memory
 *   RONDO_ERR_PEER, _TIMEOUT, _MISMATCH, _ABORTED, _WIRE   the communicator is broken
 *   RONDO_ERR_MEMORY    nothing was started
 *   RONDO_ERR_FORKED    called in a forked child
 */
#ifndef RONDO_COLL_H
#define RONDO_COLL_H

#include <rondo/comm.h>

/* One operation in flight, made by a _start call, ended by rondo_request_wait or by
 * rondo_request_test once that says other than RONDO_BUSY. */
typedef struct rondo_request rondo_request;

/* For rondo_request_wait: no deadline of its own (the communicator's still holds). */
#define RONDO_WAIT_FOREVER UINT64_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_all_reduce - combine `count` elements of every rank; all get the result.
 * In place: in == out. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_all_reduce(rondo_comm *comm, const void *in, void *out, uint64_t count,
                 rondo_dtype dtype, rondo_op op);

/* rondo_reduce_scatter - combine nranks * `count` elements of every rank; rank r gets
 * elements [r * count, (r + 1) * count). In place: out == in + rank * count. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_reduce_scatter(rondo_comm *comm, const void *in, void *out, uint64_t count,
                     rondo_dtype dtype, rondo_op op);

/* rondo_all_gather - `count` elements of every rank, in rank order, nranks * `count`
 * in all, on all ranks. In place: in == out + rank * count. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_all_gather(rondo_comm *comm, const void *in, void *out, uint64_t count,
                 rondo_dtype dtype);

/* rondo_broadcast - `count` elements of `root` on all ranks. `in` is read on the root
 * only (may be null elsewhere). In place: in == out. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_broadcast(rondo_comm *comm, const void *in, void *out, uint64_t count,
                rondo_dtype dtype, uint32_t root);

/* rondo_reduce - combine `count` elements of every rank; `root` gets the result. `out`
 * is not touched on other ranks (may be null there). In place: in == out. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_reduce(rondo_comm *comm, const void *in, void *out, uint64_t count,
             rondo_dtype dtype, rondo_op op, uint32_t root);

/* rondo_barrier - returns after all ranks have called it. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_barrier(rondo_comm *comm);

/* rondo_send - `count` elements to `peer`, matched with its rondo_recv in order. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_send(rondo_comm *comm, const void *in, uint64_t count, rondo_dtype dtype,
           uint32_t peer);

/* rondo_recv - `count` elements from `peer`; count and type must equal the send's. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_recv(rondo_comm *comm, void *out, uint64_t count, rondo_dtype dtype,
           uint32_t peer);

/* The same, started: `request` is set only on RONDO_OK. Each does what its blocking
 * namesake says. */

/* rondo_all_reduce_start - see rondo_all_reduce. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_all_reduce_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                       rondo_dtype dtype, rondo_op op, rondo_request **request);
/* rondo_reduce_scatter_start - see rondo_reduce_scatter. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_reduce_scatter_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                           rondo_dtype dtype, rondo_op op, rondo_request **request);
/* rondo_all_gather_start - see rondo_all_gather. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_all_gather_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                       rondo_dtype dtype, rondo_request **request);
/* rondo_broadcast_start - see rondo_broadcast. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_broadcast_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                      rondo_dtype dtype, uint32_t root, rondo_request **request);
/* rondo_reduce_start - see rondo_reduce. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_reduce_start(rondo_comm *comm, const void *in, void *out, uint64_t count,
                   rondo_dtype dtype, rondo_op op, uint32_t root,
                   rondo_request **request);
/* rondo_barrier_start - see rondo_barrier. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_barrier_start(rondo_comm *comm, rondo_request **request);
/* rondo_send_start - see rondo_send. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_send_start(rondo_comm *comm, const void *in, uint64_t count, rondo_dtype dtype,
                 uint32_t peer, rondo_request **request);
/* rondo_recv_start - see rondo_recv. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_recv_start(rondo_comm *comm, void *out, uint64_t count, rondo_dtype dtype,
                 uint32_t peer, rondo_request **request);

/*
 * rondo_request_test - make progress; never blocks.
 *
 * RONDO_BUSY: not yet. Anything else is the final status and frees the request.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_request_test(rondo_request *request);

/*
 * rondo_request_wait - wait until `request` is done, at most `timeout_ms`.
 *
 * RONDO_BUSY: the time passed; the request is still in flight and may be waited for
 * again. Anything else is the final status and frees the request.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_request_wait(rondo_request *request, uint64_t timeout_ms);

/* rondo_comm_progress - move everything in flight on `comm` a little; never blocks.
 * RONDO_OK, or the status that broke the communicator. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_comm_progress(rondo_comm *comm);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_COLL_H */
