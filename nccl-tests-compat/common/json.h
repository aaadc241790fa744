/* json.h - the -J file: nccl-tests' version 3. */
#ifndef PERF_JSON_H
#define PERF_JSON_H

#include "common/report.h"
#include "common/samples.h"

typedef struct perf_json perf_json;

/* perf_json_open - creates `path`, or `path`.0, .1 ... if it exists. Null: not
 * possible, `error` says why. */
perf_json *
perf_json_open(const char *path, int argc, char **argv, char *error, size_t error_size);

/* perf_json_config - settings and ranks. */
void
perf_json_config(perf_json *json, const perf_job *job, const perf_device *devices);

/* perf_json_row, _half, _samples, _row_end - like those of report.h. */
void
perf_json_row(perf_json *json, uint64_t bytes, uint64_t count, const char *dtype,
              const char *op, int64_t root);
void
perf_json_half(perf_json *json, const char *name, bool cpu_time, const perf_half *half);
void
perf_json_samples(perf_json *json, const char *name, const perf_summary *summary,
                  const perf_samples *samples);
void
perf_json_row_end(perf_json *json, uint32_t iterations);

/* perf_json_footer - `least` is negative when no bandwidth was asked for. */
void
perf_json_footer(perf_json *json, uint64_t errors, double bandwidth, double least);

/* perf_json_close - write and free; false: not everything could be written. */
bool
perf_json_close(perf_json *json, const char *error);

#endif /* PERF_JSON_H */
