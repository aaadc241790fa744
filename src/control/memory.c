/* memory.c - blocks from rondo_mem_alloc, by address. */
#include "control/memory.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct block {
    rondo_shared shared;
    uint32_t holds; /* segments that peers in this process use it by */
    bool dropped;   /* by its owner; goes with the last hold */
    struct block *next;
} block;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static block *blocks;

rondo_status
rondo_memory_make(size_t bytes, void **memory)
{
    block *made = NULL;
    rondo_status status = rondo_alloc_zero(sizeof *made, (void **)&made);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_shared_create(bytes == 0 ? 1 : bytes, RONDO_SHARED_RESERVED,
                                 &made->shared);
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    (void)pthread_mutex_lock(&guard);
    made->next = blocks;
    blocks = made;
    (void)pthread_mutex_unlock(&guard);
    *memory = made->shared.memory;
    return RONDO_OK;
}

/* Where the pointer to the block that starts at `memory` is kept; guard is held. */
static block **
place_of(const void *memory)
{
    block **at = &blocks;

    while (*at != NULL && (*at)->shared.memory != memory) {
        at = &(*at)->next;
    }
    return at;
}

static rondo_status
unknown(const void *memory)
{
    return rondo_error(RONDO_ERR_ARG,
                       "memory is %p; allowed is the start of a block from "
                       "rondo_mem_alloc",
                       memory);
}

/* Takes the block at `at` out of the table if nobody needs it; guard is held. */
static block *
take_out(block **at)
{
    block *const found = *at;

    if (found == NULL || !found->dropped || found->holds > 0) {
        return NULL;
    }
    *at = found->next;
    return found;
}

static void
unmap(block *gone)
{
    if (gone != NULL) {
        rondo_shared_unmap(&gone->shared);
        rondo_free(gone);
    }
}

rondo_status
rondo_memory_drop(void *memory)
{
    (void)pthread_mutex_lock(&guard);
    block **const at = place_of(memory);
    const bool known = *at != NULL && !(*at)->dropped;
    if (known) {
        (*at)->dropped = true;
    }
    block *const gone = known ? take_out(at) : NULL;
    (void)pthread_mutex_unlock(&guard);
    unmap(gone);
    return known ? RONDO_OK : unknown(memory);
}

void
rondo_memory_hold(const void *memory)
{
    (void)pthread_mutex_lock(&guard);
    block *const found = *place_of(memory);
    if (found != NULL) {
        found->holds++;
    }
    (void)pthread_mutex_unlock(&guard);
}

void
rondo_memory_release(const void *memory)
{
    (void)pthread_mutex_lock(&guard);
    block **const at = place_of(memory);
    if (*at != NULL) {
        (*at)->holds--;
    }
    block *const gone = take_out(at);
    (void)pthread_mutex_unlock(&guard);
    unmap(gone);
}

rondo_status
rondo_memory_find(const void *memory, rondo_shared *shared)
{
    (void)pthread_mutex_lock(&guard);
    const block *const found = *place_of(memory);
    const bool known = found != NULL && !found->dropped;
    if (known) {
        *shared = found->shared;
    }
    (void)pthread_mutex_unlock(&guard);
    return known ? RONDO_OK : unknown(memory);
}
