/* verify.h - fills the buffers of a row and counts what came out wrong. */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include "common/job.h"
#include "common/report.h"

/* perf_verify_fill - inputs drawn from `seed` where the prepared calls read them. */
void
perf_verify_fill(perf_thread *thread, const perf_counts *counts, bool in_place,
                 uint32_t seed);

/* perf_verify - as many operations as -c says, each with new inputs; stops at the first
 * that is wrong on any rank. Fills `check`, equal on all ranks. */
rondo_status
perf_verify(perf_thread *thread, const perf_counts *counts, bool in_place,
            uint32_t serial, perf_check *check);

#endif /* PERF_VERIFY_H */
