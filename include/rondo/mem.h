/*
 * rondo/mem.h - buffers that peers on the same machine can map.
 *
 * A collective whose buffers are all mapped reads the inputs and writes the outputs of
 * its peers directly: the least memory traffic there is. Buffers from rondo_mem_alloc
 * become mapped by rondo_mem_register, a collective call.
 */
#ifndef RONDO_MEM_H
#define RONDO_MEM_H

#include <rondo/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * rondo_mem_alloc - `bytes` of zeroed memory, page aligned, that can be registered.
 *
 * The memory is reserved at once: lack of it is an error here, never a signal later.
 * `memory` is set only on RONDO_OK and freed by rondo_mem_free. 0 bytes give a valid
 * pointer.
 *
 * RONDO_ERR_ARG     `memory` is null
 * RONDO_ERR_MEMORY  not so much to be had; the text names the bytes
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_mem_alloc(size_t bytes, void **memory);

/* rondo_mem_free - null is allowed. Deregister first; a block still registered stays
 * mapped by the peers until their communicators end. A pointer that is not from
 * rondo_mem_alloc is refused with a warning in the log. */
RONDO_API void
rondo_mem_free(void *memory);

/*
 * rondo_mem_register - let the peers of `comm` map `memory`; collective: every rank
 * passes a block of its own (sizes may differ), in the same order of calls.
 *
 * From then on collectives on `comm` whose buffers lie in registered blocks on every
 * rank may take the mapped path. Registering a block on several communicators is
 * allowed. Where a peer cannot map it, RONDO_OK all the same: the other path is taken.
 *
 * RONDO_ERR_ARG  not the start of a block from rondo_mem_alloc, or already registered
 * The broken and the system group as in coll.h.
 */
RONDO_API RONDO_MUST_USE rondo_status
rondo_mem_register(rondo_comm *comm, void *memory);

/* rondo_mem_deregister - the opposite, collective too. RONDO_ERR_ARG: not
 * registered. */
RONDO_API RONDO_MUST_USE rondo_status
rondo_mem_deregister(rondo_comm *comm, void *memory);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_MEM_H */
