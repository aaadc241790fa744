/* exact.h - calls whose results are compared, byte for byte, with the naive model. */
#ifndef LIB_EXACT_H
#define LIB_EXACT_H

#include "lib/calls.h"
#include "lib/ranks.h"

/* Memory of one rank, each area large enough for `nranks` parts: what a call reads,
 * what it writes, and what it ought to have written. */
typedef struct exact_areas {
    void *in, *out, *want;
} exact_areas;

/* exact_call - fill IN, make the call (its buffers are set here), compare OUT; false,
 * and noted, if it fails or differs. */
bool
exact_call(rank_self *self, rondo_comm *comm, call *made, const exact_areas *at);

/* exact_every_kind - all of calls.h, the root changing from call to call. */
bool
exact_every_kind(rank_self *self, rondo_comm *comm, const call *like,
                 const exact_areas *at);

#endif /* LIB_EXACT_H */
