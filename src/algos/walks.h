/* walks.h - what several algorithms share: segments, turns of a ring, trees. */
#ifndef ALGOS_WALKS_H
#define ALGOS_WALKS_H

#include "schedule/schedule.h"

/* Segments whose turns are appended alternately, so that one moves while the sum of the
 * other is being formed. More would not fit the caches. */
#define RONDO_LANES 2

/* rondo_segments - into how many segments the vector is cut; 1 at least. */
uint64_t
rondo_segments(const rondo_coll *coll);

/* rondo_segment - the part of `vector` that is segment `index`. */
rondo_slice
rondo_segment(const rondo_coll *coll, rondo_slice vector, uint64_t index);

/* One turn of one segment, on one of RONDO_LANES lanes. */
typedef void (*rondo_take_turn)(void *context, uint32_t lane, uint64_t segment,
                                uint32_t turn);

/* rondo_lanes_run - `turns` turns of every segment, RONDO_LANES of them alternately. */
void
rondo_lanes_run(const rondo_coll *coll, uint32_t turns, rondo_take_turn take,
                void *context);

/*
 * One lane of a ring: a vector in one block per rank, or one piece of each such block.
 * Partial sums live in two slots of scratch in turn, so OUT is written once, by
 * results.
 */
typedef struct rondo_ring {
    const rondo_coll *coll;
    uint64_t pieces;     /* into how many each block is cut */
    uint64_t piece;      /* which of them this lane is at */
    rondo_slice slot[2]; /* what was heard in even and in odd turns */
} rondo_ring;

/* rondo_ring_make - for vectors of at most `count` elements; `piece` is the caller's to
 * set. A count of 0 is for a ring that only gathers. */
rondo_ring
rondo_ring_make(const rondo_coll *coll, rondo_schedule *schedule, uint64_t count,
                uint64_t pieces);

/* rondo_ring_block - this lane's piece of block `index` of `vector`. */
rondo_slice
rondo_ring_block(const rondo_ring *ring, rondo_slice vector, uint32_t index);

/* rondo_ring_reduce - turn `turn` of nranks - 1: pass the block on that was heard last,
 * hear another, add mine. Block b is summed from rank b + 1 round to rank b; the last
 * turn completes my own block, into `own`. */
void
rondo_ring_reduce(const rondo_ring *ring, rondo_schedule *schedule, rondo_slice vector,
                  rondo_slice own, uint32_t turn);

/* rondo_ring_gather - turn `turn` of nranks - 1: pass on the block of `vector` that
 * came last, in the first turn `own`, which is mine; receive another. */
void
rondo_ring_gather(const rondo_ring *ring, rondo_schedule *schedule, rondo_slice vector,
                  rondo_slice own, uint32_t turn);

/*
 * A binomial tree over the ranks, counted from its root: the parent of place v is v
 * without its lowest bit, so a child's ranks follow its parent's without a gap.
 */
typedef struct rondo_tree {
    const rondo_coll *coll;
    uint32_t root;                  /* rank at place 0 */
    uint32_t place;                 /* mine */
    uint32_t children;              /* how many I have */
    uint64_t room;                  /* elements of the longest segment */
    rondo_slice heard[RONDO_LANES]; /* one run of `room` elements per child */
} rondo_tree;

/* rondo_tree_make - my place in the tree below `root`. */
rondo_tree
rondo_tree_make(const rondo_coll *coll, uint32_t root);

/* rondo_tree_hear - get the scratch that reductions up the tree need. */
void
rondo_tree_hear(rondo_tree *tree, rondo_schedule *schedule);

/* rondo_tree_reduce - segment `index`: hear my children, add to `mine`, tell my parent;
 * the root completes the result in `own`. Needs rondo_tree_hear. */
void
rondo_tree_reduce(const rondo_tree *tree, rondo_schedule *schedule, rondo_slice mine,
                  rondo_slice own, uint64_t index);

/* rondo_tree_spread - hear from my parent into `own`, tell my children; the root tells
 * them `mine`. */
void
rondo_tree_spread(const rondo_tree *tree, rondo_schedule *schedule, rondo_slice mine,
                  rondo_slice own);

/* What all ranks contribute to the same elements: mine where it lies, that of others in
 * scratch, where it is heard. */
typedef struct rondo_parts {
    const rondo_coll *coll;
    rondo_slice mine;
    rondo_slice heard; /* by rank, without me */
} rondo_parts;

/* rondo_parts_make - `mine` may be empty: then nothing is heard. */
rondo_parts
rondo_parts_make(const rondo_coll *coll, rondo_schedule *schedule, rondo_slice mine);

/* rondo_parts_of - where the part of `rank` is. */
rondo_slice
rondo_parts_of(const rondo_parts *parts, uint32_t rank);

/* rondo_parts_add - complete `out`, adding in rank order, 0 first. `out` may be the
 * memory of `mine`. */
void
rondo_parts_add(const rondo_parts *parts, rondo_schedule *schedule, rondo_slice out);

#endif /* ALGOS_WALKS_H */
