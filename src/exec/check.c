/* check.c - is a schedule one that can be run? Schedules may come from a text. */
#include "base/error.h"
#include "exec/plan.h"

static rondo_status
bad_step(uint64_t index, const char *what)
{
    return rondo_error(RONDO_ERR_ARG, "schedule: step %llu %s",
                       (unsigned long long)index, what);
}

/* Elements of the memory a slice lies in; 0 if there is no such memory. */
static uint64_t
room_of(const rondo_schedule *schedule, const rondo_slice *slice)
{
    rondo_coll coll = schedule->coll;

    if (slice->owner != RONDO_OWN) {
        coll.rank = slice->owner;
    }
    switch (slice->buffer) {
    case RONDO_BUF_IN:
        return rondo_coll_in_count(&coll);
    case RONDO_BUF_OUT:
        return rondo_coll_out_count(&coll);
    case RONDO_BUF_SCRATCH:
        return slice->owner == RONDO_OWN ? schedule->scratch_count : 0;
    default:
        return 0;
    }
}

static rondo_status
check_slice(const rondo_schedule *schedule, uint64_t index, const rondo_slice *slice,
            uint64_t count)
{
    if (slice->buffer == RONDO_BUF_WIRE) {
        return rondo_error(RONDO_ERR_UNSUPPORTED, "encoded messages cannot be run yet");
    }
    if (slice->owner != RONDO_OWN && slice->owner >= schedule->coll.nranks) {
        return bad_step(index, "names the memory of a rank that is not there");
    }
    const uint64_t room = room_of(schedule, slice);
    if (slice->count != count) {
        return bad_step(index, "has slices of different counts");
    }
    if (slice->first > room || slice->count > room - slice->first) {
        return bad_step(index, "reaches beyond its buffer");
    }
    return RONDO_OK;
}

static rondo_status
check_slices(const rondo_schedule *schedule, uint64_t index, const rondo_step *step)
{
    const bool writes = step->kind != RONDO_STEP_SEND;
    const uint64_t count = writes ? step->to.count : step->a.count;
    rondo_status status = RONDO_OK;

    if (count == 0) {
        return bad_step(index, "moves nothing");
    }
    if (writes) {
        status = check_slice(schedule, index, &step->to, count);
    }
    if (status == RONDO_OK && step->kind != RONDO_STEP_RECV) {
        status = check_slice(schedule, index, &step->a, count);
    }
    if (status == RONDO_OK && step->kind == RONDO_STEP_REDUCE) {
        status = check_slice(schedule, index, &step->b, count);
    }
    return status;
}

static rondo_status
check_peer(const rondo_schedule *schedule, uint64_t index, const rondo_step *step)
{
    if (step->peer >= schedule->coll.nranks || step->peer == schedule->coll.rank) {
        return bad_step(index, "names a peer that is none");
    }
    return RONDO_OK;
}

static rondo_status
check_needs(const rondo_schedule *schedule, uint64_t index, const rondo_step *step)
{
    if (step->needs_at > schedule->nneeds ||
        step->needs > schedule->nneeds - step->needs_at) {
        return bad_step(index, "has needs that are not there");
    }
    for (uint64_t at = 0; at < step->needs; at++) {
        if (schedule->needs[step->needs_at + at] >= index) {
            return bad_step(index, "needs a step that is not before it");
        }
    }
    return RONDO_OK;
}

static rondo_status
check_kind(const rondo_schedule *schedule, uint64_t index, const rondo_step *step)
{
    rondo_status status = RONDO_OK;

    switch (step->kind) {
    case RONDO_STEP_SEND:
    case RONDO_STEP_RECV:
        status = check_peer(schedule, index, step);
        return status == RONDO_OK ? check_slices(schedule, index, step) : status;
    case RONDO_STEP_COPY:
    case RONDO_STEP_REDUCE:
        return check_slices(schedule, index, step);
    case RONDO_STEP_SIGNAL:
        return RONDO_OK;
    case RONDO_STEP_WAIT:
        return check_peer(schedule, index, step);
    case RONDO_STEP_ENCODE:
    case RONDO_STEP_DECODE:
        return rondo_error(RONDO_ERR_UNSUPPORTED, "encoded messages cannot be run yet");
    default:
        return bad_step(index, "is of no kind");
    }
}

rondo_status
rondo_plan_check(const rondo_schedule *schedule)
{
    /* Indexes are 32 bits wide in a plan; there is a successor for every need and one
     * more for every step at most. */
    if (schedule->nneeds >= UINT32_MAX / 2 || schedule->nsteps >= UINT32_MAX / 2) {
        return rondo_error(RONDO_ERR_UNSUPPORTED,
                           "a schedule of %llu steps is too long",
                           (unsigned long long)schedule->nsteps);
    }
    for (uint64_t index = 0; index < schedule->nsteps; index++) {
        const rondo_step *const step = &schedule->steps[index];
        rondo_status status = check_needs(schedule, index, step);

        if (status == RONDO_OK) {
            status = check_kind(schedule, index, step);
        }
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}
