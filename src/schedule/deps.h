/* deps.h - which steps must wait for which, read off overlapping slices. */
#ifndef SCHEDULE_DEPS_H
#define SCHEDULE_DEPS_H

#include "schedule/schedule.h"

/* What the builder remembers of the steps so far. */
typedef struct rondo_deps rondo_deps;

RONDO_MUST_USE rondo_status
rondo_deps_create(const rondo_coll *coll, rondo_deps **deps);

/* rondo_deps_destroy - null is allowed. */
void
rondo_deps_destroy(rondo_deps *deps);

/* rondo_deps_add - derive what step `index`, the newest, needs; append it to the
 * schedule's needs, and keep the readers of receives up to date. */
RONDO_MUST_USE rondo_status
rondo_deps_add(rondo_deps *deps, rondo_schedule *schedule, uint64_t index);

#endif /* SCHEDULE_DEPS_H */
