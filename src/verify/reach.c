/* reach.c - what is before what within one rank, by its steps' needs. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "verify/proof.h"

/* Puts on the stack what `event` needs, from `least` on, unless it was there. */
static uint64_t
push_needs(rondo_proof *proof, uint64_t event, uint64_t least, uint64_t height)
{
    /* What a mark needs lies in front of everything that is asked for. */
    if (proof->events[event].step == NULL) {
        return height;
    }
    for (uint64_t at = 0; at < rondo_proof_needs(proof, event); at++) {
        const uint64_t need = rondo_proof_need(proof, event, at);

        if (need >= least && proof->stamps[need] != proof->stamp) {
            proof->stamps[need] = proof->stamp;
            proof->stack[height++] = need;
        }
    }
    return height;
}

bool
rondo_reach_before(rondo_proof *proof, uint64_t early, uint64_t late)
{
    const rondo_event *const first = &proof->events[early];
    const rondo_event *const second = &proof->events[late];

    RONDO_ASSERT(first->rank == second->rank);
    /* A mark is behind all in front of it and before all behind it. */
    if (first->step == NULL || second->step == NULL || first->phase != second->phase) {
        return early < late;
    }
    proof->stamp++;
    /* The stack is a queue here: what is needed directly is looked at first. */
    uint64_t end = push_needs(proof, late, early, 0);
    for (uint64_t at = 0; at < end; at++) {
        if (proof->stack[at] == early) {
            return true;
        }
        end = push_needs(proof, proof->stack[at], early, end);
    }
    return false;
}

/* How many of the steps from `least` up to step `event` are before it. */
static uint64_t
count_before(rondo_proof *proof, uint64_t event, uint64_t least)
{
    proof->stamp++;
    uint64_t end = push_needs(proof, event, least, 0);
    for (uint64_t at = 0; at < end; at++) {
        end = push_needs(proof, proof->stack[at], least, end);
    }
    return end;
}

/* The previous events that the rules speak of, while one rank is looked at. */
struct rules {
    rondo_proof *proof;
    uint64_t *sent;     /* by peer; RONDO_NO_EVENT: none */
    uint64_t *received; /* by peer */
    uint64_t wait;      /* the last wait, or RONDO_NO_EVENT */
    uint64_t signal;    /* the last signal, or the mark in front */
};

static rondo_status
check_channel(struct rules *rules, uint64_t *last, uint64_t event)
{
    const uint64_t before = *last;

    *last = event;
    if (before != RONDO_NO_EVENT && !rondo_reach_before(rules->proof, before, event)) {
        return rondo_proof_refuse(rules->proof, event,
                                  "does not wait for the message before it, %s",
                                  rondo_proof_text(rules->proof, before).text);
    }
    return RONDO_OK;
}

/* What follows a wait waits for it. If one need of each step does not lie before the
 * wait, that follows for all of them, one after the other. */
static rondo_status
check_fence(const struct rules *rules, uint64_t event)
{
    const rondo_proof *const proof = rules->proof;

    if (rules->wait == RONDO_NO_EVENT) {
        return RONDO_OK;
    }
    for (uint64_t at = 0; at < rondo_proof_needs(proof, event); at++) {
        if (rondo_proof_need(proof, event, at) >= rules->wait) {
            return RONDO_OK;
        }
    }
    return rondo_proof_refuse(proof, event, "does not wait for the wait before it");
}

static rondo_status
check_signal(struct rules *rules, uint64_t event)
{
    const uint64_t from = rules->signal;

    rules->signal = event;
    if (count_before(rules->proof, event, from) != event - from) {
        return rondo_proof_refuse(rules->proof, event,
                                  "does not wait for all steps before it");
    }
    return RONDO_OK;
}

static rondo_status
check_event(struct rules *rules, uint64_t event)
{
    const rondo_step *const step = rules->proof->events[event].step;
    const rondo_status status = check_fence(rules, event);

    if (status != RONDO_OK) {
        return status;
    }
    switch (step->kind) {
    case RONDO_STEP_SEND:
        return check_channel(rules, &rules->sent[step->peer], event);
    case RONDO_STEP_RECV:
        return check_channel(rules, &rules->received[step->peer], event);
    case RONDO_STEP_WAIT:
        rules->wait = event;
        return RONDO_OK;
    case RONDO_STEP_SIGNAL:
        return check_signal(rules, event);
    default:
        return RONDO_OK;
    }
}

/* Behind a mark all rules begin anew: everything before it is done. */
static void
begin(struct rules *rules, uint64_t mark)
{
    for (uint32_t peer = 0; peer < rules->proof->nranks; peer++) {
        rules->sent[peer] = RONDO_NO_EVENT;
        rules->received[peer] = RONDO_NO_EVENT;
    }
    rules->wait = RONDO_NO_EVENT;
    rules->signal = mark;
}

rondo_status
rondo_reach_check(rondo_proof *proof)
{
    struct rules rules = {.proof = proof};
    rondo_status status =
        rondo_proof_take(proof->nranks, sizeof(uint64_t), (void **)&rules.sent);

    if (status == RONDO_OK) {
        status =
            rondo_proof_take(proof->nranks, sizeof(uint64_t), (void **)&rules.received);
    }
    for (uint64_t event = 0; status == RONDO_OK && event < proof->nevents; event++) {
        if (proof->events[event].step == NULL) {
            begin(&rules, event);
        } else {
            status = check_event(&rules, event);
        }
    }
    rondo_free(rules.sent);
    rondo_free(rules.received);
    return status;
}
