/*
 * broadcast_tree.c - broadcast down a binomial tree.
 *
 * Shape    The root sends to its children, the one with the largest subtree first; each
 *          passes on what it has received. With segments each is passed on at once.
 * Cost     floor(log2 nranks) turns; nranks-1 vectors in all, of which the root sends
 *          ceil(log2 nranks).
 * Use it   for vectors of any size on few ranks, small ones on many.
 * Needs    nothing: no value is computed, none is rounded, there is no average.
 * Proof    tests/verify: every rank count 1..64, several roots, count 0 included.
 *
 * The tree of R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 19 (2005), section on broadcast.
 */
#include "algos/algos.h"

#include "algos/walks.h"

void
rondo_broadcast_tree(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    const rondo_tree tree = rondo_tree_make(coll, coll->root);

    for (uint64_t index = 0; index < rondo_segments(coll); index++) {
        rondo_tree_spread(&tree, schedule, rondo_segment(coll, in, index),
                          rondo_segment(coll, out, index));
    }
    /* Sends read IN and do not wait for this; peers wait for the sends. */
    if (coll->rank == coll->root) {
        rondo_schedule_copy(schedule, out, in);
    }
}
