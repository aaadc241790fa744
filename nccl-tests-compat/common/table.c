/* table.c - columns that the parsers of nccl-tests' output understand. */
#include "common/table.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* The version whose flags and layout these are. */
#define LAYOUT_VERSION "2.19.6"

#define TIME_WIDTH      7
#define BANDWIDTH_WIDTH 6
#define TIMESTAMP_WIDTH 19

void
perf_fit(double value, int width, char *text, size_t text_size)
{
    const double shown = isfinite(value) ? value : 0.0;
    for (int decimals = 2; decimals >= 0; decimals--) {
        if (snprintf(text, text_size, "%*.*f", width, decimals, shown) <= width) {
            return;
        }
    }
    /* "1e+08" needs five columns, "1.2e+08" seven. */
    snprintf(text, text_size, "%*.*e", width, width >= TIME_WIDTH ? 1 : 0, shown);
}

static void
print_settings(const perf_job *job)
{
    const perf_options *o = job->options;
    const bool multiplied = o->sweep.factor > 1;
    printf("# nccl-tests-compat version " LAYOUT_VERSION
           " rondo-headers=%d rondo-library=%u\n",
           RONDO_VERSION, rondo_version());
    printf("# Collective test starting: %s\n", job->collective->program);
    printf("# nThread %u nGpus %u minBytes %llu maxBytes %llu step: %llu(%s) warmup "
           "iters: %u iters: %u agg iters: %u validation: %u graph: 0 unalign: %u\n",
           o->threads, o->ranks_per_thread, (unsigned long long)o->sweep.least,
           (unsigned long long)o->sweep.most,
           (unsigned long long)(multiplied ? o->sweep.factor : o->sweep.step),
           multiplied ? "factor" : "bytes", o->warmup_iterations, o->iterations,
           o->aggregated, o->checks, o->unalign);
    static const char *const blocking[] = {
        [PERF_BLOCKING_BARRIER] = "wait and barrier after each inner iteration (-m)",
        [PERF_BLOCKING_WAIT] = "wait after each inner iteration (-m), no barrier",
        [PERF_BLOCKING_BARRIER_AFTER] =
            "wait and barrier after each outer iteration (-n); time excludes barrier"};
    if (o->blocking != PERF_BLOCKING_OFF) {
        printf("# Blocking Enabled: %s \n", blocking[o->blocking]);
    }
    if (o->per_iteration != 0) {
        printf("# Per-Iteration Report: clock of each rank; i_* uses max over process "
               "rows");
        if (o->per_iteration_skip > 0) {
            printf("; summary skips first %u iterations", o->per_iteration_skip);
        }
        printf(" \n");
    }
    if (o->parallel_init != 0) {
        printf("# Parallel Init Enabled: threads make their communicators "
               "concurrently \n");
    }
    if (o->walk != 0) {
        printf(
            "# Walk Enabled: each operation uses the next stretch of the buffers \n");
    }
    printf("#\n");
}

static void
print_devices(const perf_job *job, const perf_device *devices)
{
    printf("# Using devices\n");
    for (uint32_t i = 0; i < job->nranks; i++) {
        const perf_device *one = &devices[i];
        printf("#  Rank %2u Group %2d Pid %6u on %10s device %2u [0000:00:00] %s\n",
               one->rank, 0, one->pid, one->host, one->device, one->processor);
    }
}

/* One half's titles; with -I four more. */
static void
print_titles(const perf_options *options, const char *time_title, bool units)
{
    static const char *const names[] = {"i_min", "i_max", "i_p99", "i_cv%"};
    static const char *const measures[] = {"(us)", "(us)", "(us)", "(%)"};
    printf("  %7s  %6s  %6s  %6s", units ? "(us)" : time_title,
           units ? "(GB/s)" : "algbw", units ? "(GB/s)" : "busbw",
           units ? "" : "#wrong");
    for (int i = 0; options->per_iteration != 0 && i < 4; i++) {
        printf("  %7s", units ? measures[i] : names[i]);
    }
}

