/*
 * shm.h - the transport between ranks that can map one segment: processes of one
 * machine, or threads of one process.
 *
 * The segment belongs to one communicator: cells, doorbells and signal counters for all
 * pairs, then the store of each channel, which gets memory as far as it has been used
 * for what does not fit into a cell. A pair needs no lock: every word has one writer.
 */
#ifndef TRANSPORT_SHM_SHM_H
#define TRANSPORT_SHM_SHM_H

#include "transport/transport.h"

/* How a segment is laid out; equal on all ranks that share it. */
typedef struct rondo_shm_layout {
    uint32_t nlocal;      /* ranks that share the segment */
    uint32_t slots;       /* chunks that a channel's store holds; 2 at least */
    uint32_t cells;       /* pieces in flight per channel; a power of two, 2 at least */
    uint64_t chunk_bytes; /* of the longest piece; a multiple of 64 */
} rondo_shm_layout;

/* rondo_shm_layout_default - all by number of ranks; chunk_bytes != 0 forces the chunk
 * (RONDO_CHUNK), rounded up to a multiple of 64. */
rondo_shm_layout
rondo_shm_layout_default(uint32_t nlocal, uint64_t chunk_bytes);

/* rondo_shm_bytes - size of the transport's part of a segment, page-rounded. Zeroed
 * memory of that size is a valid idle segment: nothing needs to be initialised. */
uint64_t
rondo_shm_bytes(const rondo_shm_layout *layout);

/* What one rank's instance is made of. Everything is copied. */
typedef struct rondo_shm_setup {
    rondo_shm_layout layout;
    void *memory;          /* the transport's part, page aligned, sparse, zeroed */
    uint32_t me;           /* my place among the sharers */
    uint32_t nranks;       /* of the communicator */
    const uint32_t *ranks; /* communicator rank of each sharer, `nlocal` entries */
} rondo_shm_setup;

/* rondo_shm_create - RONDO_ERR_MEMORY. The memory must outlive the instance. */
RONDO_MUST_USE rondo_status
rondo_shm_create(const rondo_shm_setup *setup, rondo_transport **transport);

#endif /* TRANSPORT_SHM_SHM_H */
