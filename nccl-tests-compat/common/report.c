/* report.c - keeps the sums and passes everything to the table and the JSON file. */
#include "common/report.h"

#include "common/failure.h"
#include "common/json.h"
#include "common/samples.h"
#include "common/table.h"

#include <stdio.h>
#include <stdlib.h>

/* nccl-tests lets a bandwidth be a tenth below what NCCL_TESTS_MIN_BW asks. */
#define BANDWIDTH_TOLERANCE 0.9

struct perf_report {
    perf_job *job;
    perf_json *json; /* null without -J */
    double bandwidth_sum;
    uint64_t half_count;
    uint64_t errors;
};

perf_report *
perf_report_open(perf_job *job, int argc, char **argv)
{
    perf_report *report = calloc(1, sizeof(*report));
    if (report == NULL) {
        (void)!perf_refuse(job, PERF_EXIT_SYSTEM, "out of memory");
        return NULL;
    }
    report->job = job;
    if (job->options->output_file == NULL) {
        return report;
    }
    char error[512];
    report->json =
        perf_json_open(job->options->output_file, argc, argv, error, sizeof(error));
    if (report->json == NULL) {
        (void)!perf_refuse(job, PERF_EXIT_SYSTEM, "-J: %s", error);
        free(report);
        return NULL;
    }
    return report;
}

void
perf_report_header(perf_report *report, const perf_device *devices)
{
    perf_table_header(report->job, devices);
    if (report->json != NULL) {
        perf_json_config(report->json, report->job, devices);
    }
}

void
perf_report_row(perf_report *report, uint64_t bytes, uint64_t count, const char *dtype,
                const char *op, int64_t root)
{
    perf_table_row(bytes, count, dtype, op, root);
    if (report->json != NULL) {
        perf_json_row(report->json, bytes, count, dtype, op, root);
    }
}

void
perf_report_half(perf_report *report, bool in_place, const perf_half *half)
{
    const bool cpu_time = report->job->options->cpu_time != 0;
    perf_table_half((cpu_time ? half->cpu_seconds : half->seconds) * 1e6, half);
    report->bandwidth_sum += half->bus_bandwidth;
    report->half_count++;
    report->errors += half->check.wrong_threads;
    if (report->json != NULL) {
        perf_json_half(report->json, in_place ? "in_place" : "out_of_place", cpu_time,
                       half);
    }
}

/* Per process and iteration the slowest of its ranks. */
static void
slowest_of_each_process(const perf_job *job, const double *samples, double *rows)
{
    const uint32_t count = job->options->iterations;
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        double *row = rows + (size_t)(rank / job->local_count) * count;
        const double *own = samples + (size_t)rank * count;
        const bool first = rank % job->local_count == 0;
        for (uint32_t i = 0; i < count; i++) {
            row[i] = first || own[i] > row[i] ? own[i] : row[i];
        }
    }
}

static void
slowest_of_all(const perf_job *job, const double *rows, double *slowest)
{
    const uint32_t count = job->options->iterations;
    for (uint32_t i = 0; i < count; i++) {
        slowest[i] = rows[i];
        for (uint32_t p = 1; p < job->processes; p++) {
            const double other = rows[(size_t)p * count + i];
            slowest[i] = other > slowest[i] ? other : slowest[i];
        }
    }
}

bool
perf_report_samples(perf_report *report, bool in_place, const double *samples)
{
    const perf_job *job = report->job;
    const uint32_t count = job->options->iterations;
    const uint32_t skipped = job->options->per_iteration_skip;
    double *rows = calloc((size_t)(job->processes + 1) * count, sizeof(double));
    if (rows == NULL) {
        return false;
    }
    double *slowest = rows + (size_t)job->processes * count;
    slowest_of_each_process(job, samples, rows);
    slowest_of_all(job, rows, slowest);
    perf_summary summary;
    const bool summed = perf_summarise(slowest + skipped, count - skipped, &summary);
    if (summed) {
        perf_table_samples(&summary);
    }
    if (summed && report->json != NULL) {
        const perf_samples told = {.count = count,
                                   .skipped = skipped,
                                   .processes = job->processes,
                                   .slowest = slowest,
                                   .rows = rows};
        perf_json_samples(report->json,
                          in_place ? "in_place_per_iter" : "out_of_place_per_iter",
                          &summary, &told);
    }
    free(rows);
    return summed;
}

void
perf_report_row_end(perf_report *report)
{
    perf_table_row_end(report->job->options);
    if (report->json != NULL) {
        perf_json_row_end(report->json, report->job->options->iterations);
    }
}

void
perf_report_footer(perf_report *report)
{
    const double least = report->job->options->bandwidth_least;
    const double mean = report->half_count > 0
                            ? report->bandwidth_sum / (double)report->half_count
                            : 0.0;
    const bool slow = least >= 0.0 && mean < least * BANDWIDTH_TOLERANCE;
    perf_table_footer(report->job, report->errors, mean,
                      least < 0.0 ? ""
                      : slow      ? "FAILED"
                                  : "OK");
    if (report->json != NULL) {
        perf_json_footer(report->json, report->errors, mean, least);
    }
    if (report->errors > 0 || slow) {
        perf_remember(report->job, PERF_EXIT_WRONG);
    }
}

void
perf_report_memory(perf_report *report, uint64_t library_bytes, uint64_t buffer_bytes)
{
    (void)report;
    perf_table_memory(library_bytes, buffer_bytes);
}

void
perf_report_close(perf_report *report)
{
    if (report == NULL) {
        return;
    }
    const char *error = rondo_error_text();
    perf_table_end(error);
    if (report->json != NULL && !perf_json_close(report->json, error)) {
        (void)!perf_refuse(report->job, PERF_EXIT_SYSTEM,
                           "-J: the file could not be written");
    }
    free(report);
}
