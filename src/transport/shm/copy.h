/*
 * copy.h - copying into a store that another core reads, the way that is quicker now.
 *
 * Cached stores first take each line away from the core that read it last. Where the
 * two cores share a cache that is quick if the store is large (channel.c). Where they
 * do not, as the cores of a virtual machine may or may not from one minute to the next,
 * it is ten times slower than streaming past the caches (measured on one machine: 2.4
 * against 24 GB/s; 36 against 24 when a cache is shared). It is the sender alone who
 * pays, so the sender can time its copies and choose.
 */
#ifndef TRANSPORT_SHM_COPY_H
#define TRANSPORT_SHM_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Shorter pieces are never streamed: waiting for the stream to drain costs more. */
#define RONDO_SHM_STREAM_BYTES 1536

/* What a sender knows about the two ways: `lap_bytes` is the caller's, the rest begins
 * as zero. Costs are per line, in 1/16 of a tick; 0: not known. */
typedef struct rondo_shm_pace {
    uint64_t lap_bytes;   /* of the store: then lines are written again */
    uint64_t done_bytes;  /* of this spell of copies by one way */
    uint64_t spell_bytes; /* how long it is to last */
    uint64_t next_bytes;  /* how long the next spell of streaming will be */
    uint32_t cached_cost;
    uint32_t streamed_cost;
    bool streaming; /* the way used now */
} rondo_shm_pace;

/* rondo_shm_copy_long - for RONDO_SHM_STREAM_BYTES and more; `to` begins at a line. All
 * of it is visible to whoever sees a later release store of this thread. */
void
rondo_shm_copy_long(rondo_shm_pace *pace, void *to, const void *from, uint64_t bytes);

/* rondo_shm_pace_judge - a copy of `bytes` bytes by the present way has cost so much a
 * line: which way is next. Apart from the copying for its test. */
void
rondo_shm_pace_judge(rondo_shm_pace *pace, uint64_t cost, uint64_t bytes);

static inline void
rondo_shm_copy(rondo_shm_pace *pace, void *to, const void *from, uint64_t bytes)
{
    if (bytes < RONDO_SHM_STREAM_BYTES) {
        memcpy(to, from, bytes);
    } else {
        rondo_shm_copy_long(pace, to, from, bytes);
    }
}

#endif /* TRANSPORT_SHM_COPY_H */
