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

struct lanes {
    const rondo_coll *coll;
    rondo_schedule *schedule;
    rondo_ring ring;
};

static void
take_turn(void *context, uint32_t lane, uint64_t segment, uint32_t turn)
{
    struct lanes *const lanes = context;
    const rondo_coll *const coll = lanes->coll;
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_slice out =
        rondo_slice_make(RONDO_BUF_OUT, 0, coll->nranks * coll->count);

    (void)lane; /* Lanes share nothing here: there are no partial sums. */
    lanes->ring.piece = segment;
    /* What goes out first is IN itself, so it does not wait for the copy. */
    rondo_ring_gather(&lanes->ring, lanes->schedule, out,
                      rondo_segment(coll, in, segment), turn);
}

void
rondo_all_gather_ring(const rondo_coll *coll, rondo_schedule *schedule)
{
    struct lanes lanes = {.coll = coll,
                          .schedule = schedule,
                          .ring =
                              rondo_ring_make(coll, schedule, 0, rondo_segments(coll))};

    rondo_schedule_copy(
        schedule,
        rondo_slice_make(RONDO_BUF_OUT, coll->rank * coll->count, coll->count),
        rondo_slice_make(RONDO_BUF_IN, 0, coll->count));
    rondo_lanes_run(coll, coll->nranks - 1, take_turn, &lanes);
}
