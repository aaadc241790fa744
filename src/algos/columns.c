/* columns.c - sums a group's vectors into columns, and spreads the columns. */
#include "algos/algos.h"
#include "algos/halves.h"
#include "algos/walks.h"
#include "schedule/blocks.h"

uint32_t
rondo_columns(rondo_shape shape, uint32_t nranks)
{
    switch (shape) {
    case RONDO_SHAPE_TREE:
        return 1;
    case RONDO_SHAPE_HALVING_DOUBLING:
        return 1U << (31 - (uint32_t)__builtin_clz(nranks));
    default:
        return nranks;
    }
}

/* Column `index` of a buffer. */
static rondo_slice
column(const rondo_coll *coll, rondo_buffer buffer, uint32_t columns, uint32_t index)
{
    return rondo_slice_make(buffer, rondo_block_first(coll->count, columns, index),
                            rondo_block_count(coll->count, columns, index));
}

/* Everybody gives everybody their column; each adds in rank order. */
static void
sum_at_once(const rondo_coll *coll, rondo_schedule *schedule, uint32_t columns)
{
    const uint32_t rank = coll->rank;
    const bool has_column = rank < columns;
    const rondo_slice mine = has_column ? column(coll, RONDO_BUF_IN, columns, rank)
                                        : rondo_slice_make(RONDO_BUF_IN, 0, 0);
    const rondo_parts parts = rondo_parts_make(coll, schedule, mine);

    for (uint32_t away = 1; away < coll->nranks; away++) {
        const uint32_t left = rondo_ring_back(rank, away, coll->nranks);
        const uint32_t right = rondo_ring_back(rank, coll->nranks - away, coll->nranks);

        if (right < columns) {
            rondo_schedule_send(schedule, right,
                                column(coll, RONDO_BUF_IN, columns, right));
        }
        rondo_schedule_recv(schedule, left, rondo_parts_of(&parts, left));
    }
    if (has_column) {
        rondo_parts_add(&parts, schedule, column(coll, RONDO_BUF_OUT, columns, rank));
    }
}

static void
spread_at_once(const rondo_coll *coll, rondo_schedule *schedule, uint32_t columns)
{
    const uint32_t rank = coll->rank;

    for (uint32_t away = 1; away < coll->nranks; away++) {
        const uint32_t left = rondo_ring_back(rank, away, coll->nranks);
        const uint32_t right = rondo_ring_back(rank, coll->nranks - away, coll->nranks);

        if (rank < columns) {
            rondo_schedule_send(schedule, right,
                                column(coll, RONDO_BUF_OUT, columns, rank));
        }
        if (left < columns) {
            rondo_schedule_recv(schedule, left,
                                column(coll, RONDO_BUF_OUT, columns, left));
        }
    }
}

void
rondo_columns_sum(const rondo_coll *coll, rondo_schedule *schedule, uint32_t columns)
{
    if (coll->inner == RONDO_SHAPE_ONE_SHOT) {
        sum_at_once(coll, schedule, columns);
    } else if (columns == 1) {
        rondo_reduce_tree(coll, schedule);
    } else if (coll->inner == RONDO_SHAPE_HALVING_DOUBLING) {
        rondo_halving_halves(coll, schedule, RONDO_HALVES_SUM);
    } else {
        rondo_ring_halves(coll, schedule, RONDO_HALVES_SUM);
    }
}

void
rondo_columns_spread(const rondo_coll *coll, rondo_schedule *schedule, uint32_t columns)
{
    if (coll->inner == RONDO_SHAPE_ONE_SHOT) {
        spread_at_once(coll, schedule, columns);
    } else if (columns == 1) {
        rondo_broadcast_tree(coll, schedule);
    } else if (coll->inner == RONDO_SHAPE_HALVING_DOUBLING) {
        rondo_halving_halves(coll, schedule, RONDO_HALVES_SPREAD);
    } else {
        rondo_ring_halves(coll, schedule, RONDO_HALVES_SPREAD);
    }
}
