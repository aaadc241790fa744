/*
 * ucx.h - the transport between hosts: channels with credits over a wire (wire.h),
 * which is UCX in a module that is loaded when the first communicator needs it.
 *
 * One `rondo_ucx` per process, counted, shared by all communicators and threads of the
 * process behind one lock; whoever holds it makes progress for all. Links to other
 * processes are made when first needed and shared by communicators.
 */
#ifndef TRANSPORT_UCX_UCX_H
#define TRANSPORT_UCX_UCX_H

#include "transport/transport.h"
#include "transport/ucx/wire.h"

typedef struct rondo_ucx rondo_ucx;

/* What the process's wire is opened with; the first to open decides. */
typedef struct rondo_ucx_spec {
    char devices[256];
    char transports[64];
    char module[512];          /* path of the module; "": beside the library */
    const rondo_wire_ops *ops; /* instead of the module: a stand-in of a test, and then
                                * each open makes a wire of its own; or null */
} rondo_ucx_spec;

/* rondo_ucx_open - the process's wire, loaded and opened when there is none.
 * RONDO_ERR_UNSUPPORTED: the module or UCX cannot be loaded, and why, with the path;
 * RONDO_ERR_SYSTEM: UCX cannot use these devices; RONDO_ERR_STATE: open already, with
 * devices that do not include these. After a fork the child gets its own. */
RONDO_MUST_USE rondo_status
rondo_ucx_open(const rondo_ucx_spec *spec, rondo_ucx **ucx);
/* rondo_ucx_close - one open less; the last one closes the wire. Null is allowed. */
void
rondo_ucx_close(rondo_ucx *ucx);

/* rondo_ucx_address - of this process's wire; at most RONDO_WIRE_ADDRESS_MAX bytes. */
RONDO_MUST_USE rondo_status
rondo_ucx_address(rondo_ucx *ucx, void *address, size_t *bytes);

/* Where a rank of the communicator is: its process's wire. False: not known yet. Called
 * without the lock, when a pair first talks. */
typedef bool (*rondo_ucx_find)(void *user, uint32_t rank, void *address, size_t *bytes);

/* Something has changed for the instance: a piece or credit arrived, a send got on, a
 * link was lost. Called by whichever thread makes progress, with the lock: it may do no
 * more than ring the rank's bell. */
typedef void (*rondo_ucx_wake_function)(void *user);

typedef struct rondo_ucx_setup {
    rondo_ucx *ucx; /* must outlive the instance */
    uint64_t comm;  /* tells communicators apart; equal on its ranks */
    uint32_t me;
    uint32_t nranks;
    rondo_ucx_find find;
    rondo_ucx_wake_function wake; /* or null */
    void *user;                   /* for both */
    uint64_t window_bytes; /* a sender may be ahead of a receiver, per channel; equal on
                            * all ranks; 0: usual */
} rondo_ucx_setup;

/* rondo_ucx_create - an instance for one rank of one communicator; before any peer may
 * send to it, since parcels nobody is there for are dropped. Its table has no
 * signal, signalled, arm, sleep, disarm and ring: they are null, for a rank sleeps on
 * its shared-memory instance (see rondo_ucx_arm). send, peek and am_send give
 * RONDO_ERR_PEER with "the connection to rank 3 is lost: Connection reset by remote
 * peer". What came before a loss can still be consumed. */
RONDO_MUST_USE rondo_status
rondo_ucx_create(const rondo_ucx_setup *setup, rondo_transport **transport);

/* rondo_ucx_flush - before an orderly destroy: until all that was sent has left this
 * process, `wait_ns` at most. */
void
rondo_ucx_flush(rondo_transport *transport, uint64_t wait_ns);

/* rondo_ucx_quiet - after a failure, before an operation's buffers go back to the
 * caller: on return no send reads them any more. What is on its way is waited for,
 * `wait_ns` at most, then its connection is cut. Destroy does the same with 300 ms. */
void
rondo_ucx_quiet(rondo_transport *transport, uint64_t wait_ns);

/* rondo_ucx_map - memory of a registered block: sends from it need no copy where the
 * transport can. Never fails for good: without it data is copied. */
void
rondo_ucx_map(rondo_transport *transport, void *memory, size_t bytes);
void
rondo_ucx_unmap(rondo_transport *transport, void *memory);

/* rondo_ucx_event_fd, rondo_ucx_arm - the sleeping protocol: arm; true: the descriptor
 * becomes readable when something may have arrived; false: there is something to do. */
int
rondo_ucx_event_fd(rondo_ucx *ucx);
bool
rondo_ucx_arm(rondo_ucx *ucx);

/* rondo_ucx_zero_copy_bytes - sent from registered memory by this process so far. */
uint64_t
rondo_ucx_zero_copy_bytes(rondo_ucx *ucx);

/* rondo_ucx_dropped - parcels that came for a communicator or rank that is not here. */
uint64_t
rondo_ucx_dropped(rondo_ucx *ucx);

#endif /* TRANSPORT_UCX_UCX_H */
