/* memory.c - blocks from rondo_mem_alloc, by address. */
#include "control/memory.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct block {
    rondo_shared shared;
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

rondo_status
rondo_memory_drop(void *memory)
{
    (void)pthread_mutex_lock(&guard);
    block **const at = place_of(memory);
    block *const found = *at;
    if (found != NULL) {
        *at = found->next;
    }
    (void)pthread_mutex_unlock(&guard);
    if (found == NULL) {
        return unknown(memory);
    }
    rondo_shared_unmap(&found->shared);
    rondo_free(found);
    return RONDO_OK;
}

rondo_status
rondo_memory_find(const void *memory, rondo_shared *shared)
{
    (void)pthread_mutex_lock(&guard);
    const block *const found = *place_of(memory);
    if (found != NULL) {
        *shared = found->shared;
    }
    (void)pthread_mutex_unlock(&guard);
    return found == NULL ? unknown(memory) : RONDO_OK;
}