static void
print_columns(const perf_options *options)
{
    const char *time_title = options->cpu_time != 0 ? "cputime" : "time";
    const bool stamped = options->timestamps != 0;
    printf("#\n# %10s  %12s  %8s  %6s  %6s", "", "", "", "", "");
    printf(options->per_iteration != 0
               ? "              out-of-place (+ per-iteration)"
                 "                                in-place (+ per-iteration)\n"
               : "           out-of-place                       in-place          \n");
    printf("# %10s  %12s  %8s  %6s  %6s", "size", "count", "type", "redop", "root");
    print_titles(options, time_title, false);
    print_titles(options, time_title, false);
    printf(" %*s\n", stamped ? TIMESTAMP_WIDTH : 0, stamped ? "timestamp" : "");
    printf("# %10s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    print_titles(options, time_title, true);
    print_titles(options, time_title, true);
    printf(" %*s\n", stamped ? TIMESTAMP_WIDTH : 0, stamped ? "%Y-%m-%d %H:%M:%S" : "");
}

void
perf_table_header(const perf_job *job, const perf_device *devices)
{
    print_settings(job);
    print_devices(job, devices);
    print_columns(job->options);
}

void
perf_table_row(uint64_t bytes, uint64_t count, const char *dtype, const char *op,
               int64_t root)
{
    printf("%12llu  %12llu  %8s  %6s  %6lld", (unsigned long long)bytes,
           (unsigned long long)count, dtype, op, (long long)root);
}

void
perf_table_half(double microseconds, const perf_half *half)
{
    char time[32];
    char algorithm[32];
    char bus[32];
    perf_fit(microseconds, TIME_WIDTH, time, sizeof(time));
    perf_fit(half->algorithm_bandwidth, BANDWIDTH_WIDTH, algorithm, sizeof(algorithm));
    perf_fit(half->bus_bandwidth, BANDWIDTH_WIDTH, bus, sizeof(bus));
    printf("  %7s  %6s  %6s", time, algorithm, bus);
    if (half->check.done) {
        printf("  %6g", (double)half->check.wrong);
    } else {
        printf("    N/A");
    }
}

void
perf_table_samples(const perf_summary *summary)
{
    const double columns[] = {summary->least * 1e6, summary->most * 1e6,
                              summary->p99 * 1e6, summary->variation};
    for (int i = 0; i < 4; i++) {
        char text[32];
        perf_fit(columns[i], TIME_WIDTH, text, sizeof(text));
        printf("  %7s", text);
    }
}

void
perf_table_row_end(const perf_options *options)
{
    if (options->timestamps != 0) {
        char text[64] = "";
        struct tm fields;
        const time_t now = time(NULL);
        if (localtime_r(&now, &fields) != NULL) {
            strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &fields);
        }
        printf("%21s", text);
    }
    printf("\n");
}

void
perf_table_footer(const perf_job *job, uint64_t errors, double bandwidth,
                  const char *verdict)
{
    printf("# %-20s : %llu %s\n", "Out of bounds values", (unsigned long long)errors,
           errors > 0 ? "FAILED" : "OK");
    printf("# %-20s : %g %s\n", "Avg bus bandwidth", bandwidth, verdict);
    printf("#\n# Collective test concluded: %s\n", job->collective->program);
}

/* nccl-tests' units: powers of 1024 under their short names. */
static void
print_memory(const char *name, uint64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    double amount = (double)bytes;
    int unit = 0;
    while (amount >= 1024.0 && unit < 3) {
        amount /= 1024.0;
        unit++;
    }
    printf("%s %.*f %s ", name,
           amount < 10.0    ? 2
           : amount < 100.0 ? 1
                            : 0,
           amount, units[unit]);
}

void
perf_table_memory(uint64_t library_bytes, uint64_t buffer_bytes)
{
    printf("# %-20s : ", "Memory usage");
    print_memory("Initialization", library_bytes);
    print_memory("| User-Allocated", buffer_bytes);
    print_memory("| Total ", library_bytes + buffer_bytes);
    printf("\n");
}

void
perf_table_end(const char *error)
{
    printf("#\n");
    if (error[0] != '\0') {
        printf("# error: %s\n", error);
    } else {
        printf("\n");
    }
}
