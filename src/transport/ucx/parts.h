/* parts.h - what the files of this folder call of each other; nobody else includes
 * it. */
#ifndef TRANSPORT_UCX_PARTS_H
#define TRANSPORT_UCX_PARTS_H

#include "transport/ucx/inside.h"

/* --- load.c ----------------------------------------------------------------------- */

/* rondo_ucx_load - the module's table, loaded once and for good. */
RONDO_MUST_USE rondo_status
rondo_ucx_load(const char *module, const rondo_wire_ops **ops);

/* --- ucx.c: with the lock, if not said otherwise ---------------------------------- */

/* rondo_ucx_lock - takes it; rondo_ucx_try - if nobody has it or waits for it. */
void
rondo_ucx_lock(rondo_ucx *ucx);
bool
rondo_ucx_try(rondo_ucx *ucx);
void
rondo_ucx_unlock(rondo_ucx *ucx);

/* rondo_ucx_pump - make progress for all; how much has happened. */
uint32_t
rondo_ucx_pump(rondo_ucx *ucx);

/* rondo_ucx_forked - no lock: the wire is the parent's and must not be touched. */
static inline bool
rondo_ucx_forked(const rondo_ucx *ucx)
{
    return atomic_load_explicit(&ucx->forked, memory_order_relaxed);
}

/* --- links.c: with the lock ------------------------------------------------------- */

/* rondo_ucx_link_get - the link to an address, made if there is none; one user more. */
RONDO_MUST_USE rondo_status
rondo_ucx_link_get(rondo_ucx *ucx, const void *address, size_t bytes,
                   struct rondo_ucx_link **link);
void
rondo_ucx_link_put(rondo_ucx *ucx, struct rondo_ucx_link *link);

/* rondo_ucx_link_send - hand an entry to the wire; it is the link's from then on. */
void
rondo_ucx_link_send(rondo_ucx *ucx, struct rondo_ucx_link *link,
                    struct rondo_ucx_entry *entry);

/* rondo_ucx_link_cut - give it up. Parcels under way are dropped. */
void
rondo_ucx_link_cut(rondo_ucx *ucx, struct rondo_ucx_link *link, const char *why);

/* rondo_ucx_links_reap - take back what the wire is done with, and free links that are
 * lost and have no users; how many entries came back. */
uint32_t
rondo_ucx_links_reap(rondo_ucx *ucx);

/* rondo_ucx_links_lose - links that fail, of which the wire says nothing more. */
void
rondo_ucx_links_lose(rondo_ucx *ucx);

/* rondo_ucx_links_end - disconnect all. */
void
rondo_ucx_links_end(rondo_ucx *ucx);

/* The wire's `lost`. */
void
rondo_ucx_lost(void *user, void *link_user, const char *why);

/* --- pool.c: with the lock -------------------------------------------------------- */

/* rondo_ucx_node_take, rondo_ucx_entry_take - null: no memory. `room` of an entry:
 * bytes that will be copied into it. */
struct rondo_ucx_node *
rondo_ucx_node_take(rondo_ucx *ucx);
void
rondo_ucx_node_put(rondo_ucx *ucx, struct rondo_ucx_node *node);
struct rondo_ucx_entry *
rondo_ucx_entry_take(rondo_ucx *ucx, uint64_t room);
void
rondo_ucx_entry_put(rondo_ucx *ucx, struct rondo_ucx_entry *entry);
void
rondo_ucx_pool_end(rondo_ucx *ucx);

/* --- arrive.c: with the lock ------------------------------------------------------ */

/* The wire's `arrived`. */
bool
rondo_ucx_arrived(void *user, const void *header, size_t header_bytes, const void *data,
                  size_t bytes, void *parcel);

/* rondo_ucx_enter, rondo_ucx_leave - the table of instances. */
void
rondo_ucx_enter(rondo_ucx_instance *instance);
void
rondo_ucx_leave(rondo_ucx_instance *instance);

/* rondo_ucx_wake - something has changed for this instance. */
void
rondo_ucx_wake(const rondo_ucx_instance *instance);
void
rondo_ucx_wake_all(const rondo_ucx *ucx);

/* --- channel.c: the operations of the same names ---------------------------------- */

rondo_status
rondo_ucx_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_outgoing *message);
rondo_status
rondo_ucx_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_incoming *piece);
void
rondo_ucx_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane);

/* --- credit.c --------------------------------------------------------------------- */

/* rondo_ucx_settle - with the lock: give back what has been consumed. */
void
rondo_ucx_settle(rondo_ucx_instance *instance);

/* rondo_ucx_owes - without: the sender should be told what has been consumed. */
static inline bool
rondo_ucx_owes(const struct rondo_ucx_inlet *inlet, uint64_t window)
{
    return inlet->consumed - inlet->flow.told >= window / 4;
}

/* rondo_ucx_repay - without: tell it, if there is a way. */
void
rondo_ucx_repay(rondo_ucx_instance *instance, uint32_t peer, rondo_lane lane);

/* rondo_ucx_header - the header of the next parcel to `peer`, which tells it what has
 * been consumed. With the lock. */
rondo_parcel_header
rondo_ucx_header(rondo_ucx_instance *instance, uint32_t peer, rondo_lane lane);

/* --- reach.c: without the lock ---------------------------------------------------- */

/* rondo_ucx_usable - the instance is not broken and not the parent's. */
RONDO_MUST_USE rondo_status
rondo_ucx_usable(const rondo_ucx_instance *instance);

/* rondo_ucx_reach - there is a link to `peer`. RONDO_BUSY: where it is is not known. */
RONDO_MUST_USE rondo_status
rondo_ucx_reach(rondo_ucx_instance *instance, uint32_t peer);

/* rondo_ucx_linked - RONDO_ERR_PEER with the reason if the link to `peer` is lost. */
RONDO_MUST_USE rondo_status
rondo_ucx_linked(const rondo_ucx_instance *instance, uint32_t peer);

#endif /* TRANSPORT_UCX_PARTS_H */
