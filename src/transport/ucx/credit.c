/* credit.c - what has been consumed goes back: buffers to the wire, credit to
 * senders. */
#include "transport/ucx/parts.h"

void
rondo_ucx_settle(rondo_ucx_instance *instance)
{
    rondo_ucx *const ucx = instance->setup.ucx;

    for (uint32_t i = 0; i < instance->nspent; i++) {
        ucx->ops->release(ucx->wire, instance->spent[i]);
    }
    instance->nspent = 0;
    while (instance->retired != NULL) {
        struct rondo_ucx_node *const node = instance->retired;
        instance->retired = atomic_load_explicit(&node->next, memory_order_relaxed);
        rondo_ucx_node_put(ucx, node);
    }
    instance->nretired = 0;
}

rondo_parcel_header
rondo_ucx_header(rondo_ucx_instance *instance, uint32_t peer, rondo_lane lane)
{
    struct rondo_ucx_inlet *const inlet = &instance->peers[peer].in[lane];

    inlet->flow.told = inlet->consumed;
    return (rondo_parcel_header){.magic = RONDO_PARCEL_MAGIC,
                                 .version = RONDO_PARCEL_VERSION,
                                 .kind = RONDO_PARCEL_CREDIT,
                                 .lane = (uint8_t)lane,
                                 .comm = instance->setup.comm,
                                 .from = instance->setup.me,
                                 .to = peer,
                                 .credit = inlet->consumed};
}

static void
send_credit(rondo_ucx_instance *instance, uint32_t peer, rondo_lane lane)
{
    rondo_ucx *const ucx = instance->setup.ucx;
    struct rondo_ucx_entry *const entry = rondo_ucx_entry_take(ucx, 0);

    if (entry == NULL) {
        return; /* no memory now: still owed, so it is tried again */
    }
    entry->header = rondo_ucx_header(instance, peer, lane);
    entry->parcel.header = &entry->header;
    entry->parcel.header_bytes = sizeof entry->header;
    entry->parcel.data = NULL;
    entry->parcel.bytes = 0;
    entry->parcel.map = NULL;
    rondo_ucx_link_send(ucx, instance->peers[peer].link, entry);
}

/* Who cannot be reached is owed nothing: sending and peeking will say so. */
void
rondo_ucx_repay(rondo_ucx_instance *instance, uint32_t peer, rondo_lane lane)
{
    rondo_ucx *const ucx = instance->setup.ucx;
    const struct rondo_ucx_inlet *const inlet = &instance->peers[peer].in[lane];
    const bool reached = rondo_ucx_reach(instance, peer) == RONDO_OK;

    rondo_ucx_lock(ucx);
    rondo_ucx_settle(instance);
    if (reached && rondo_ucx_owes(inlet, instance->windows[lane]) &&
        !atomic_load_explicit(&instance->peers[peer].link->lost,
                              memory_order_relaxed)) {
        send_credit(instance, peer, lane);
    }
    rondo_ucx_unlock(ucx);
}
