/* timing.c - the loops between two looks at the clock. */
#include "common/timing.h"

#include "common/failure.h"
#include "common/group.h"
#include "common/machine.h"

/* The place of operation `k` in the buffers. */
static void
move_to(perf_thread *thread, perf_walk walk, uint64_t k)
{
    const uint64_t shift = k % walk.steps * walk.bytes;
    for (uint32_t i = 0; i < thread->count; i++) {
        perf_rank *rank = &thread->ranks[i];
        rank->call.in = rank->in + shift;
        rank->call.out = rank->out + shift;
    }
}

/* The usual case; a function call and a counter are all that is added. */
static rondo_status
repeat(perf_thread *thread, uint32_t times)
{
    perf_rank *rank = &thread->ranks[0];
    rondo_status (*const run)(const perf_call *) = thread->job->collective->run;
    for (uint32_t i = 0; i < times; i++) {
        const rondo_status status = run(&rank->call);
        if (status != RONDO_OK) {
            return PERF_FAILED(thread->job, rank->comm, status);
        }
    }
    return RONDO_OK;
}

static rondo_status
repeat_walking(perf_thread *thread, perf_walk walk, uint32_t times)
{
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; status == RONDO_OK && i < times; i++) {
        move_to(thread, walk, i);
        status = repeat(thread, 1);
    }
    return status;
}

/* One iteration: -m operations, together or, with -z 1 or 2, one after another. */
static rondo_status
iterate(perf_thread *thread)
{
    const perf_options *options = thread->job->options;
    const bool alone = options->blocking == PERF_BLOCKING_BARRIER ||
                       options->blocking == PERF_BLOCKING_WAIT;
    if (!alone && options->aggregated > 1) {
        return perf_operate_together(thread, options->aggregated);
    }
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; status == RONDO_OK && i < options->aggregated; i++) {
        status = perf_operate(thread);
        if (status == RONDO_OK && options->blocking == PERF_BLOCKING_BARRIER) {
            status = perf_barrier(thread);
        }
    }
    return status;
}

/* Everything but the usual case. `inside_ns` is the time without the barriers of
 * -z 3. */
static rondo_status
repeat_in_full(perf_thread *thread, perf_walk walk, double *samples,
               uint64_t *inside_ns)
{
    const perf_options *options = thread->job->options;
    const bool apart = options->blocking == PERF_BLOCKING_BARRIER_AFTER;
    const bool watched = apart || samples != NULL;
    *inside_ns = 0;
    for (uint32_t i = 0; i < options->iterations; i++) {
        if (walk.steps > 1) {
            move_to(thread, walk, i);
        }
        const uint64_t start_ns = watched ? perf_now_ns() : 0;
        rondo_status status = iterate(thread);
        if (watched) {
            const uint64_t spent_ns = perf_now_ns() - start_ns;
            *inside_ns += spent_ns;
            if (samples != NULL) {
                samples[i] = (double)spent_ns * 1e-9 / options->aggregated;
            }
        }
        if (status == RONDO_OK && apart) {
            status = perf_barrier(thread);
        }
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

static rondo_status
run_loop(perf_thread *thread, perf_walk walk, double *samples, uint64_t *inside_ns)
{
    const perf_options *options = thread->job->options;
    const bool usual = thread->count == 1 && options->aggregated == 1 &&
                       samples == NULL &&
                       (options->blocking == PERF_BLOCKING_OFF ||
                        options->blocking == PERF_BLOCKING_WAIT);
    if (usual && walk.steps == 1) {
        return repeat(thread, options->iterations);
    }
    if (usual) {
        return repeat_walking(thread, walk, options->iterations);
    }
    return repeat_in_full(thread, walk, samples, inside_ns);
}

rondo_status
perf_time(perf_thread *thread, perf_walk walk, double *samples, perf_timing *timing)
{
    const perf_options *options = thread->job->options;
    const double operations = (double)options->iterations * options->aggregated;
    uint64_t inside_ns = 0;
    const uint64_t cpu_start_ns = options->cpu_time != 0 ? perf_thread_cpu_ns() : 0;
    const uint64_t start_ns = perf_now_ns();
    const rondo_status status = run_loop(thread, walk, samples, &inside_ns);
    const uint64_t whole_ns = perf_now_ns() - start_ns;
    const uint64_t cpu_ns =
        options->cpu_time != 0 ? perf_thread_cpu_ns() - cpu_start_ns : 0;
    const uint64_t timed_ns =
        options->blocking == PERF_BLOCKING_BARRIER_AFTER ? inside_ns : whole_ns;
    move_to(thread, walk, 0);
    timing->seconds = (double)timed_ns * 1e-9 / operations;
    timing->cpu_seconds = (double)cpu_ns * 1e-9 / operations;
    return status;
}

rondo_status
perf_warm_up(perf_thread *thread, uint32_t times)
{
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; status == RONDO_OK && i < times; i++) {
        status = perf_operate(thread);
    }
    return status;
}
