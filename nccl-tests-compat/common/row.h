/* row.h - one row of the table: an operation of one size, out of place and in place. */
#ifndef PERF_ROW_H
#define PERF_ROW_H

#include "common/job.h"
#include "common/values.h"

/* What the rows of one sweep have in common. */
typedef struct perf_case {
    rondo_dtype dtype;
    rondo_op op;   /* of collectives that have one */
    uint32_t root; /* likewise */
} perf_case;

/* perf_row_bytes - the size column: the larger buffer, after rounding. */
uint64_t
perf_row_bytes(const perf_counts *counts, rondo_dtype dtype);

/* perf_row_warm_up - `size` bytes, as often as -w says. */
rondo_status
perf_row_warm_up(perf_thread *thread, perf_case which, uint64_t size);

/* perf_row_run - both halves, timed, verified and reported. `serial` counts the rows,
 * so that each has inputs of its own. */
rondo_status
perf_row_run(perf_thread *thread, perf_case which, uint64_t size, uint32_t serial);

#endif /* PERF_ROW_H */
