/* memory.h - the process's table of blocks that can be shared with peers. */
#ifndef CONTROL_MEMORY_H
#define CONTROL_MEMORY_H

#include "base/shared.h"

/* rondo_memory_make - a reserved block of at least `bytes`, entered into the table. */
RONDO_MUST_USE rondo_status
rondo_memory_make(size_t bytes, void **memory);

/* rondo_memory_drop - take it out and unmap it, once nobody holds it any more.
 * RONDO_ERR_ARG: not in the table. */
RONDO_MUST_USE rondo_status
rondo_memory_drop(void *memory);

/* rondo_memory_find - the block that starts at `memory`; the descriptor stays the
 * table's. RONDO_ERR_ARG: there is none. */
RONDO_MUST_USE rondo_status
rondo_memory_find(const void *memory, rondo_shared *shared);

/* rondo_memory_hold, rondo_memory_release - peers in this process use the very mapping
 * of the block that starts at `memory`: it stays until the last of them is done, also
 * when its owner has dropped it. Nothing happens where there is no such block. */
void
rondo_memory_hold(const void *memory);
void
rondo_memory_release(const void *memory);

#endif /* CONTROL_MEMORY_H */
