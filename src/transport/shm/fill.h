/*
 * fill.h - writing a chunk: through the cache, or streamed past it.
 *
 * The lines of a chunk were last read by the receiver. Where both cores share a cache,
 * writing through it is fastest. Where they do not, every line must be taken away from
 * the other core's cache and later fetched from ours, at a quarter of the rate of memory
 * itself; streaming then wins fourfold. Which of the two it is depends on where the
 * kernel has put the ranks, and changes while they run. So the sender times what it does
 * anyway, and now and then tries the other way.
 */
#ifndef TRANSPORT_SHM_FILL_H
#define TRANSPORT_SHM_FILL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rondo_shm_way {
    RONDO_SHM_CACHED,
    RONDO_SHM_STREAMED,
    RONDO_SHM_WAYS
} rondo_shm_way;

/* What a sender knows of the two ways. Zero: nothing. */
typedef struct rondo_shm_filler {
    uint64_t ns_per_mib[RONDO_SHM_WAYS]; /* smoothed; 0: never tried */
    uint32_t fills;                      /* so far */
    rondo_shm_way way;                   /* the one in use */
} rondo_shm_filler;

/* rondo_shm_fill - copy `bytes` bytes into the chunk `to`, the better way. */
void
rondo_shm_fill(rondo_shm_filler *filler, void *to, const void *from, uint64_t bytes);

#endif /* TRANSPORT_SHM_FILL_H */
