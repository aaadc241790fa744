/* table.h - the text on stdout, as nccl-tests lays it out. */
#ifndef PERF_TABLE_H
#define PERF_TABLE_H

#include "common/report.h"
#include "common/samples.h"

/* perf_table_header - settings and ranks, then the titles of the columns. */
void
perf_table_header(const perf_job *job, const perf_device *devices);

/* perf_table_row - size, count, type, operator, root. */
void
perf_table_row(uint64_t bytes, uint64_t count, const char *dtype, const char *op,
               int64_t root);

/* perf_table_half - time (us), bandwidths, wrong elements. */
void
perf_table_half(double microseconds, const perf_half *half);

/* perf_table_samples - the -I columns. */
void
perf_table_samples(const perf_summary *summary);

/* perf_table_row_end - the line's end, after the time of day with -S. */
void
perf_table_row_end(const perf_options *options);

/* perf_table_footer - the two sums. */
void
perf_table_footer(const perf_job *job, uint64_t errors, double bandwidth,
                  const char *verdict);

/* perf_table_memory - -M. */
void
perf_table_memory(uint64_t library_bytes, uint64_t buffer_bytes);

/* perf_table_end - the last lines. */
void
perf_table_end(const char *error);

/* perf_fit - `value` in at most `width` columns, with as many decimals as fit. */
void
perf_fit(double value, int width, char *text, size_t text_size);

#endif /* PERF_TABLE_H */
