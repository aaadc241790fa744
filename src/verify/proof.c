/* proof.c - events of all ranks, and memory laid out. */
#include "verify/proof.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/text.h"
#include "verify/match.h"

rondo_status
rondo_proof_take(uint64_t count, uint64_t width, void **memory)
{
    uint64_t bytes = 0;
    const rondo_status status = rondo_size(count, width, &bytes);

    return status == RONDO_OK ? rondo_alloc_zero(bytes, memory) : status;
}

rondo_event_words
rondo_proof_text(const rondo_proof *proof, uint64_t index)
{
    const rondo_event *const event = &proof->events[index];
    const char *const where =
        proof->phases == 1 ? "" : (event->phase == 0 ? "first, " : "second, ");
    rondo_event_words words;

    if (event->step == NULL) {
        const uint64_t local = rondo_proof_local(proof, index);
        const char *const what = local == 0 ? "start"
                                 : event->phase == proof->phases
                                     ? "end"
                                     : "start of the second";

        (void)snprintf(words.text, sizeof words.text, "rank %" PRIu32 ", its %s",
                       event->rank, what);
        return words;
    }
    const rondo_step *const step = event->step;
    const rondo_schedule *const schedule = rondo_proof_schedule(proof, event);
    (void)snprintf(words.text, sizeof words.text, "%srank %" PRIu32 " step %td, %s",
                   where, event->rank, step - schedule->steps,
                   rondo_step_text(step).text);
    return words;
}

