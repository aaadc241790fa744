/*
 * all_reduce_direct.c - all-reduce in one pass over mapped memory.
 *
 * Shape    Cut the vector into nranks blocks. Once all have come, every rank reads its
 *          block of every rank's IN, adds, and writes the result into every rank's OUT,
 *          piece by piece (coll->segment) so that a piece stays in the cache. A rank
 *          may go when all are done.
 * Cost     2 turns, of signals alone; no message. Every rank reads nranks blocks and
 *          writes nranks: each byte crosses once.
 * Use it   whenever every rank's buffers are mapped by all, from a few KiB on.
 * Needs    mapped IN and OUT on all ranks, in place or not as each likes; nothing of
 *          the operator: added in rank order, 0 first. A value is rounded nranks-1
 *          times; one rank computes it, so all have its bits. An average divides in the
 *          last of these, before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included, in place mixed; no
 *          access before a signal or after the return.
 *
 * The direct reduction of shared-memory MPIs; see S. Jain, R. Kaleem, M. Balmana et
 * al., "Framework for scalable intra-node collective operations using shared memory",
 * SC 2018.
 */
#include "algos/algos.h"

#include "schedule/blocks.h"

/* A rank that is in place has IN and OUT in one memory. So all parts of a piece are
 * read before any result of it is written: the sum grows in scratch. */
static void
reduce_piece(const rondo_coll *coll, rondo_schedule *schedule, rondo_slice out,
             rondo_slice sum)
{
    const uint64_t first = out.first;
    const uint64_t count = out.count;
    const uint32_t last = coll->nranks - 1;
    rondo_slice before = rondo_slice_of(0, RONDO_BUF_IN, first, count);

    for (uint32_t rank = 1; rank < last; rank++) {
        rondo_schedule_reduce(schedule, sum, before,
                              rondo_slice_of(rank, RONDO_BUF_IN, first, count));
        before = sum;
    }
    rondo_schedule_reduce_final(schedule, out, before,
                                rondo_slice_of(last, RONDO_BUF_IN, first, count));
    for (uint32_t away = 1; away < coll->nranks; away++) {
        const uint32_t peer = rondo_ring_back(coll->rank, away, coll->nranks);

        rondo_schedule_copy(schedule, rondo_slice_of(peer, RONDO_BUF_OUT, first, count),
                            out);
    }
}

/* Tell all, and wait for all to tell it. */
static void
meet(const rondo_coll *coll, rondo_schedule *schedule, uint32_t signal)
{
    rondo_schedule_signal(schedule);
    for (uint32_t away = 1; away < coll->nranks; away++) {
        rondo_schedule_wait(schedule, rondo_ring_back(coll->rank, away, coll->nranks),
                            signal);
    }
}

void
rondo_all_reduce_direct(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice block = rondo_slice_make(
        RONDO_BUF_OUT, rondo_block_first(coll->count, coll->nranks, coll->rank),
        rondo_block_count(coll->count, coll->nranks, coll->rank));
    const bool whole = coll->segment == 0 || coll->segment > block.count;
    const uint64_t piece = whole ? block.count : coll->segment;
    /* Two parts need no sum between them and the result. */
    const uint64_t room = coll->nranks > 2 ? piece : 0;

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, block,
                            rondo_slice_make(RONDO_BUF_IN, 0, coll->count));
        return;
    }
    const rondo_slice sum = rondo_schedule_scratch(schedule, room);
    meet(coll, schedule, 1);
    for (uint64_t at = 0; at < block.count; at += piece) {
        const uint64_t left = block.count - at;
        const uint64_t count = left < piece ? left : piece;

        reduce_piece(coll, schedule, rondo_slice_part(block, at, count),
                     rondo_slice_part(sum, 0, count < room ? count : room));
    }
    meet(coll, schedule, 2);
}
