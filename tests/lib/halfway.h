/* halfway.h - a first connection between two ranks, of which rank 1 makes a part only:
 * then it dies, is stopped, or is left alone. */
#ifndef LIB_HALFWAY_H
#define LIB_HALFWAY_H

#include "lib/ranks.h"

typedef enum halfway_end {
    HALFWAY_DIES,
    HALFWAY_STOPS, /* by SIGSTOP */
    HALFWAY_IS_LEFT
} halfway_end;

typedef struct halfway {
    int turns; /* that rank 1 takes at its first message */
    halfway_end end;
    uint64_t patience_ms;   /* of each step */
    uint64_t op_timeout_ms; /* of the communicator */
} halfway;

/* halfway_run - the part of one of the two ranks. Rank 0 must get an error that blames
 * rank 1 unless it leaves before, and be able to leave in any case. */
void
halfway_run(rank_self *self, const halfway *moment);

/* halfway_clear - a director: ends a rank that was stopped. */
void
halfway_clear(const rank_stage *stage, void *user);

#endif /* LIB_HALFWAY_H */