rondo_status
rondo_proof_refuse(const rondo_proof *proof, uint64_t event, const char *format, ...)
{
    char what[RONDO_ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return rondo_error(RONDO_ERR_INTERNAL, "%s: %s",
                       rondo_proof_text(proof, event).text, what);
}

static bool
agree(const rondo_coll *one, const rondo_coll *other)
{
    return one->kind == other->kind && one->nranks == other->nranks &&
           one->root == other->root && one->count == other->count &&
           one->segment == other->segment && one->inner == other->inner &&
           one->outer == other->outer && rondo_levels_same(one->levels, other->levels);
}

/* One schedule by itself. */
static rondo_status
check_schedule(const rondo_schedule *schedule, const rondo_schedule *first,
               uint32_t rank, uint32_t nranks)
{
    if (schedule->status != RONDO_OK || schedule->coll.rank != rank ||
        schedule->coll.nranks != nranks || !agree(&schedule->coll, &first->coll)) {
        return rondo_error(RONDO_ERR_INTERNAL,
                           "rank %" PRIu32 ": its schedule is for another collective",
                           rank);
    }
    for (uint64_t index = 0; index < schedule->nsteps; index++) {
        const char *const fault = rondo_step_fault(schedule, index);

        if (fault != NULL) {
            return rondo_error(RONDO_ERR_INTERNAL,
                               "rank %" PRIu32 " step %" PRIu64 ", %s: %s", rank, index,
                               rondo_step_text(&schedule->steps[index]).text, fault);
        }
    }
    return RONDO_OK;
}

/* Where the buffers of one rank lie; returns the cell behind them. */
static uint64_t
lay_out(const rondo_schedule *schedule, uint64_t cell, rondo_layout *layout)
{
    const rondo_coll *const coll = &schedule->coll;
    const uint64_t in = rondo_coll_in_count(coll);
    const uint64_t out = rondo_coll_out_count(coll);
    const uint64_t ahead = coll->rank * coll->count;
    const bool apart = !coll->in_place || in == 0 || out == 0;

    layout->first = cell;
    layout->buffer[RONDO_BUF_IN] = cell;
    layout->buffer[RONDO_BUF_OUT] = apart ? cell + in : cell;
    layout->count = apart ? in + out : (in > out ? in : out);
    if (!apart && coll->kind == RONDO_COLL_ALL_GATHER) {
        layout->buffer[RONDO_BUF_IN] += ahead;
    }
    if (!apart && coll->kind == RONDO_COLL_REDUCE_SCATTER) {
        layout->buffer[RONDO_BUF_OUT] += ahead;
    }
    layout->buffer[RONDO_BUF_SCRATCH] = cell + layout->count;
    layout->buffer[RONDO_BUF_WIRE] =
        layout->buffer[RONDO_BUF_SCRATCH] + schedule->scratch_count;
    return layout->buffer[RONDO_BUF_WIRE] + schedule->wire_count;
}

static rondo_status
begin_phase(rondo_proof *proof, uint32_t phase)
{
    const rondo_schedule *const *const schedules = proof->schedules[phase];
    rondo_status status = rondo_proof_take(proof->nranks, sizeof(rondo_layout),
                                           (void **)&proof->layouts[phase]);

    for (uint32_t rank = 0; status == RONDO_OK && rank < proof->nranks; rank++) {
        const rondo_schedule *const schedule = schedules[rank];
        uint64_t bytes = 0;

        status = check_schedule(schedule, schedules[0], rank, proof->nranks);
        /* Sums of four such numbers cannot overflow. */
        if (status == RONDO_OK) {
            status = rondo_size(schedule->scratch_count, proof->nranks * 64, &bytes);
        }
        if (status == RONDO_OK) {
            status = rondo_size(schedule->wire_count, proof->nranks * 64, &bytes);
        }
        if (status == RONDO_OK) {
            proof->cells[phase] =
                lay_out(schedule, proof->cells[phase], &proof->layouts[phase][rank]);
            proof->nevents += schedule->nsteps + 1;
        }
    }
    return status;
}

/* Numbers the events: for each rank a start, its steps, a mark behind each phase. */
static void
number(rondo_proof *proof)
{
    uint64_t event = 0;

    for (uint32_t rank = 0; rank < proof->nranks; rank++) {
        proof->first_event[rank] = event;
        for (uint32_t phase = 0; phase <= proof->phases; phase++) {
            proof->events[event++] =
                (rondo_event){.other = RONDO_NO_EVENT, .rank = rank, .phase = phase};
            if (phase == proof->phases) {
                break;
            }
            const rondo_schedule *const schedule = proof->schedules[phase][rank];
            const uint64_t opening = event - 1;
            for (uint64_t index = 0; index < schedule->nsteps; index++) {
                proof->events[event++] = (rondo_event){.step = &schedule->steps[index],
                                                       .other = RONDO_NO_EVENT,
                                                       .opening = opening,
                                                       .rank = rank,
                                                       .phase = phase};
            }
        }
    }
    proof->first_event[proof->nranks] = event;
}

rondo_status
rondo_proof_begin(rondo_proof *proof)
{
    rondo_status status = RONDO_OK;

    proof->nevents = proof->nranks;
    for (uint32_t phase = 0; status == RONDO_OK && phase < proof->phases; phase++) {
        status = begin_phase(proof, phase);
    }
    if (status == RONDO_OK) {
        status = rondo_proof_take(proof->nevents, sizeof *proof->events,
                                  (void **)&proof->events);
    }
    if (status == RONDO_OK) {
        status = rondo_proof_take((uint64_t)proof->nranks + 1, sizeof(uint64_t),
                                  (void **)&proof->first_event);
    }
    uint64_t **const numbers[] = {&proof->order, &proof->stamps, &proof->stack};
    for (uint32_t index = 0; status == RONDO_OK && index < 3; index++) {
        status =
            rondo_proof_take(proof->nevents, sizeof(uint64_t), (void **)numbers[index]);
    }
    if (status != RONDO_OK) {
        return status;
    }
    number(proof);
    status = rondo_match_messages(proof);
    return status == RONDO_OK ? rondo_match_signals(proof) : status;
}

void
rondo_proof_end(rondo_proof *proof)
{
    for (uint32_t phase = 0; phase < RONDO_PHASES; phase++) {
        rondo_free(proof->layouts[phase]);
    }
    rondo_free(proof->events);
    rondo_free(proof->first_event);
    rondo_free(proof->order);
    rondo_free(proof->stamps);
    rondo_free(proof->stack);
}
