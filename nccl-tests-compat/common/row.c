/* row.c - prepares the calls of a row, has them timed and verified, and reported. */
#include "common/row.h"

#include "common/failure.h"
#include "common/group.h"
#include "common/names.h"
#include "common/report.h"
#include "common/timing.h"
#include "common/verify.h"

#include <stdlib.h>

/* Inputs while the clock runs; each verification has others. */
#define TIMED_SEED 99u

uint64_t
perf_row_bytes(const perf_counts *counts, rondo_dtype dtype)
{
    const uint64_t most = counts->send > counts->recv ? counts->send : counts->recv;
    return most * rondo_dtype_bytes(dtype);
}

static perf_counts
counts_of(const perf_thread *thread, perf_case which, uint64_t size)
{
    perf_counts counts;
    const size_t width = rondo_dtype_bytes(which.dtype);
    thread->job->collective->counts(size / width, width, thread->job->nranks, &counts);
    return counts;
}

static void
prepare_calls(perf_thread *thread, perf_case which, const perf_counts *counts,
              bool in_place)
{
    const perf_job *job = thread->job;
    const size_t width = rondo_dtype_bytes(which.dtype);
    const uint64_t shift = job->options->unalign * width;
    for (uint32_t i = 0; i < thread->count; i++) {
        perf_rank *rank = &thread->ranks[i];
        rank->in = rank->send + shift;
        rank->out = rank->recv + shift;
        if (in_place) {
            rank->in = rank->recv + shift + rank->rank * counts->send_step * width;
            rank->out = rank->recv + shift + rank->rank * counts->recv_step * width;
        }
        rank->call = (perf_call){.comm = rank->comm,
                                 .in = rank->in,
                                 .out = rank->out,
                                 .count = counts->call,
                                 .dtype = which.dtype,
                                 .op = which.op,
                                 .root = which.root,
                                 .rank = rank->rank,
                                 .nranks = job->nranks};
    }
}

static perf_walk
walk_of(const perf_options *options, uint64_t row_bytes)
{
    perf_walk walk = {.bytes = row_bytes, .steps = 1};
    if (options->walk != 0 && row_bytes > 0) {
        walk.steps = options->sweep.most / row_bytes;
    }
    return walk;
}

/* -a: one time out of all ranks'. */
static double
combine(const double *times, uint32_t nranks, uint32_t average)
{
    double sum = 0.0;
    double least = times[0];
    double most = times[0];
    for (uint32_t i = 0; i < nranks; i++) {
        sum += times[i];
        least = times[i] < least ? times[i] : least;
        most = times[i] > most ? times[i] : most;
    }
    switch (average) {
    case PERF_AVERAGE_RANK0:
        return times[0];
    case PERF_AVERAGE_MIN:
        return least;
    case PERF_AVERAGE_MAX:
        return most;
    default:
        return sum / nranks;
    }
}

