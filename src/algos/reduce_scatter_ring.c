/*
 * reduce_scatter_ring.c - reduce-scatter that moves the fewest bytes, on a ring.
 *
 * Shape    Each turn every rank adds its own part to the block it has heard from its
 *          left neighbour and passes it on. The block that arrives last is its own.
 *          With segments blocks are cut into as many pieces; two at a time share the
 *          links.
 * Cost     nranks-1 turns a segment; every rank sends nranks-1 blocks of `count`
 *          elements.
 * Use it   when the vector is large; below a few KiB the turns dominate.
 * Needs    a commutative operator: block b is summed from rank b+1 round to rank b.
 *          A value is rounded nranks-1 times. An average divides in the last of these,
 *          before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * After P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", JPDC 69 (2009): the first half of that all-reduce.
 */
#include "algos/algos.h"

#include "algos/walks.h"

struct lanes {
    const rondo_coll *coll;
    rondo_schedule *schedule;
    rondo_ring ring[RONDO_LANES];
};

static void
take_turn(void *context, uint32_t lane, uint64_t segment, uint32_t turn)
{
    struct lanes *const lanes = context;
    const rondo_coll *const coll = lanes->coll;
    const rondo_slice in =
        rondo_slice_make(RONDO_BUF_IN, 0, coll->nranks * coll->count);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);

    lanes->ring[lane].piece = segment;
    rondo_ring_reduce(&lanes->ring[lane], lanes->schedule, in,
                      rondo_segment(coll, out, segment), turn);
}

void
rondo_reduce_scatter_ring(const rondo_coll *coll, rondo_schedule *schedule)
{
    const uint64_t total = coll->nranks * coll->count;
    const uint64_t segments = rondo_segments(coll);
    struct lanes lanes = {.coll = coll, .schedule = schedule};

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, rondo_slice_make(RONDO_BUF_OUT, 0, total),
                            rondo_slice_make(RONDO_BUF_IN, 0, total));
        return;
    }
    for (uint32_t lane = 0; lane < RONDO_LANES && lane < segments; lane++) {
        lanes.ring[lane] = rondo_ring_make(coll, schedule, total, segments);
    }
    rondo_lanes_run(coll, coll->nranks - 1, take_turn, &lanes);
}
