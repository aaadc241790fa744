/* schedule.c - the builder: appends steps, keeps the status sticky. */
#include "schedule/schedule.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "schedule/deps.h"
#include "schedule/frame.h"
#include "schedule/text.h"

static rondo_status
check_coll(const rondo_coll *coll)
{
    uint64_t bytes = 0;

    if ((uint32_t)coll->kind >= RONDO_COLLS) {
        return rondo_error(RONDO_ERR_ARG, "%d is not a collective", (int)coll->kind);
    }
    if (coll->nranks == 0 || coll->nranks == RONDO_OWN) {
        return rondo_error(RONDO_ERR_ARG, "%u is not a number of ranks", coll->nranks);
    }
    if (coll->rank >= coll->nranks) {
        return rondo_error(RONDO_ERR_ARG, "rank %u is not one of %u", coll->rank,
                           coll->nranks);
    }
    if (coll->root >= coll->nranks) {
        return rondo_error(RONDO_ERR_ARG, "root %u is not one of the %u ranks",
                           coll->root, coll->nranks);
    }
    if ((uint32_t)coll->inner >= RONDO_SHAPES ||
        (uint32_t)coll->outer >= RONDO_SHAPES) {
        return rondo_error(RONDO_ERR_ARG, "a shape that does not exist");
    }
    if (coll->levels != NULL && coll->levels->nranks != coll->nranks) {
        return rondo_error(RONDO_ERR_ARG, "levels of %u ranks for %u",
                           coll->levels->nranks, coll->nranks);
    }
    return rondo_size(coll->count, coll->nranks, &bytes);
}

rondo_status
rondo_schedule_bare(const rondo_coll *coll, rondo_schedule **schedule)
{
    void *memory = NULL;
    rondo_status status = check_coll(coll);

    if (status == RONDO_OK) {
        status = rondo_alloc_zero(sizeof(rondo_schedule), &memory);
    }
    if (status != RONDO_OK) {
        return status;
    }
    *schedule = memory;
    (*schedule)->coll = *coll;
    return RONDO_OK;
}

rondo_status
rondo_schedule_create(const rondo_coll *coll, rondo_schedule **schedule)
{
    rondo_schedule *made = NULL;
    rondo_status status = rondo_schedule_bare(coll, &made);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_deps_create(coll, &made->deps);
    if (status != RONDO_OK) {
        rondo_schedule_destroy(made);
        return status;
    }
    *schedule = made;
    return RONDO_OK;
}

rondo_status
rondo_schedule_seal(rondo_schedule *schedule)
{
    for (uint64_t index = 0; index < schedule->nsteps; index++) {
        rondo_step *const step = &schedule->steps[index];

        /* The builder kept this of every step that writes. */
        if (step->kind != RONDO_STEP_RECV || step->to.buffer != RONDO_BUF_SCRATCH ||
            step->reader >= schedule->nsteps) {
            step->reader = RONDO_NO_STEP;
        }
    }
    rondo_deps_destroy(schedule->deps);
    schedule->deps = NULL;
    return schedule->status;
}

void
rondo_schedule_destroy(rondo_schedule *schedule)
{
    if (schedule == NULL) {
        return;
    }
    rondo_deps_destroy(schedule->deps);
    rondo_levels_destroy(schedule->own_levels);
    rondo_free(schedule->needs);
    rondo_free(schedule->steps);
    rondo_free(schedule);
}

rondo_slice
rondo_slice_make(rondo_buffer buffer, uint64_t first, uint64_t count)
{
    return rondo_slice_of(RONDO_OWN, buffer, first, count);
}

rondo_slice
rondo_slice_of(uint32_t owner, rondo_buffer buffer, uint64_t first, uint64_t count)
{
    return (rondo_slice){
        .first = first, .count = count, .owner = owner, .buffer = buffer};
}

rondo_slice
rondo_slice_part(rondo_slice slice, uint64_t at, uint64_t count)
{
    RONDO_ASSERT(at <= slice.count);
    RONDO_ASSERT(count <= slice.count - at);
    slice.first += at;
    slice.count = count;
    return slice;
}

/* A fresh run of a buffer that grows with the schedule. */
static rondo_slice
fresh(rondo_schedule *schedule, uint64_t *used, rondo_buffer buffer, uint64_t count)
{
    const rondo_slice slice = rondo_slice_make(buffer, *used, count);

    if (schedule->status == RONDO_OK && __builtin_add_overflow(*used, count, used)) {
        schedule->status = rondo_error(RONDO_ERR_ARG, "scratch of %llu elements more",
                                       (unsigned long long)count);
    }
    return slice;
}

/* Out of the scratch that a frame was given. */
static rondo_slice
again(rondo_schedule *schedule, uint64_t count)
{
    const rondo_slice window = schedule->frame.scratch;
    const rondo_slice slice =
        rondo_slice_make(RONDO_BUF_SCRATCH, window.first + schedule->taken, count);

    if (schedule->status == RONDO_OK && count > window.count - schedule->taken) {
        schedule->status =
            rondo_error(RONDO_ERR_INTERNAL, "a frame takes more scratch than it has");
    }
    if (schedule->status == RONDO_OK) {
        schedule->taken += count;
    }
    return slice;
}

rondo_slice
rondo_schedule_scratch(rondo_schedule *schedule, uint64_t count)
{
    return schedule->framed && schedule->frame.scratch.count > 0
               ? again(schedule, count)
               : fresh(schedule, &schedule->scratch_count, RONDO_BUF_SCRATCH, count);
}

