/* reach.c - whether a peer can be reached, and if not, the sentence. */
#include <stdio.h>

#include "base/error.h"
#include "transport/ucx/parts.h"

rondo_status
rondo_ucx_usable(const rondo_ucx_instance *instance)
{
    const rondo_status broken =
        (rondo_status)atomic_load_explicit(&instance->broken, memory_order_acquire);

    if (rondo_ucx_forked(instance->setup.ucx)) {
        return rondo_error(RONDO_ERR_FORKED,
                           "the connections to other hosts belong to the parent "
                           "process");
    }
    return broken == RONDO_OK ? RONDO_OK : rondo_error(broken, "%s", instance->why);
}

rondo_status
rondo_ucx_linked(const rondo_ucx_instance *instance, uint32_t peer)
{
    const struct rondo_ucx_link *const link = instance->peers[peer].link;

    /* Acquire: pairs with the release in rondo_ucx_lost. */
    if (link == NULL || !atomic_load_explicit(&link->lost, memory_order_acquire)) {
        return RONDO_OK;
    }
    return rondo_error(RONDO_ERR_PEER, "the connection to rank %u is lost: %s", peer,
                       link->why);
}

static rondo_status
no_way(uint32_t peer, rondo_status status)
{
    char why[160];

    (void)snprintf(why, sizeof why, "%s", rondo_error_text());
    return rondo_error(status, "no connection to rank %u could be made: %s", peer, why);
}

rondo_status
rondo_ucx_reach(rondo_ucx_instance *instance, uint32_t peer)
{
    const rondo_ucx_setup *const setup = &instance->setup;
    struct rondo_ucx_peer *const at = &instance->peers[peer];
    unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    size_t bytes = sizeof address;

    if (__builtin_expect(at->link != NULL, 1)) {
        return rondo_ucx_linked(instance, peer);
    }
    if (!setup->find(setup->user, peer, address, &bytes)) {
        return RONDO_BUSY;
    }
    rondo_ucx_lock(setup->ucx);
    const rondo_status status =
        rondo_ucx_link_get(setup->ucx, address, bytes, &at->link);
    rondo_ucx_unlock(setup->ucx);
    return status == RONDO_OK ? RONDO_OK : no_way(peer, status);
}
