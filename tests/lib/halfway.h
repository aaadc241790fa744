/* halfway.h - a first connection between two ranks, of which rank 1 makes a part only:
 * then it dies, or is left alone. */
#ifndef LIB_HALFWAY_H
#define LIB_HALFWAY_H

#include "lib/ranks.h"

typedef struct halfway {
    int turns;            /* that rank 1 takes at its first message */
    bool dies;            /* else rank 0 leaves while rank 1 does nothing */
    uint64_t patience_ms; /* of each step */
} halfway;

/* halfway_run - the part of one of the two ranks. Rank 0 must get an error that blames
 * rank 1 if that dies, and be able to leave in any case. */
void
halfway_run(rank_self *self, const halfway *moment);

#endif /* LIB_HALFWAY_H */
