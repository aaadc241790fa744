/*
 * all_reduce_halving_doubling.c - all-reduce by halving and doubling, any rank count.
 *
 * Shape    With p the largest power of two up to nranks, ranks p and above first give
 *          their vector to the rank p below. Then, log2 p times, each of the p ranks
 *          sends half of what it has to a partner, half as far away each time, and adds
 *          the other half it hears; so rank r completes block r of p. The blocks return
 *          the same way, doubling; ranks p and above get the result last. Two segments
 *          at a time take their turns alternately.
 * Cost     2 log2 p turns, 2 more unless nranks is p; every one of the p ranks sends
 *          2(p-1)/p of the vector, one more vector where it serves a rank above.
 * Use it   for middle sizes and many ranks; best for powers of two.
 * Needs    an operator that commutes. A value is rounded log2 p times, once more in
 *          front unless nranks is p. Every element is summed by the same tree over the
 *          ranks, by one rank, so all have its bits. An average divides in the last
 *          halving, before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * After R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
 */
#include "algos/algos.h"

#include "algos/halves.h"

void
rondo_all_reduce_halving_doubling(const rondo_coll *coll, rondo_schedule *schedule)
{
    rondo_halving_halves(coll, schedule, RONDO_HALVES_BOTH);
}
