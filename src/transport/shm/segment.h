/*
 * segment.h - what lies where in a segment, and who writes it.
 *
 *     desks      one per rank
 *     rings      a block per receiver: what it polls lies together
 *     stores     as the rings, but sparse: reserved as they are first used
 *
 * Every word has one writer, but for the bell, which whoever wakes its owner counts up.
 * Positions only ever grow. Zeroed memory is idle: stamps begin at 1.
 */
#ifndef TRANSPORT_SHM_SEGMENT_H
#define TRANSPORT_SHM_SEGMENT_H

#include <stdalign.h>
#include <stdatomic.h>

#include "transport/shm/shm.h"

#define RONDO_SHM_LINE 64

/* Words of different writers are two lines apart: processors fetch lines in pairs. */
#define RONDO_SHM_APART 128

/* Payload that travels inside a cell. */
#define RONDO_SHM_INLINE 40

/* Pieces up to this size take RONDO_SHM_SPARSE_RUN bytes of the store, or a chunk. */
#define RONDO_SHM_SPARSE     1024
#define RONDO_SHM_SPARSE_RUN 2048

/* Flags of a cell. */
#define RONDO_SHM_LAST    1U /* the message ends with this piece */
#define RONDO_SHM_IN_CELL 2U /* the payload is in the cell, not in the store */

/*
 * One piece under way: exactly one line, so that a small message moves one line only.
 *
 * The sender writes the rest, then stores `stamp` with release; the receiver loads it
 * with acquire, and reads the rest only when it is the one expected. The rest is atomic
 * (relaxed) so that each field is read once, whatever the other side does to it.
 */
struct rondo_shm_cell {
    _Atomic uint64_t stamp; /* position of the piece + 1 */
    _Atomic uint64_t token;
    _Atomic uint32_t bytes;
    _Atomic uint32_t flags;
    unsigned char payload[RONDO_SHM_INLINE];
};

_Static_assert(sizeof(struct rondo_shm_cell) == RONDO_SHM_LINE, "a cell is a line");

/*
 * How far the receiver of a channel has come. It stores with release after it has read
 * a piece for the last time; the sender loads with acquire before it overwrites one.
 */
struct rondo_shm_consumed {
    alignas(RONDO_SHM_APART) _Atomic uint64_t cells; /* may lag: see channel.c */
    _Atomic uint64_t bytes;                          /* of the store */
};

/* A channel: `layout.cells` cells follow. */
struct rondo_shm_ring {
    struct rondo_shm_consumed consumed;
    struct rondo_shm_cell cells[];
};

/* What everybody may know of a rank. */
struct rondo_shm_desk {
    alignas(RONDO_SHM_APART) _Atomic uint32_t bell;    /* futex word, by wakers */
    alignas(RONDO_SHM_APART) _Atomic uint32_t waiting; /* by the owner: wake me */
    alignas(RONDO_SHM_APART) _Atomic uint64_t signal;  /* by the owner */
};

/* Addresses of a segment's parts. */
typedef struct rondo_shm_segment {
    rondo_shm_layout layout;
    unsigned char *memory;
    uint64_t rings_at;     /* offset of the first block of rings */
    uint64_t ring_bytes;   /* of one channel */
    uint64_t block_bytes;  /* rings of one receiver, page-rounded */
    uint64_t stores_at;    /* offset of the first store */
    uint64_t store_bytes;  /* of one channel */
    uint64_t sparse_bytes; /* of a store, taken by a short piece */
    uint64_t first_bytes;  /* of a store, reserved at its first use */
    uint64_t bytes;        /* of everything, page-rounded */
} rondo_shm_segment;

/* One direction between two sharers. */
typedef struct rondo_shm_pair {
    uint32_t from; /* places among the sharers */
    uint32_t to;
} rondo_shm_pair;

/* rondo_shm_segment_at - the parts of `memory`, which may be null to learn sizes. */
rondo_shm_segment
rondo_shm_segment_at(const rondo_shm_layout *layout, void *memory);

struct rondo_shm_desk *
rondo_shm_desk_of(const rondo_shm_segment *segment, uint32_t place);

struct rondo_shm_ring *
rondo_shm_ring_of(const rondo_shm_segment *segment, rondo_shm_pair pair,
                  rondo_lane lane);

/* rondo_shm_store_of - the channel's `store_bytes` bytes. */
unsigned char *
rondo_shm_store_of(const rondo_shm_segment *segment, rondo_shm_pair pair,
                   rondo_lane lane);

#endif /* TRANSPORT_SHM_SEGMENT_H */
