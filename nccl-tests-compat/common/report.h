/* report.h - what rank 0 tells: the table on stdout and, with -J, a JSON file. */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

#include "common/job.h"

/* One rank as the header lists it. */
typedef struct perf_device {
    uint32_t rank;
    uint32_t pid;
    uint32_t device; /* number of the rank on its machine */
    char host[64];
    char processor[96];
} perf_device;

typedef struct perf_check {
    bool done;              /* false: "N/A" */
    uint64_t wrong;         /* elements, of all ranks */
    uint64_t wrong_threads; /* that saw any */
} perf_check;

/* What one half of a row reached. */
typedef struct perf_half {
    double seconds;
    double cpu_seconds;
    double algorithm_bandwidth; /* GB/s */
    double bus_bandwidth;
    perf_check check;
} perf_half;

typedef struct perf_report perf_report;

/* perf_report_open - creates the JSON file too, so that it is known before the
 * measurement whether it can be. Null: said and remembered already. */
perf_report *
perf_report_open(perf_job *job, int argc, char **argv);

/* perf_report_header - `devices` of all ranks. */
void
perf_report_header(perf_report *report, const perf_device *devices);

/* perf_report_row - begins a row; `root` is -1 where there is none. */
void
perf_report_row(perf_report *report, uint64_t bytes, uint64_t count, const char *dtype,
                const char *op, int64_t root);

/* perf_report_half - out of place first, then in place. */
void
perf_report_half(perf_report *report, bool in_place, const perf_half *half);

/* perf_report_samples - the -I columns of the half told last: seconds of each
 * iteration, for each rank in turn. False: out of memory. */
bool
perf_report_samples(perf_report *report, bool in_place, const double *samples);

/* perf_report_row_end - prints it. */
void
perf_report_row_end(perf_report *report);

/* perf_report_footer - the sums; remembers PERF_EXIT_WRONG if they are bad. */
void
perf_report_footer(perf_report *report);

/* perf_report_memory - -M; bytes of this process. */
void
perf_report_memory(perf_report *report, uint64_t library_bytes, uint64_t buffer_bytes);

/* perf_report_close - writes the JSON file, also after a failure, and frees. Null is
 * allowed. */
void
perf_report_close(perf_report *report);

#endif /* PERF_REPORT_H */
