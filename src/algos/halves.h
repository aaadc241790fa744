/*
 * halves.h - all-reduces in two halves, between which something else may happen.
 *
 * In the first half a group of ranks sums its vectors: cut into columns, the sum of
 * column c ends up in OUT of rank c. In the second half the columns are spread: from
 * OUT of rank c to OUT of all.
 */
#ifndef ALGOS_HALVES_H
#define ALGOS_HALVES_H

#include "schedule/schedule.h"

typedef enum rondo_halves {
    RONDO_HALVES_BOTH,
    RONDO_HALVES_SUM,
    RONDO_HALVES_SPREAD
} rondo_halves;

/* rondo_columns - how many columns a shape makes of a vector on `nranks` ranks. */
uint32_t
rondo_columns(rondo_shape shape, uint32_t nranks);

/* rondo_columns_sum, rondo_columns_spread - the halves, by coll->inner; coll->count is
 * that of the vector. With 1 column rank 0 has it whole, whatever the shape: all others
 * give it theirs at once if that is one_shot, by a tree otherwise. */
void
rondo_columns_sum(const rondo_coll *coll, rondo_schedule *schedule, uint32_t columns);
void
rondo_columns_spread(const rondo_coll *coll, rondo_schedule *schedule,
                     uint32_t columns);

/* The all-reduces that have halves, by their names. Without segments the sum of block r
 * of nranks, or of the largest power of two below, ends up at rank r. */
void
rondo_ring_halves(const rondo_coll *coll, rondo_schedule *schedule,
                  rondo_halves halves);
void
rondo_halving_halves(const rondo_coll *coll, rondo_schedule *schedule,
                     rondo_halves halves);

#endif /* ALGOS_HALVES_H */
