/*
 * all_reduce_ring.c - all-reduce that moves the fewest bytes, on a ring.
 *
 * Shape    Cut the vector into nranks blocks. In the first half every rank adds its own
 *          part to the block it hears from its left neighbour and passes it on, so
 *          after nranks-1 turns it owns one finished block. In the second half the
 *          finished blocks travel once round the ring. With segments each segment is a
 *          ring of its own; two at a time share the links.
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

#include "algos/halves.h"
#include "algos/walks.h"

struct lanes {
    const rondo_coll *coll;
    rondo_schedule *schedule;
    rondo_ring ring[RONDO_LANES];
    uint32_t first; /* turn: those before are another's */
};

/* The first nranks-1 turns of a segment reduce, as many again gather. */
static void
take_turn(void *context, uint32_t lane, uint64_t segment, uint32_t turn)
{
    const struct lanes *const lanes = context;
    const rondo_coll *const coll = lanes->coll;
    const rondo_ring *const ring = &lanes->ring[lane];
    const rondo_slice in =
        rondo_segment(coll, rondo_slice_make(RONDO_BUF_IN, 0, coll->count), segment);
    const rondo_slice out =
        rondo_segment(coll, rondo_slice_make(RONDO_BUF_OUT, 0, coll->count), segment);
    const rondo_slice own = rondo_ring_block(ring, out, coll->rank);
    const uint32_t half = coll->nranks - 1;

    turn += lanes->first;
    if (turn < half) {
        rondo_ring_reduce(ring, lanes->schedule, in, own, turn);
    } else {
        rondo_ring_gather(ring, lanes->schedule, out, own, turn - half);
    }
}

void
rondo_ring_halves(const rondo_coll *coll, rondo_schedule *schedule, rondo_halves halves)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    const bool sums = halves != RONDO_HALVES_SPREAD;
    const uint32_t half = coll->nranks - 1;
    struct lanes lanes = {.coll = coll, .schedule = schedule, .first = sums ? 0 : half};

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, out, in);
        return;
    }
    for (uint32_t lane = 0; lane < RONDO_LANES && lane < rondo_segments(coll); lane++) {
        const uint64_t longest = sums ? rondo_segment(coll, in, 0).count : 0;

        lanes.ring[lane] = rondo_ring_make(coll, schedule, longest, 1);
    }
    rondo_lanes_run(coll, halves == RONDO_HALVES_BOTH ? 2 * half : half, take_turn,
                    &lanes);
}

void
rondo_all_reduce_ring(const rondo_coll *coll, rondo_schedule *schedule)
{
    rondo_ring_halves(coll, schedule, RONDO_HALVES_BOTH);
}
