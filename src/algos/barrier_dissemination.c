/*
 * barrier_dissemination.c - barrier in which news travels twice as far each turn.
 *
 * Shape    In turn t every rank tells the one 2^t places ahead that it, and all those
 *          it has heard of, have come. When the turns are over all have heard of all.
 * Cost     ceil(log2 nranks) turns; every rank sends one element a turn.
 * Use it   always; there is no root to wait for.
 * Needs    nothing: no value is computed, none is rounded, there is no average. What
 *          the messages hold is of no account.
 * Proof    tests/verify: every rank count 1..64; each rank's end knows of each start.
 *
 * After D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization",
 * International Journal of Parallel Programming 17 (1988).
 */
#include "algos/algos.h"

#include "schedule/blocks.h"

void
rondo_barrier_dissemination(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice news = rondo_schedule_scratch(schedule, 1);

    for (uint64_t ahead = 1; ahead < coll->nranks; ahead *= 2) {
        const uint32_t left =
            rondo_ring_back(coll->rank, (uint32_t)ahead, coll->nranks);
        const uint32_t right =
            rondo_ring_back(coll->rank, coll->nranks - (uint32_t)ahead, coll->nranks);
        const rondo_slice heard = rondo_schedule_scratch(schedule, 1);

        rondo_schedule_send(schedule, right, news);
        rondo_schedule_recv(schedule, left, heard);
        /* So that the next send waits for this turn and for all before it: to send
         * `heard` itself would tell of this turn alone. */
        if (2 * ahead < coll->nranks) {
            rondo_schedule_copy(schedule, news, heard);
        }
    }
}