/* The thread's value for each of its ranks, gathered and made one. */
static rondo_status
combine_over_ranks(perf_thread *thread, double own, double *combined)
{
    double *mine = calloc(thread->count, sizeof(double));
    if (mine == NULL) {
        return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    for (uint32_t i = 0; i < thread->count; i++) {
        mine[i] = own;
    }
    const void *all = NULL;
    const rondo_status status = perf_gather(thread, mine, sizeof(double), &all);
    free(mine);
    if (status == RONDO_OK) {
        *combined = combine(all, thread->job->nranks, thread->job->options->average);
    }
    return status;
}

/* -I: everybody's samples go to the report. */
static rondo_status
report_samples(perf_thread *thread, bool in_place, const double *own)
{
    const uint32_t iterations = thread->job->options->iterations;
    const size_t bytes = iterations * sizeof(double);
    double *mine = malloc(bytes * thread->count);
    if (mine == NULL) {
        return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    for (uint32_t i = 0; i < thread->count; i++) {
        for (uint32_t k = 0; k < iterations; k++) {
            mine[(size_t)i * iterations + k] = own[k];
        }
    }
    const void *all = NULL;
    rondo_status status = perf_gather(thread, mine, bytes, &all);
    free(mine);
    if (status == RONDO_OK && perf_is_first(thread) &&
        !perf_report_samples(thread->job->report, in_place, all)) {
        status = perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
    }
    return status;
}

/* Times one half of a row; `samples` is null without -I. */
static rondo_status
time_half(perf_thread *thread, uint64_t row_bytes, double *samples, perf_half *half)
{
    const perf_job *job = thread->job;
    /* Whatever the first operation of its kind has to set up is not timed. */
    rondo_status status = perf_warm_up(thread, 1);
    if (status == RONDO_OK) {
        status = perf_barrier(thread);
    }
    perf_timing timing = {0};
    if (status == RONDO_OK) {
        status = perf_time(thread, walk_of(job->options, row_bytes), samples, &timing);
    }
    perf_progress(thread);
    if (status == RONDO_OK) {
        status = combine_over_ranks(thread, timing.seconds, &half->seconds);
    }
    if (status == RONDO_OK && job->options->cpu_time != 0) {
        status = combine_over_ranks(thread, timing.cpu_seconds, &half->cpu_seconds);
    }
    return status;
}

/* Zero elements take some time but move nothing: 0.00, never nan or inf. */
static void
find_bandwidth(const perf_thread *thread, uint64_t call_bytes, perf_half *half)
{
    const perf_collective *collective = thread->job->collective;
    const uint32_t nranks = thread->job->nranks;
    const double moved = (double)call_bytes * collective->algorithm_factor(nranks);
    half->algorithm_bandwidth =
        half->seconds > 0.0 ? moved / 1.0e9 / half->seconds : 0.0;
    half->bus_bandwidth = half->algorithm_bandwidth * collective->bus_factor(nranks);
}

static rondo_status
run_half(perf_thread *thread, perf_case which, const perf_counts *counts,
         uint32_t serial, bool in_place)
{
    const perf_job *job = thread->job;
    const perf_options *options = job->options;
    const uint64_t row_bytes = perf_row_bytes(counts, which.dtype);
    prepare_calls(thread, which, counts, in_place);
    if (options->checks > 0) {
        perf_verify_fill(thread, counts, in_place, TIMED_SEED);
    }
    perf_half half = {0};
    double *samples = NULL;
    if (options->per_iteration != 0) {
        samples = calloc(options->iterations, sizeof(double));
        if (samples == NULL) {
            return perf_refuse(thread->job, PERF_EXIT_SYSTEM, "out of memory");
        }
    }
    rondo_status status = time_half(thread, row_bytes, samples, &half);
    if (status == RONDO_OK) {
        find_bandwidth(thread, counts->call * rondo_dtype_bytes(which.dtype), &half);
        status = perf_verify(thread, counts, in_place, serial, &half.check);
    }
    if (status == RONDO_OK && perf_is_first(thread)) {
        perf_report_half(job->report, in_place, &half);
    }
    if (status == RONDO_OK && samples != NULL) {
        status = report_samples(thread, in_place, samples);
    }
    free(samples);
    perf_progress(thread);
    return status;
}

rondo_status
perf_row_warm_up(perf_thread *thread, perf_case which, uint64_t size)
{
    const perf_counts counts = counts_of(thread, which, size);
    prepare_calls(thread, which, &counts, false);
    const rondo_status status =
        perf_warm_up(thread, thread->job->options->warmup_iterations);
    perf_progress(thread);
    return status;
}

rondo_status
perf_row_run(perf_thread *thread, perf_case which, uint64_t size, uint32_t serial)
{
    const perf_job *job = thread->job;
    const perf_counts counts = counts_of(thread, which, size);
    if (perf_is_first(thread)) {
        perf_report_row(job->report, perf_row_bytes(&counts, which.dtype), counts.call,
                        perf_dtype_name(which.dtype),
                        job->collective->has_op ? perf_op_name(which.op) : "none",
                        job->collective->has_root ? (int64_t)which.root : -1);
    }
    rondo_status status = run_half(thread, which, &counts, serial, false);
    if (status == RONDO_OK) {
        status = run_half(thread, which, &counts, serial, true);
    }
    if (status == RONDO_OK && perf_is_first(thread)) {
        perf_report_row_end(job->report);
    }
    return status;
}
