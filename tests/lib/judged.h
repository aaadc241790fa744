/* judged.h - runs one job by every row of the table and judges each element that comes
 * out, by a rule of the test's own. */
#ifndef LIB_JUDGED_H
#define LIB_JUDGED_H

#include "lib/gang.h"

/* Checks the bits of element `at` of the result of `rank`. */
typedef void (*judge)(const gang_job *job, uint32_t rank, uint64_t at, uint64_t bits);

/* judged_by_every_row - by every row for `kind`; the row of `job` is not looked at. */
void
judged_by_every_row(gang_job job, rondo_coll_kind kind, gang_value value, judge judges);

/* judged_by_every_reduction - all-reduce, reduce and reduce-scatter. */
void
judged_by_every_reduction(gang_job job, gang_value value, judge judges);

#endif /* LIB_JUDGED_H */
