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

#include "algos/walks.h"
#include "schedule/blocks.h"

void
rondo_all_reduce_one_shot(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_parts parts = rondo_parts_make(coll, schedule, in);

    for (uint32_t away = 1; away < coll->nranks; away++) {
        const uint32_t left = rondo_ring_back(coll->rank, away, coll->nranks);
        const uint32_t right =
            rondo_ring_back(coll->rank, coll->nranks - away, coll->nranks);

        rondo_schedule_send(schedule, right, in);
        rondo_schedule_recv(schedule, left, rondo_parts_of(&parts, left));
    }
    rondo_parts_add(&parts, schedule, rondo_slice_make(RONDO_BUF_OUT, 0, coll->count));
}
