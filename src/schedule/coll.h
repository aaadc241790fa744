/* coll.h - what a collective is: everything that may change its schedule. */
#ifndef SCHEDULE_COLL_H
#define SCHEDULE_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule/levels.h"

/* The collectives an algorithm can be for. One row each: name, text. */
#define RONDO_COLL_ROWS(ROW)            \
    ROW(ALL_REDUCE, all_reduce)         \
    ROW(REDUCE_SCATTER, reduce_scatter) \
    ROW(ALL_GATHER, all_gather)         \
    ROW(BROADCAST, broadcast)           \
    ROW(REDUCE, reduce)                 \
    ROW(BARRIER, barrier)

typedef enum rondo_coll_kind {
#define RONDO_COLL_ENUM(name, text) RONDO_COLL_##name,
    RONDO_COLL_ROWS(RONDO_COLL_ENUM)
#undef RONDO_COLL_ENUM
        RONDO_COLLS
} rondo_coll_kind;

/* How a group of ranks works together, in an all-reduce over levels. */
#define RONDO_SHAPE_ROWS(ROW) \
    ROW(RING, ring)           \
    ROW(ONE_SHOT, one_shot)   \
    ROW(TREE, tree)           \
    ROW(HALVING_DOUBLING, halving_doubling)

typedef enum rondo_shape {
#define RONDO_SHAPE_ENUM(name, text) RONDO_SHAPE_##name,
    RONDO_SHAPE_ROWS(RONDO_SHAPE_ENUM)
#undef RONDO_SHAPE_ENUM
        RONDO_SHAPES
} rondo_shape;

/* What a pure algorithm is told: everything that may change its schedule. */
typedef struct rondo_coll {
    rondo_coll_kind kind; /* which collective */
    uint32_t rank;        /* whose schedule */
    uint32_t nranks;      /* of how many */
    uint32_t root;        /* broadcast and reduce; 0 elsewhere */
    uint64_t count;       /* as in the call: per rank for gather-like ones */
    uint64_t segment;     /* elements of a pipeline segment; 0: no segments */
    bool in_place;        /* IN and OUT are one buffer, as coll.h defines it */
    rondo_shape inner;    /* over levels: inside hosts, and inside parts of them */
    rondo_shape outer;    /* over levels: between hosts */
    const rondo_levels *levels; /* where the ranks are; null: all in one place. Lives as
                                 * long as anything that was made for it */
} rondo_coll;

/* rondo_coll_text - "all_reduce". */
const char *
rondo_coll_text(rondo_coll_kind kind);

/* rondo_shape_text - "halving_doubling". */
const char *
rondo_shape_text(rondo_shape shape);

/* rondo_coll_in_count, rondo_coll_out_count - elements of the caller's buffers: nranks
 * times count where the collective gathers or scatters; 0 for a barrier, for IN of a
 * broadcast and OUT of a reduce on ranks other than the root. */
uint64_t
rondo_coll_in_count(const rondo_coll *coll);
uint64_t
rondo_coll_out_count(const rondo_coll *coll);

#endif /* SCHEDULE_COLL_H */
