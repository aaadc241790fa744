/* ranges.h - who wrote and who read each run of elements of one memory. */
#ifndef SCHEDULE_RANGES_H
#define SCHEDULE_RANGES_H

#include <stdint.h>

#include <rondo/status.h>

#define RONDO_RANGES_LEAF 32

/* Elements from `first` to where the next range begins. 0 stands for nobody. */
typedef struct rondo_range {
    uint64_t first;   /* element at which it begins */
    uint64_t writer;  /* 1 + the step that wrote it last */
    uint64_t readers; /* 1 + head of the list of those that have read it since */
} rondo_range;

/* Neighbouring ranges in order; never empty. */
typedef struct rondo_ranges_leaf {
    uint32_t used;
    rondo_range at[RONDO_RANGES_LEAF];
} rondo_ranges_leaf;

/*
 * The ranges of one memory, which tile it without a gap. Small sorted leaves behind a
 * sorted array: an insertion moves one leaf, and the array only once per sixteen.
 */
typedef struct rondo_ranges {
    rondo_ranges_leaf **leaves;
    uint64_t nleaves; /* entries in leaves */
    uint64_t room;    /* entries that fit into leaves */
} rondo_ranges;

/* Where a range is; good until the next cut or join. */
typedef struct rondo_ranges_place {
    uint64_t leaf;
    uint32_t slot;
} rondo_ranges_place;

/* rondo_ranges_cut - let a range begin at element `at`, and say where it is. */
RONDO_MUST_USE rondo_status
rondo_ranges_cut(rondo_ranges *ranges, uint64_t at, rondo_ranges_place *place);

/* rondo_ranges_at - the range of a place; null past the last. */
rondo_range *
rondo_ranges_at(const rondo_ranges *ranges, rondo_ranges_place place);

/* rondo_ranges_next - the place behind `place`. */
rondo_ranges_place
rondo_ranges_next(const rondo_ranges *ranges, rondo_ranges_place place);

/* rondo_ranges_join - let the range at `place` reach to `end`, where one must begin. */
void
rondo_ranges_join(rondo_ranges *ranges, rondo_ranges_place place, uint64_t end);

/* rondo_ranges_clear - give the memory back. */
void
rondo_ranges_clear(rondo_ranges *ranges);

#endif /* SCHEDULE_RANGES_H */
