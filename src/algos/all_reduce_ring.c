/*
 * all_reduce_ring.c - all-reduce that moves the fewest bytes, on a ring.
 *
 * Shape    Cut the vector into nranks blocks. In the first half every rank adds its own
 *          part to the block it hears from its left neighbour and passes it on, so after
 *          nranks-1 turns it owns one finished block. In the second half the finished
 *          blocks travel once round the ring. With segments each segment is a ring of
 *          its own; two at a time share the links.
 * Cost     2(nranks-1) turns a segment; every rank sends 2(nranks-1)/nranks of the
 *          vector (all but two blocks of twice the vector).
 * Use it   when the vector is large; below a few KiB the turns dominate.
 * Needs    a commutative operator: block b is summed from rank b+1 round to rank b.
 *          A value is rounded nranks-1 times; one rank computes it, so all have its
 *          bits. An average divides in the last of these, before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * After P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", JPDC 69 (2009), with the blocks cut into segments.
 */
#include "algos/algos.h"

#include "algos/walks.h"

/* One turn of one segment: the first nranks-1 reduce, as many again gather. */
static void
take_turn(const rondo_ring *ring, rondo_schedule *schedule, uint64_t index,
          uint32_t turn)
{
    const rondo_coll *const coll = ring->coll;
    const rondo_slice in =
        rondo_segment(coll, rondo_slice_make(RONDO_BUF_IN, 0, coll->count), index);
    const rondo_slice out =
        rondo_segment(coll, rondo_slice_make(RONDO_BUF_OUT, 0, coll->count), index);

    const rondo_slice own = rondo_ring_block(ring, out, coll->rank);

    if (turn < coll->nranks - 1) {
        rondo_ring_reduce(ring, schedule, in, own, turn);
    } else {
        rondo_ring_gather(ring, schedule, out, own, turn - (coll->nranks - 1));
    }
}

void
rondo_all_reduce_ring(const rondo_coll *coll, rondo_schedule *schedule)
{
    const uint64_t segments = rondo_segments(coll);
    const rondo_slice whole = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    const uint64_t longest = rondo_segment(coll, whole, 0).count;
    rondo_ring lanes[RONDO_LANES];

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, whole,
                            rondo_slice_make(RONDO_BUF_IN, 0, coll->count));
        return;
    }
    for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
        lanes[lane] = rondo_ring_make(coll, schedule, lane < segments ? longest : 0, 1);
    }
    for (uint64_t first = 0; first < segments; first += RONDO_LANES) {
        for (uint32_t turn = 0; turn < 2 * (coll->nranks - 1); turn++) {
            for (uint32_t lane = 0; lane < RONDO_LANES && first + lane < segments;
                 lane++) {
                take_turn(&lanes[lane], schedule, first + lane, turn);
            }
        }
    }
}
