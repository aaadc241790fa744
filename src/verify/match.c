/* match.c - which receive belongs to which send, which wait to which signal. */
#include "verify/match.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"

/* The sends of every channel, in order. A channel is sender * nranks + receiver. */
struct channels {
    uint64_t *first; /* by channel, and one past: where its sends are in `sends` */
    uint64_t *used;  /* by channel: sends listed, then sends received */
    uint64_t *sends; /* events */
};

static bool
is_kind(const rondo_event *event, rondo_step_kind kind)
{
    return event->step != NULL && event->step->kind == kind;
}

static rondo_status
take(const rondo_proof *proof, struct channels *channels)
{
    const uint64_t pairs = (uint64_t)proof->nranks * proof->nranks;
    rondo_status status =
        rondo_proof_take(pairs + 1, sizeof(uint64_t), (void **)&channels->first);

    if (status == RONDO_OK) {
        status = rondo_proof_take(pairs, sizeof(uint64_t), (void **)&channels->used);
    }
    if (status == RONDO_OK) {
        status = rondo_proof_take(proof->nevents, sizeof(uint64_t),
                                  (void **)&channels->sends);
    }
    return status;
}

static void
list_sends(const rondo_proof *proof, struct channels *channels)
{
    const uint64_t nranks = proof->nranks;

    for (uint64_t index = 0; index < proof->nevents; index++) {
        const rondo_event *const event = &proof->events[index];

        if (is_kind(event, RONDO_STEP_SEND)) {
            channels->first[event->rank * nranks + event->step->peer + 1]++;
        }
    }
    for (uint64_t channel = 0; channel < nranks * nranks; channel++) {
        channels->first[channel + 1] += channels->first[channel];
    }
    for (uint64_t index = 0; index < proof->nevents; index++) {
        const rondo_event *const event = &proof->events[index];

        if (is_kind(event, RONDO_STEP_SEND)) {
            const uint64_t channel = event->rank * nranks + event->step->peer;

            channels->sends[channels->first[channel] + channels->used[channel]++] =
                index;
        }
    }
}

/* A receive and the send it belongs to. */
static rondo_status
join(rondo_proof *proof, uint64_t send, uint64_t recv)
{
    rondo_event *const from = &proof->events[send];
    rondo_event *const to = &proof->events[recv];

    if (from->phase != to->phase) {
        return rondo_proof_refuse(proof, recv,
                                  "gets the message of the other collective");
    }
    if (from->step->a.count != to->step->to.count) {
        return rondo_proof_refuse(proof, recv,
                                  "rank %" PRIu32 " sends %" PRIu64 " elements here",
                                  from->rank, from->step->a.count);
    }
    if ((from->step->a.buffer == RONDO_BUF_WIRE) !=
        (to->step->to.buffer == RONDO_BUF_WIRE)) {
        return rondo_proof_refuse(proof, recv,
                                  "one side takes the message for encoded bytes");
    }
    from->other = recv;
    to->other = send;
    return RONDO_OK;
}

static rondo_status
match_receives(rondo_proof *proof, struct channels *channels)
{
    for (uint64_t index = 0; index < proof->nevents; index++) {
        const rondo_event *const event = &proof->events[index];

        if (!is_kind(event, RONDO_STEP_RECV)) {
            continue;
        }
        const uint64_t channel =
            (uint64_t)event->step->peer * proof->nranks + event->rank;
        uint64_t *const left = &channels->used[channel];
        if (*left == 0) {
            return rondo_proof_refuse(proof, index, "no message is sent for it");
        }
        const uint64_t send = channels->sends[channels->first[channel + 1] - *left];
        const rondo_status status = join(proof, send, index);
        if (status != RONDO_OK) {
            return status;
        }
        (*left)--;
    }
    return RONDO_OK;
}

static rondo_status
all_received(const rondo_proof *proof)
{
    for (uint64_t index = 0; index < proof->nevents; index++) {
        const rondo_event *const event = &proof->events[index];

        if (is_kind(event, RONDO_STEP_SEND) && event->other == RONDO_NO_EVENT) {
            return rondo_proof_refuse(proof, index, "nobody receives it");
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_match_messages(rondo_proof *proof)
{
    struct channels channels = {NULL, NULL, NULL};
    rondo_status status = take(proof, &channels);

    if (status == RONDO_OK) {
        list_sends(proof, &channels);
        status = match_receives(proof, &channels);
    }
    if (status == RONDO_OK) {
        status = all_received(proof);
    }
    rondo_free(channels.first);
    rondo_free(channels.used);
    rondo_free(channels.sends);
    return status;
}

/* Signals are numbered from 1 without a gap; `first` says where a rank's begin. */
static rondo_status
list_signals(const rondo_proof *proof, uint32_t phase, uint64_t *first,
             uint64_t *signals)
{
    uint64_t listed = 0;

    for (uint32_t rank = 0; rank < proof->nranks; rank++) {
        const uint64_t end = proof->first_event[rank + 1];

        first[rank] = listed;
        for (uint64_t index = proof->first_event[rank]; index < end; index++) {
            const rondo_event *const event = &proof->events[index];

            if (event->phase != phase || !is_kind(event, RONDO_STEP_SIGNAL)) {
                continue;
            }
            signals[listed++] = index;
            if (event->step->signal != listed - first[rank]) {
                return rondo_proof_refuse(proof, index,
                                          "is signal %" PRIu64 " of this "
                                          "collective",
                                          listed - first[rank]);
            }
        }
        if (listed - first[rank] != proof->schedules[phase][rank]->signals) {
            return rondo_error(
                RONDO_ERR_INTERNAL,
                "rank %" PRIu32 " gives %" PRIu64 " signals, not %" PRIu32, rank,
                listed - first[rank], proof->schedules[phase][rank]->signals);
        }
    }
    first[proof->nranks] = listed;
    return RONDO_OK;
}

static rondo_status
match_waits(rondo_proof *proof, uint32_t phase, const uint64_t *first,
            const uint64_t *signals)
{
    for (uint64_t index = 0; index < proof->nevents; index++) {
        rondo_event *const event = &proof->events[index];

        if (event->phase != phase || !is_kind(event, RONDO_STEP_WAIT)) {
            continue;
        }
        const uint32_t peer = event->step->peer;
        const uint64_t number = event->step->signal;
        if (number == 0 || number > first[peer + 1] - first[peer]) {
            return rondo_proof_refuse(proof, index, "that signal is never given");
        }
        event->other = signals[first[peer] + number - 1];
    }
    return RONDO_OK;
}

rondo_status
rondo_match_signals(rondo_proof *proof)
{
    uint64_t *first = NULL;
    uint64_t *signals = NULL;
    rondo_status status =
        rondo_proof_take((uint64_t)proof->nranks + 1, sizeof *first, (void **)&first);

    if (status == RONDO_OK) {
        status = rondo_proof_take(proof->nevents, sizeof *signals, (void **)&signals);
    }
    for (uint32_t phase = 0; status == RONDO_OK && phase < proof->phases; phase++) {
        status = list_signals(proof, phase, first, signals);
        if (status == RONDO_OK) {
            status = match_waits(proof, phase, first, signals);
        }
    }
    rondo_free(first);
    rondo_free(signals);
    return status;
}
