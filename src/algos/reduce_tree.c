/*
 * reduce_tree.c - reduce up a binomial tree to the root.
 *
 * Shape    Every rank adds what its children send to its own part and sends the sum to
 *          its parent. Sums grow in scratch: only the root's OUT is ours to write.
 * Cost     floor(log2 nranks) turns; every rank but the root sends one vector.
 * Use it   for small vectors, or few ranks.
 * Needs    an operator that commutes, unless the root is rank 0: a subtree is a run of
 *          ranks, added in order from the root round to the rank before it. A value is
 *          rounded at most ceil(log2 nranks) times. An average divides in the last
 *          reduction of the root, before it rounds.
 * Proof    tests/verify: every rank count 1..64, several roots, count 0 included.
 *
 * The tree of R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 19 (2005), section on reduce.
 */
#include "algos/algos.h"

#include "algos/walks.h"

void
rondo_reduce_tree(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    rondo_tree tree = rondo_tree_make(coll, coll->root);

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, out, in);
        return;
    }
    rondo_tree_hear(&tree, schedule);
    for (uint64_t index = 0; index < rondo_segments(coll); index++) {
        rondo_tree_reduce(&tree, schedule, rondo_segment(coll, in, index),
                          rondo_segment(coll, out, index), index);
    }
}
