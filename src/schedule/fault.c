/* fault.c - what makes a step well formed, whoever made it. */
#include "schedule/text.h"

/* Which slices a kind uses. */
enum { USES_TO = 1, USES_A = 2, USES_B = 4 };

static uint32_t
uses(rondo_step_kind kind)
{
    switch (kind) {
    case RONDO_STEP_SEND:
        return USES_A;
    case RONDO_STEP_RECV:
        return USES_TO;
    case RONDO_STEP_REDUCE:
        return USES_TO | USES_A | USES_B;
    case RONDO_STEP_COPY:
    case RONDO_STEP_ENCODE:
    case RONDO_STEP_DECODE:
        return USES_TO | USES_A;
    default:
        return 0;
    }
}

/* How many elements of a buffer there are; a peer shares only what the caller gave. */
static uint64_t
limit_of(const rondo_schedule *schedule, rondo_slice slice)
{
    rondo_coll coll = schedule->coll;

    if (slice.owner != RONDO_OWN) {
        coll.rank = slice.owner;
    }
    switch (slice.buffer) {
    case RONDO_BUF_IN:
        return rondo_coll_in_count(&coll);
    case RONDO_BUF_OUT:
        return rondo_coll_out_count(&coll);
    case RONDO_BUF_SCRATCH:
        return slice.owner == RONDO_OWN ? schedule->scratch_count : 0;
    case RONDO_BUF_WIRE:
        return slice.owner == RONDO_OWN ? schedule->wire_count : 0;
    default:
        return 0;
    }
}

static const char *
slice_fault(const rondo_schedule *schedule, rondo_slice slice, bool used)
{
    if (!used) {
        return slice.count == 0 ? NULL : "it names a slice that its kind does not use";
    }
    if (slice.count == 0) {
        return "a slice is empty";
    }
    if (slice.owner != RONDO_OWN && slice.owner >= schedule->coll.nranks) {
        return "a slice belongs to a rank that does not exist";
    }
    if (slice.owner == schedule->coll.rank) {
        return "its own slice is written as a peer's";
    }
    const uint64_t limit = limit_of(schedule, slice);
    if (slice.first > limit || slice.count > limit - slice.first) {
        return "a slice reaches out of its buffer";
    }
    return NULL;
}

/* Whether `to` and an operand share elements without being the same. */
static bool
half_over(rondo_slice to, rondo_slice operand)
{
    return to.owner == operand.owner && to.buffer == operand.buffer &&
           to.first != operand.first && to.first < operand.first + operand.count &&
           operand.first < to.first + to.count;
}

static const char *
slices_fault(const rondo_schedule *schedule, const rondo_step *step)
{
    const uint32_t used = uses(step->kind);
    const char *fault = slice_fault(schedule, step->to, (used & USES_TO) != 0);

    if (fault == NULL) {
        fault = slice_fault(schedule, step->a, (used & USES_A) != 0);
    }
    if (fault == NULL) {
        fault = slice_fault(schedule, step->b, (used & USES_B) != 0);
    }
    if (fault != NULL || (used & USES_TO) == 0 || (used & USES_A) == 0) {
        return fault;
    }
    if (step->to.count != step->a.count) {
        return "its slices differ in length";
    }
    if ((used & USES_B) != 0 && step->to.count != step->b.count) {
        return "its slices differ in length";
    }
    if (half_over(step->to, step->a) ||
        ((used & USES_B) != 0 && half_over(step->to, step->b))) {
        return "it writes over a part of what it reads";
    }
    return NULL;
}

/* Only encode makes what lies in WIRE, only decode and send take it from there. */
static const char *
wire_fault(const rondo_step *step)
{
    const bool to_wire = step->to.count > 0 && step->to.buffer == RONDO_BUF_WIRE;
    const bool a_wire = step->a.count > 0 && step->a.buffer == RONDO_BUF_WIRE;
    const bool b_wire = step->b.count > 0 && step->b.buffer == RONDO_BUF_WIRE;
    const bool makes = step->kind == RONDO_STEP_ENCODE || step->kind == RONDO_STEP_RECV;
    const bool takes = step->kind == RONDO_STEP_DECODE || step->kind == RONDO_STEP_SEND;

    if ((to_wire && !makes) || (a_wire && !takes) || b_wire) {
        return "it works on encoded bytes";
    }
    if ((step->kind == RONDO_STEP_ENCODE && !to_wire) ||
        (step->kind == RONDO_STEP_DECODE && !a_wire)) {
        return "encoded bytes lie in WIRE only";
    }
    return NULL;
}

/* IN is the caller's; only a reduce-scatter in place has its result there. */
static bool
spoils_in(const rondo_coll *coll, rondo_slice to)
{
    const uint64_t own = coll->rank * coll->count;

    if (to.count == 0 || to.buffer != RONDO_BUF_IN) {
        return false;
    }
    return to.owner != RONDO_OWN || !coll->in_place ||
           coll->kind != RONDO_COLL_REDUCE_SCATTER || to.first < own ||
           to.first + to.count > own + coll->count;
}

static const char *
peer_fault(const rondo_schedule *schedule, const rondo_step *step)
{
    const bool messages =
        step->kind == RONDO_STEP_SEND || step->kind == RONDO_STEP_RECV;

    if (messages || step->kind == RONDO_STEP_WAIT) {
        if (step->peer >= schedule->coll.nranks) {
            return "its peer does not exist";
        }
        if (step->peer == schedule->coll.rank) {
            return "its peer is the rank itself";
        }
    }
    if (messages && ((step->a.count > 0 && step->a.owner != RONDO_OWN) ||
                     (step->to.count > 0 && step->to.owner != RONDO_OWN))) {
        return "a message is sent from or received into a peer's memory";
    }
    if (spoils_in(&schedule->coll, step->to)) {
        return "it writes to IN";
    }
    if (step->final && step->kind != RONDO_STEP_REDUCE) {
        return "only a reduction completes a result";
    }
    return NULL;
}

static const char *
needs_fault(const rondo_schedule *schedule, const rondo_step *step, uint64_t index)
{
    if (step->needs_at > schedule->nneeds ||
        step->needs > schedule->nneeds - step->needs_at) {
        return "its needs are not in the list";
    }
    for (uint64_t need = 0; need < step->needs; need++) {
        if (schedule->needs[step->needs_at + need] >= index) {
            return "it needs a step that is not before it";
        }
    }
    if (step->reader != RONDO_NO_STEP &&
        (step->kind != RONDO_STEP_RECV || step->to.buffer != RONDO_BUF_SCRATCH ||
         step->reader <= index || step->reader >= schedule->nsteps)) {
        return "its reader is not a step behind it, or it is no receive into scratch";
    }
    return NULL;
}

const char *
rondo_step_fault(const rondo_schedule *schedule, uint64_t index)
{
    const rondo_step *const step = &schedule->steps[index];

    if ((uint32_t)step->kind > RONDO_STEP_WAIT) {
        return "its kind does not exist";
    }
    const char *fault = slices_fault(schedule, step);
    if (fault == NULL) {
        fault = wire_fault(step);
    }
    if (fault == NULL) {
        fault = peer_fault(schedule, step);
    }
    return fault == NULL ? needs_fault(schedule, step, index) : fault;
}
