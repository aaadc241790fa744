/*
 * all_reduce_one_shot.c - all-reduce in one turn: everybody tells everybody.
 *
 * Shape    Every rank sends its whole vector to every other, the next on the ring first
 *          so that no rank is met by all at once, and adds up what it has heard.
 * Cost     1 turn; every rank sends nranks-1 vectors and reduces as many.
 * Use it   for a few KiB and few ranks, where the turns are what costs.
 * Needs    nothing of the operator: all ranks add in rank order, 0 first, so all get
 *          the same bits. A value is rounded nranks-1 times; an average divides in the
 *          last of these, before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * The oldest all-reduce there is, all-to-all broadcast and a local sum; see R. Thakur,
 * R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", IJHPCA 19 (2005), for where it pays.
 */
#include "algos/algos.h"

#include "schedule/blocks.h"

/* What rank `rank` contributes: our own vector, or where we heard it. */
static rondo_slice
part_of(const rondo_coll *coll, rondo_slice heard, uint32_t rank)
{
    if (rank == coll->rank) {
        return rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    }
    const uint32_t place = rank < coll->rank ? rank : rank - 1;
    return rondo_slice_part(heard, place * coll->count, coll->count);
}

static void
exchange(const rondo_coll *coll, rondo_schedule *schedule, rondo_slice heard)
{
    const rondo_slice mine = part_of(coll, heard, coll->rank);

    for (uint32_t away = 1; away < coll->nranks; away++) {
        const uint32_t left = rondo_ring_back(coll->rank, away, coll->nranks);
        const uint32_t right =
            rondo_ring_back(coll->rank, coll->nranks - away, coll->nranks);

        rondo_schedule_send(schedule, right, mine);
        rondo_schedule_recv(schedule, left, part_of(coll, heard, left));
    }
}

void
rondo_all_reduce_one_shot(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    const uint32_t last = coll->nranks - 1;
    const rondo_slice heard = rondo_schedule_scratch(schedule, last * coll->count);

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, out, part_of(coll, heard, 0));
        return;
    }
    exchange(coll, schedule, heard);

    /* In place OUT holds our own part until its turn has come, so the sum grows in
     * scratch: where rank 0's part, or rank 1's, was heard. */
    const rondo_slice sum = part_of(coll, heard, coll->rank == 0 ? 1 : 0);
    rondo_slice before = part_of(coll, heard, 0);
    for (uint32_t rank = 1; rank < last; rank++) {
        rondo_schedule_reduce(schedule, sum, before, part_of(coll, heard, rank));
        before = sum;
    }
    rondo_schedule_reduce_final(schedule, out, before, part_of(coll, heard, last));
}
