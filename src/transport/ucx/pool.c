/* pool.c - nodes and entries, cut from slabs and used again: no allocation once it
 * runs. */
#include "base/alloc.h"
#include "transport/ucx/parts.h"

/* Cut from one slab. */
#define NODES_PER_SLAB   32
#define ENTRIES_PER_SLAB 16

/* Memory that lives as long as the wire; null: none. */
static void *
slab(rondo_ucx *ucx, size_t bytes)
{
    void *slabs = ucx->slabs;
    void *memory = NULL;
    rondo_status status =
        rondo_alloc_grow(&slabs, ucx->nslabs, &ucx->slabs_room, sizeof *ucx->slabs);

    ucx->slabs = slabs;
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(bytes, &memory);
    }
    if (status != RONDO_OK) {
        return NULL;
    }
    ucx->slabs[ucx->nslabs] = memory;
    ucx->nslabs++;
    return memory;
}

static void
cut_nodes(rondo_ucx *ucx)
{
    struct rondo_ucx_node *const nodes = slab(ucx, NODES_PER_SLAB * sizeof *nodes);

    for (int i = 0; nodes != NULL && i < NODES_PER_SLAB; i++) {
        rondo_ucx_node_put(ucx, &nodes[i]);
    }
}

struct rondo_ucx_node *
rondo_ucx_node_take(rondo_ucx *ucx)
{
    if (ucx->nodes == NULL) {
        cut_nodes(ucx);
    }
    struct rondo_ucx_node *const node = ucx->nodes;
    if (node != NULL) {
        ucx->nodes = atomic_load_explicit(&node->next, memory_order_relaxed);
        atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
    }
    return node;
}

void
rondo_ucx_node_put(rondo_ucx *ucx, struct rondo_ucx_node *node)
{
    atomic_store_explicit(&node->next, ucx->nodes, memory_order_relaxed);
    ucx->nodes = node;
}

static void
cut_entries(rondo_ucx *ucx)
{
    struct rondo_ucx_entry *const entries =
        slab(ucx, ENTRIES_PER_SLAB * sizeof *entries);

    for (int i = 0; entries != NULL && i < ENTRIES_PER_SLAB; i++) {
        rondo_ucx_entry_put(ucx, &entries[i]);
    }
}

/* From `list`, reset but for its buffer. */
static struct rondo_ucx_entry *
pop(struct rondo_ucx_entry **list)
{
    struct rondo_ucx_entry *const entry = *list;

    if (entry != NULL) {
        *list = entry->next;
        entry->next = NULL;
        entry->owner = NULL;
        entry->outlet = NULL;
        entry->parcel.done = false;
        entry->parcel.failed = false;
    }
    return entry;
}

struct rondo_ucx_entry *
rondo_ucx_entry_take(rondo_ucx *ucx, uint64_t room)
{
    struct rondo_ucx_entry *entry = NULL;

    if (room > RONDO_PARCEL_NEAR) {
        entry = pop(&ucx->buffered);
        if (entry != NULL) {
            return entry;
        }
    }
    if (ucx->plain == NULL) {
        cut_entries(ucx);
    }
    entry = pop(&ucx->plain);
    if (entry == NULL || room <= RONDO_PARCEL_NEAR) {
        return entry;
    }
    entry->buffer = slab(ucx, ucx->piece_bytes);
    if (entry->buffer == NULL) {
        rondo_ucx_entry_put(ucx, entry);
        return NULL;
    }
    return entry;
}

void
rondo_ucx_entry_put(rondo_ucx *ucx, struct rondo_ucx_entry *entry)
{
    struct rondo_ucx_entry **const list =
        entry->buffer == NULL ? &ucx->plain : &ucx->buffered;

    entry->next = *list;
    *list = entry;
}

void
rondo_ucx_pool_end(rondo_ucx *ucx)
{
    for (uint64_t i = 0; i < ucx->nslabs; i++) {
        rondo_free(ucx->slabs[i]);
    }
    rondo_free(ucx->slabs);
    ucx->slabs = NULL;
    ucx->nslabs = 0;
}
