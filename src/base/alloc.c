/* alloc.c - heap access with a countdown that lets tests fail any allocation. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static _Atomic uint64_t allocations;
static _Atomic uint64_t fail_at;

static bool
refused(void)
{
    const uint64_t number =
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    const uint64_t limit = atomic_load_explicit(&fail_at, memory_order_relaxed);

    if (limit == 0 || number + 1 != limit) {
        return false;
    }
    atomic_store_explicit(&fail_at, 0, memory_order_relaxed);
    return true;
}

rondo_status
rondo_alloc_zero(size_t bytes, void **memory)
{
    void *const got = refused() ? NULL : calloc(1, bytes == 0 ? 1 : bytes);

    if (got == NULL) {
        return rondo_error(RONDO_ERR_MEMORY, "%zu bytes of memory could not be had",
                           bytes);
    }
    *memory = got;
    return RONDO_OK;
}

rondo_status
rondo_alloc_lines(size_t bytes, size_t align, void **memory)
{
    const size_t rounded = (bytes + align - 1) / align * align;
    void *const got =
        refused() ? NULL : aligned_alloc(align, rounded == 0 ? align : rounded);

    if (got == NULL) {
        return rondo_error(RONDO_ERR_MEMORY, "%zu bytes of memory could not be had",
                           bytes);
    }
    *memory = got;
    return RONDO_OK;
}

rondo_status
rondo_alloc_grow(void **items, uint64_t used, uint64_t *room, size_t item_bytes)
{
    if (used < *room) {
        return RONDO_OK;
    }
    const uint64_t wanted = *room == 0 ? 16 : *room * 2;
    uint64_t bytes = 0;
    const rondo_status status = rondo_size(wanted, item_bytes, &bytes);
    if (status != RONDO_OK) {
        return status;
    }
    void *const got = refused() ? NULL : realloc(*items, bytes);
    if (got == NULL) {
        return rondo_error(RONDO_ERR_MEMORY, "%llu bytes of memory could not be had",
                           (unsigned long long)bytes);
    }
    *items = got;
    *room = wanted;
    return RONDO_OK;
}

void
rondo_free(void *memory)
{
    free(memory);
}

rondo_status
rondo_size_refuse(uint64_t count, uint64_t width)
{
    return rondo_error(RONDO_ERR_ARG,
                       "count %llu times %llu bytes is more than memory can hold",
                       (unsigned long long)count, (unsigned long long)width);
}

bool
rondo_alloc_fail_after(uint64_t nth)
{
    const uint64_t now = atomic_load_explicit(&allocations, memory_order_relaxed);
    const uint64_t left = atomic_exchange_explicit(&fail_at, nth == 0 ? 0 : now + nth,
                                                   memory_order_relaxed);
    return left == 0;
}

uint64_t
rondo_alloc_count(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}
