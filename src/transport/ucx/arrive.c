/* arrive.c - parcels that come in: to which rank of which communicator, and whether. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "transport/ucx/parts.h"

static uint32_t
bucket_of(uint64_t comm, uint32_t rank)
{
    return (uint32_t)(rondo_hash_mix(comm + rank) % RONDO_UCX_BUCKETS);
}

void
rondo_ucx_enter(rondo_ucx_instance *instance)
{
    const rondo_ucx_setup *const setup = &instance->setup;
    rondo_ucx_instance **const bucket =
        &setup->ucx->buckets[bucket_of(setup->comm, setup->me)];

    instance->next = *bucket;
    *bucket = instance;
}

void
rondo_ucx_leave(rondo_ucx_instance *instance)
{
    const rondo_ucx_setup *const setup = &instance->setup;
    rondo_ucx_instance **at = &setup->ucx->buckets[bucket_of(setup->comm, setup->me)];

    while (*at != NULL && *at != instance) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = instance->next;
    }
}

/* The fence: whoever is about to sleep has said so before it looked for the last time;
 * so either it has seen what has just been stored, or we see that it sleeps. */
void
rondo_ucx_wake(const rondo_ucx_instance *instance)
{
    if (instance->setup.wake != NULL) {
        atomic_thread_fence(memory_order_seq_cst);
        instance->setup.wake(instance->setup.user);
    }
}

void
rondo_ucx_wake_all(const rondo_ucx *ucx)
{
    for (uint32_t i = 0; i < RONDO_UCX_BUCKETS; i++) {
        const rondo_ucx_instance *instance = ucx->buckets[i];
        for (; instance != NULL; instance = instance->next) {
            rondo_ucx_wake(instance);
        }
    }
}

static rondo_ucx_instance *
instance_of(const rondo_ucx *ucx, const rondo_parcel_header *header)
{
    rondo_ucx_instance *instance = ucx->buckets[bucket_of(header->comm, header->to)];

    while (instance != NULL &&
           (instance->setup.comm != header->comm || instance->setup.me != header->to)) {
        instance = instance->next;
    }
    if (instance == NULL || header->from >= instance->setup.nranks ||
        header->from == header->to) {
        return NULL;
    }
    return instance;
}

/* The first reason stays. */
static void
break_instance(rondo_ucx_instance *instance, rondo_status status, uint32_t from,
               const char *what)
{
    if (atomic_load_explicit(&instance->broken, memory_order_relaxed) != RONDO_OK) {
        return;
    }
    (void)snprintf(instance->why, sizeof instance->why,
                   "what rank %u sent cannot be: %s", from, what);
    if (status == RONDO_ERR_MEMORY) {
        (void)snprintf(instance->why, sizeof instance->why,
                       "no memory to receive from rank %u", from);
    }
    atomic_store_explicit(&instance->broken, (int32_t)status, memory_order_release);
    rondo_ucx_wake(instance);
}

/* True: the parcel is kept. */
static bool
append(rondo_ucx_instance *instance, const rondo_parcel_header *header,
       const void *data, size_t bytes, void *parcel)
{
    struct rondo_ucx_inlet *const inlet =
        &instance->peers[header->from].in[header->lane];
    struct rondo_ucx_node *const node = rondo_ucx_node_take(instance->setup.ucx);
    const bool kept = bytes > RONDO_PARCEL_NEAR;

    if (node == NULL) {
        break_instance(instance, RONDO_ERR_MEMORY, header->from, "");
        return false;
    }
    node->data = kept ? data : node->near;
    node->parcel = kept ? parcel : NULL;
    node->token = header->token;
    node->bytes = bytes;
    node->last = (header->flags & RONDO_PARCEL_LAST) != 0;
    if (!kept && bytes > 0) {
        memcpy(node->near, data, bytes);
    }
    /* Release: whoever sees the node sees what is in it. */
    atomic_store_explicit(&inlet->tail->next, node, memory_order_release);
    inlet->tail = node;
    return kept;
}

bool
rondo_ucx_arrived(void *user, const void *header, size_t header_bytes, const void *data,
                  size_t bytes, void *parcel)
{
    rondo_ucx *const ucx = user;
    rondo_parcel_header read;
    bool kept = false;

    if (!rondo_parcel_read(header, header_bytes, bytes, &read)) {
        ucx->dropped++;
        return false;
    }
    rondo_ucx_instance *const instance = instance_of(ucx, &read);
    if (instance == NULL ||
        atomic_load_explicit(&instance->broken, memory_order_relaxed) != RONDO_OK) {
        ucx->dropped++;
        return false;
    }
    struct rondo_ucx_peer *const peer = &instance->peers[read.from];
    const char *what = rondo_parcel_credit(&peer->out[read.lane].flow, read.credit);
    if (what == NULL && read.kind == RONDO_PARCEL_DATA) {
        what = rondo_parcel_admit(&peer->in[read.lane].flow, &read, bytes);
    }
    if (what != NULL) {
        break_instance(instance, RONDO_ERR_WIRE, read.from, what);
        return false;
    }
    if (read.kind == RONDO_PARCEL_DATA) {
        kept = append(instance, &read, data, bytes, parcel);
    }
    rondo_ucx_wake(instance);
    return kept;
}
