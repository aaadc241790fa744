/* alloc.h - the only way to the heap, so that tests can make any allocation fail. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

/* rondo_alloc_zero - `bytes` of zeroed memory, or RONDO_ERR_MEMORY with its text. */
RONDO_MUST_USE rondo_status
rondo_alloc_zero(size_t bytes, void **memory);

/* rondo_alloc_lines - the same, aligned to `align` (a power of two, at least 64). */
RONDO_MUST_USE rondo_status
rondo_alloc_lines(size_t bytes, size_t align, void **memory);

/* rondo_alloc_grow - make room for one more item of `item_bytes` in a growing array. */
RONDO_MUST_USE rondo_status
rondo_alloc_grow(void **items, uint64_t used, uint64_t *room, size_t item_bytes);

/* rondo_free - null is allowed. */
void
rondo_free(void *memory);

/* rondo_size_refuse - the sentence for a product that does not fit: RONDO_ERR_ARG. */
RONDO_MUST_USE rondo_status
rondo_size_refuse(uint64_t count, uint64_t width);

/* rondo_size - count * width, checked; RONDO_ERR_ARG when it does not fit. */
static inline RONDO_MUST_USE rondo_status
rondo_size(uint64_t count, uint64_t width, uint64_t *bytes)
{
    uint64_t product = 0;

    if (__builtin_mul_overflow(count, width, &product) || product > SIZE_MAX / 2) {
        return rondo_size_refuse(count, width);
    }
    *bytes = product;
    return RONDO_OK;
}

/* rondo_alloc_fail_after - tests: the `nth` allocation from now on fails (1: the next);
 * 0: none. Returns whether the earlier order was carried out. */
bool
rondo_alloc_fail_after(uint64_t nth);

/* rondo_alloc_count - tests: allocations made by this process so far. */
uint64_t
rondo_alloc_count(void);

#endif /* BASE_ALLOC_H */
