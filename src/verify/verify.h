/*
 * verify.h - proves a set of schedules right, for all ranks at once, without a network.
 *
 * The model (design/0001-schedules.md): a channel is a pair of ranks and is FIFO; there
 * is no buffering, a send completes together with its receive; all steps whose needs
 * are met may run; mapped memory is seen by peers at once, so every pair of conflicting
 * accesses must be ordered by messages or signals. Proved: no deadlock, every element
 * of the result right (each contribution exactly once, at its place, finished once),
 * IN unchanged unless in place, no race, entry safety (no peer touches my buffers
 * before I have signalled), exit safety (none after my last step), and the same for a
 * second collective started right behind by each rank.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "schedule/schedule.h"

/* What the proof found out besides yes or no. */
typedef struct rondo_verdict {
    uint64_t turns;          /* longest chain of messages and signals */
    uint64_t sent_max;       /* most elements any rank sends */
    uint64_t sent_total;     /* elements all ranks send */
    uint64_t messages_total; /* number of messages */
    uint64_t encodings_max;  /* most times any contribution was encoded */
    uint64_t roundings_max;  /* most reductions that any contribution went through */
    bool uniform;            /* every result is the same tree over the ranks, so that
                              * its bits do not depend on where the element lies */
} rondo_verdict;

/*
 * rondo_verify - prove `schedules[0 .. nranks)`, one per rank, of one collective.
 * in_place may differ from rank to rank; everything else must agree.
 *
 * RONDO_OK            proved; `verdict` (may be null) is filled
 * RONDO_ERR_INTERNAL  refused; rondo_error_text names rank, step and what is wrong
 */
RONDO_MUST_USE rondo_status
rondo_verify(const rondo_schedule *const *schedules, uint32_t nranks,
             rondo_verdict *verdict);

/*
 * rondo_verify_pair - `first` and then `second`, back to back: each rank starts the
 * second as soon as its own part of the first is done, on the same caller buffers.
 * Proves that neither disturbs the other.
 */
RONDO_MUST_USE rondo_status
rondo_verify_pair(const rondo_schedule *const *first,
                  const rondo_schedule *const *second, uint32_t nranks);

#endif /* VERIFY_VERIFY_H */