rondo_slice
rondo_schedule_wire(rondo_schedule *schedule, uint64_t count)
{
    return fresh(schedule, &schedule->wire_count, RONDO_BUF_WIRE, count);
}

/* One name for one memory, so that overlaps are seen: see the rules of schedule.h. */
static rondo_slice
named(const rondo_schedule *schedule, rondo_slice slice)
{
    return rondo_slice_canonical(
        &schedule->coll,
        schedule->framed ? rondo_frame_slice(&schedule->frame, slice) : slice);
}

static uint32_t
rank_of(const rondo_schedule *schedule, uint32_t peer)
{
    const uint32_t rank =
        schedule->framed ? rondo_frame_rank(&schedule->frame, peer) : peer;

    RONDO_ASSERT(rank < schedule->coll.nranks);
    RONDO_ASSERT(rank != schedule->coll.rank);
    return rank;
}

static bool
same(rondo_slice one, rondo_slice other)
{
    return one.first == other.first && one.count == other.count &&
           one.owner == other.owner && one.buffer == other.buffer;
}

static void
append(rondo_schedule *schedule, rondo_step step)
{
    RONDO_ASSERT(schedule->deps != NULL);
    if (schedule->status != RONDO_OK) {
        return;
    }
    rondo_status status =
        rondo_alloc_grow((void **)&schedule->steps, schedule->nsteps,
                         &schedule->steps_room, sizeof *schedule->steps);
    if (status == RONDO_OK) {
        schedule->steps[schedule->nsteps] = step;
        status = rondo_deps_add(schedule->deps, schedule, schedule->nsteps);
    }
    if (status == RONDO_OK) {
        schedule->nsteps++;
    }
    schedule->status = status;
}

/* Appends a step that computes `to` from `a` and, in a reduction, `b`. */
static void
append_local(rondo_schedule *schedule, rondo_step step)
{
    if (step.to.count == 0) {
        return;
    }
    step.to = named(schedule, step.to);
    step.a = named(schedule, step.a);
    if (step.kind == RONDO_STEP_REDUCE) {
        step.b = named(schedule, step.b);
    }
    if (step.kind == RONDO_STEP_COPY && same(step.to, step.a)) {
        return;
    }
    append(schedule, step);
}

void
rondo_schedule_send(rondo_schedule *schedule, uint32_t peer, rondo_slice from)
{
    if (from.count > 0) {
        append(schedule, (rondo_step){.kind = RONDO_STEP_SEND,
                                      .peer = rank_of(schedule, peer),
                                      .a = named(schedule, from)});
    }
}

void
rondo_schedule_recv(rondo_schedule *schedule, uint32_t peer, rondo_slice to)
{
    if (to.count > 0) {
        append(schedule, (rondo_step){.kind = RONDO_STEP_RECV,
                                      .peer = rank_of(schedule, peer),
                                      .to = named(schedule, to)});
    }
}

void
rondo_schedule_copy(rondo_schedule *schedule, rondo_slice to, rondo_slice from)
{
    RONDO_ASSERT(to.count == from.count);
    append_local(schedule, (rondo_step){.kind = RONDO_STEP_COPY, .to = to, .a = from});
}

void
rondo_schedule_reduce(rondo_schedule *schedule, rondo_slice to, rondo_slice a,
                      rondo_slice b)
{
    RONDO_ASSERT(to.count == a.count);
    RONDO_ASSERT(to.count == b.count);
    append_local(schedule,
                 (rondo_step){.kind = RONDO_STEP_REDUCE, .to = to, .a = a, .b = b});
}

void
rondo_schedule_reduce_final(rondo_schedule *schedule, rondo_slice to, rondo_slice a,
                            rondo_slice b)
{
    RONDO_ASSERT(to.count == a.count);
    RONDO_ASSERT(to.count == b.count);
    append_local(schedule,
                 (rondo_step){.kind = RONDO_STEP_REDUCE,
                              .final = !schedule->framed || !schedule->frame.partial,
                              .to = to,
                              .a = a,
                              .b = b});
}

void
rondo_schedule_encode(rondo_schedule *schedule, rondo_slice wire, rondo_slice from)
{
    RONDO_ASSERT(wire.buffer == RONDO_BUF_WIRE);
    RONDO_ASSERT(wire.count == from.count);
    append_local(schedule,
                 (rondo_step){.kind = RONDO_STEP_ENCODE, .to = wire, .a = from});
}

void
rondo_schedule_decode(rondo_schedule *schedule, rondo_slice to, rondo_slice wire)
{
    RONDO_ASSERT(wire.buffer == RONDO_BUF_WIRE);
    RONDO_ASSERT(wire.count == to.count);
    append_local(schedule,
                 (rondo_step){.kind = RONDO_STEP_DECODE, .to = to, .a = wire});
}

void
rondo_schedule_signal(rondo_schedule *schedule)
{
    if (schedule->status == RONDO_OK) {
        schedule->signals++;
    }
    append(schedule,
           (rondo_step){.kind = RONDO_STEP_SIGNAL, .signal = schedule->signals});
}

void
rondo_schedule_wait(rondo_schedule *schedule, uint32_t peer, uint32_t signal)
{
    append(schedule, (rondo_step){.kind = RONDO_STEP_WAIT,
                                  .peer = rank_of(schedule, peer),
                                  .signal = signal});
}
