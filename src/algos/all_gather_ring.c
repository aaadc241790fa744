/*
 * all_gather_ring.c - all-gather that moves the fewest bytes, on a ring.
 *
 * Shape    Every rank puts its own block at its place. Then each turn it passes on to
 *          its right neighbour the block it has heard last, its own at first.
 * Cost     nranks-1 turns; every rank sends nranks-1 blocks of `count` elements.
 * Use it   when blocks are large; below a few KiB the turns dominate.
 * Needs    nothing: no value is computed, none is rounded, there is no average.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * After P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", JPDC 69 (2009): the second half of that all-reduce.
 */
#include "algos/algos.h"

#include "algos/walks.h"

void
rondo_all_gather_ring(const rondo_coll *coll, rondo_schedule *schedule)
{
    const uint64_t segments = rondo_segments(coll);
    const rondo_slice out =
        rondo_slice_make(RONDO_BUF_OUT, 0, coll->nranks * coll->count);
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_ring whole = rondo_ring_make(coll, schedule, 0, 1);
    rondo_ring ring = rondo_ring_make(coll, schedule, 0, segments);

    rondo_schedule_copy(schedule, rondo_ring_block(&whole, out, coll->rank), in);
    /* What goes out first is IN itself, so it does not wait for the copy. */
    for (uint64_t first = 0; first < segments; first += RONDO_LANES) {
        for (uint32_t turn = 0; turn + 1 < coll->nranks; turn++) {
            for (uint32_t lane = 0; lane < RONDO_LANES && first + lane < segments;
                 lane++) {
                ring.piece = first + lane;
                rondo_ring_gather(&ring, schedule, out,
                                  rondo_segment(coll, in, first + lane), turn);
            }
        }
    }
}
