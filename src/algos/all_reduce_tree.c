/*
 * all_reduce_tree.c - all-reduce up a binomial tree to rank 0 and down again.
 *
 * Shape    Every rank adds what its children send to its own part and sends the sum to
 *          its parent; rank 0 has the result and sends it down the same tree. With
 *          segments the next one climbs while the last one descends.
 * Cost     2 floor(log2 nranks) turns; rank 0 hears, and tells, ceil(log2 nranks)
 *          ranks. Every rank but 0 sends one vector up; one vector comes down to each
 *          of them.
 * Use it   for small vectors and very many ranks.
 * Needs    nothing of the operator: a subtree is a run of ranks, added in rank order.
 *          A value is rounded at most ceil(log2 nranks) times; rank 0 completes it, so
 *          all have its bits. An average divides in the last reduction of rank 0,
 *          before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * The tree of R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 19 (2005), section on reduce.
 */
#include "algos/algos.h"

#include "algos/walks.h"

void
rondo_all_reduce_tree(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    rondo_tree tree = rondo_tree_make(coll, 0);

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, out, in);
        return;
    }
    rondo_tree_hear(&tree, schedule);
    for (uint64_t index = 0; index < rondo_segments(coll); index++) {
        const rondo_slice own = rondo_segment(coll, out, index);

        rondo_tree_reduce(&tree, schedule, rondo_segment(coll, in, index), own, index);
        rondo_tree_spread(&tree, schedule, own, own);
    }
}
