/* run.c - runs a plan: starts it, moves its messages, computes what is ready. */
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "exec/plan.h"

/* What a poll moves at most before it returns, and what it computes at most before it
 * looks after its messages again: peers must be fed. */
#define POLL_BYTES    (INT64_C(1) << 20)
#define COMPUTE_BYTES (UINT64_C(256) << 10)

static uintptr_t
address_of(const rondo_plan *plan, const rondo_plan_step *step, uint32_t slice)
{
    return plan->memories[step->memory[slice]] + (step->first[slice] << plan->shift);
}

/* --- completions ------------------------------------------------------------------ */

/* Every instance that leads to a peer; most often that is one. */
static void
give_signal(const rondo_plan *plan, uint64_t signal)
{
    rondo_transport *told = NULL;

    for (uint32_t peer = 0; peer < plan->nranks; peer++) {
        rondo_transport *const route =
            peer == plan->rank ? NULL : plan->binding.routes[peer];

        if (route != NULL && route != told) {
            route->ops->signal(route, plan->binding.signal_base + signal);
            told = route;
        }
    }
}

/* A step that communicates takes its channel, whose step before is done. */
static void
open_channel(rondo_plan *plan, uint32_t index)
{
    const rondo_plan_step *const step = &plan->steps[index];
    rondo_plan_channel *const channel = &plan->channels[step->channel];

    channel->step = index;
    channel->fused = false;
    if (step->kind == RONDO_STEP_SEND) {
        channel->message.data = (const void *)address_of(plan, step, RONDO_PLAN_A);
        channel->message.bytes = step->count << plan->shift;
        channel->message.done_bytes = 0;
    } else if (step->kind == RONDO_STEP_RECV) {
        channel->bytes = step->count << plan->shift;
        channel->done_bytes = 0;
    }
    RONDO_ASSERT(plan->nactive < plan->nchannels);
    plan->active[plan->nactive++] = step->channel;
}

/* All needs of a step are met. A signal is for the caller to give. */
static bool
set_going(rondo_plan *plan, uint32_t index)
{
    switch (plan->steps[index].kind) {
    case RONDO_STEP_SIGNAL:
        return false;
    case RONDO_STEP_COPY:
    case RONDO_STEP_REDUCE:
        rondo_ready_add(&plan->ready, index);
        return true;
    default:
        open_channel(plan, index);
        return true;
    }
}

/*
 * Step `index` is done: set going what waited for it alone, except `fused`, which is
 * done too or will be at once. Signals follow one another, so one step sets one signal
 * free at most; giving it is the whole of it, and the walk goes on from there.
 */
static void
finish(rondo_plan *plan, uint32_t index, uint32_t fused)
{
    while (index != RONDO_PLAN_NONE) {
        const uint32_t end = plan->steps[index + 1].successors_at;
        uint32_t signal = RONDO_PLAN_NONE;

        for (uint32_t at = plan->steps[index].successors_at; at < end; at++) {
            const uint32_t next = plan->successors[at];

            if (--plan->unmet[next] == 0 && next != fused && !set_going(plan, next)) {
                signal = next;
            }
        }
        plan->unmet[index] = RONDO_PLAN_DONE;
        plan->unfinished--;
        if (signal != RONDO_PLAN_NONE) {
            give_signal(plan, plan->steps[signal].count);
        }
        index = signal;
    }
}

/* --- messages --------------------------------------------------------------------- */

static rondo_status
try_send(rondo_plan *plan, rondo_plan_channel *channel)
{
    const uint64_t before = channel->message.done_bytes;
    const rondo_status status = channel->route->ops->send(
        channel->route, channel->peer, plan->binding.lane, &channel->message);

    plan->budget_bytes -= (int64_t)(channel->message.done_bytes - before);
    return status;
}

/* The first piece is there: where do this message's bytes go? To the reader, if it
 * waits for nothing else. To the receive's own place otherwise, so that whether a
 * message is taken never depends on anything but the message. */
static void
choose_landing(const rondo_plan *plan, rondo_plan_channel *channel)
{
    const rondo_plan_step *const step = &plan->steps[channel->step];
    const rondo_plan_step *const reader = &plan->steps[step->reader];

    channel->kernel = NULL;
    channel->fused = step->reader != RONDO_PLAN_NONE && plan->unmet[step->reader] == 1;
    if (!channel->fused) {
        channel->to = address_of(plan, step, RONDO_PLAN_TO);
        return;
    }
    channel->to = address_of(plan, reader, RONDO_PLAN_TO);
    if (reader->kind == RONDO_STEP_REDUCE) {
        channel->kernel = plan->kernels[reader->final];
        channel->other =
            address_of(plan, reader, step->reader_left ? RONDO_PLAN_B : RONDO_PLAN_A);
    }
}

static void
land(const rondo_plan *plan, const rondo_plan_channel *channel,
     const rondo_incoming *piece)
{
    void *const to = (void *)(channel->to + channel->done_bytes);
    const void *const other = (const void *)(channel->other + channel->done_bytes);
    const uint64_t count = piece->bytes >> plan->shift;

    if (channel->kernel == NULL) {
        rondo_copy(to, piece->data, piece->bytes);
    } else if (plan->steps[channel->step].reader_left) {
        channel->kernel(to, piece->data, other, count, plan->nranks);
    } else {
        channel->kernel(to, other, piece->data, count, plan->nranks);
    }
}

/* Nothing of a message that is not the expected one is written anywhere. */
static rondo_status
refuse(rondo_plan *plan, const rondo_plan_channel *channel, const rondo_incoming *piece)
{
    const unsigned long long arrived =
        (unsigned long long)(channel->done_bytes + piece->bytes);

    plan->token_found = piece->token;
    if (piece->token != plan->binding.token) {
        return rondo_error(RONDO_ERR_MISMATCH,
                           "rank %u sent a message of another operation",
                           channel->peer);
    }
    return rondo_error(RONDO_ERR_MISMATCH,
                       "rank %u sent a message of %s%llu bytes, not of %llu",
                       channel->peer, piece->last ? "" : "at least ", arrived,
                       (unsigned long long)channel->bytes);
}

static bool
is_expected(const rondo_plan *plan, const rondo_plan_channel *channel,
            const rondo_incoming *piece)
{
    const uint64_t left = channel->bytes - channel->done_bytes;
    const uint64_t part_of_element = piece->bytes & ((UINT64_C(1) << plan->shift) - 1);

    return piece->token == plan->binding.token && piece->bytes > 0 &&
           piece->bytes <= left && piece->last == (piece->bytes == left) &&
           part_of_element == 0;
}

/* One piece at a time, so that no peer keeps the others waiting. */
static rondo_status
try_receive(rondo_plan *plan, rondo_plan_channel *channel)
{
    rondo_incoming piece;
    const rondo_status status = channel->route->ops->peek(channel->route, channel->peer,
                                                          plan->binding.lane, &piece);

    if (status != RONDO_OK) {
        return status;
    }
    if (!is_expected(plan, channel, &piece)) {
        return refuse(plan, channel, &piece);
    }
    if (channel->done_bytes == 0) {
        choose_landing(plan, channel);
    }
    land(plan, channel, &piece);
    channel->route->ops->consume(channel->route, channel->peer, plan->binding.lane);
    channel->done_bytes += piece.bytes;
    plan->budget_bytes -= (int64_t)piece.bytes;
    if (!piece.last) {
        plan->again = true;
        return RONDO_BUSY;
    }
    return RONDO_OK;
}

static rondo_status
try_wait(const rondo_plan *plan, const rondo_plan_channel *channel)
{
    const rondo_plan_step *const step = &plan->steps[channel->step];
    rondo_transport *const route = plan->binding.routes[step->peer];
    const uint64_t wanted = plan->binding.signal_base + step->count;

    return route->ops->signalled(route, step->peer) >= wanted ? RONDO_OK : RONDO_BUSY;
}

static rondo_status
try_channel(rondo_plan *plan, rondo_plan_channel *channel)
{
    switch (plan->steps[channel->step].kind) {
    case RONDO_STEP_SEND:
        return try_send(plan, channel);
    case RONDO_STEP_RECV:
        return try_receive(plan, channel);
    default:
        return try_wait(plan, channel);
    }
}

static void
finish_channel(rondo_plan *plan, const rondo_plan_channel *channel)
{
    const uint32_t index = channel->step;

    if (channel->fused) {
        const uint32_t reader = plan->steps[index].reader;
        finish(plan, index, reader);
        finish(plan, reader, RONDO_PLAN_NONE);
        return;
    }
    finish(plan, index, RONDO_PLAN_NONE);
}

/* Try every active channel once; and those that become active while the budget
 * lasts. */
static rondo_status
communicate(rondo_plan *plan)
{
    const uint32_t were_active = plan->nactive;
    uint32_t tries = 0;
    uint32_t at = 0;

    while (at < plan->nactive && (tries < were_active || plan->budget_bytes > 0)) {
        rondo_plan_channel *const channel = &plan->channels[plan->active[at]];
        const rondo_status status = try_channel(plan, channel);

        tries++;
        if (status == RONDO_BUSY) {
            at++;
            continue;
        }
        if (status != RONDO_OK) {
            plan->failed = channel->step;
            return status;
        }
        plan->active[at] = plan->active[--plan->nactive];
        finish_channel(plan, channel);
    }
    return RONDO_OK;
}

/* --- computing -------------------------------------------------------------------- */

static void
compute_part(const rondo_plan *plan, const rondo_plan_step *step, uint64_t done,
             uint64_t count)
{
    const uint64_t offset = done << plan->shift;
    void *const to = (void *)(address_of(plan, step, RONDO_PLAN_TO) + offset);
    const void *const a = (const void *)(address_of(plan, step, RONDO_PLAN_A) + offset);

    if (step->kind == RONDO_STEP_COPY) {
        rondo_copy(to, a, count << plan->shift);
        return;
    }
    const void *const b = (const void *)(address_of(plan, step, RONDO_PLAN_B) + offset);
    plan->kernels[step->final](to, a, b, count, plan->nranks);
}

/* Least index first: steps on the same few KiB stand together in program order, so the
 * later ones find them in the cache. */
static void
compute(rondo_plan *plan)
{
    const uint32_t were_active = plan->nactive;
    uint64_t left_bytes = COMPUTE_BYTES;

    while (left_bytes > 0) {
        if (plan->current == RONDO_PLAN_NONE) {
            if (!rondo_ready_any(&plan->ready)) {
                break;
            }
            plan->current = (uint32_t)rondo_ready_take(&plan->ready);
            plan->current_done = 0;
        }
        const rondo_plan_step *const step = &plan->steps[plan->current];
        const uint64_t room = left_bytes >> plan->shift;
        const uint64_t rest = step->count - plan->current_done;
        const uint64_t count = rest <= room ? rest : room;

        /* The budget is a multiple of every element, so room is never 0 here. */
        compute_part(plan, step, plan->current_done, count);
        plan->current_done += count;
        left_bytes -= count << plan->shift;
        if (plan->current_done == step->count) {
            const uint32_t index = plan->current;

            plan->current = RONDO_PLAN_NONE;
            finish(plan, index, RONDO_PLAN_NONE);
        }
    }
    plan->budget_bytes -= (int64_t)(COMPUTE_BYTES - left_bytes);
    plan->again = plan->again || plan->nactive > were_active ||
                  plan->current != RONDO_PLAN_NONE || rondo_ready_any(&plan->ready);
}

rondo_status
rondo_plan_start(rondo_plan *plan, const rondo_binding *binding)
{
    RONDO_ASSERT(plan->status != RONDO_BUSY);
    const rondo_status status = rondo_plan_bind(plan, binding);
    if (status != RONDO_OK) {
        return status;
    }
    memcpy(plan->unmet, plan->needs, plan->nsteps * sizeof *plan->unmet);
    plan->unfinished = plan->nsteps;
    plan->status = plan->nsteps == 0 ? RONDO_OK : RONDO_BUSY;
    for (uint32_t at = 0; at < plan->nroots; at++) {
        const uint32_t index = plan->roots[at];

        if (!set_going(plan, index)) {
            give_signal(plan, plan->steps[index].count);
            finish(plan, index, RONDO_PLAN_NONE);
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_plan_poll(rondo_plan *plan)
{
    if (plan->status != RONDO_BUSY) {
        return plan->status;
    }
    const uint64_t unfinished = plan->unfinished;
    plan->budget_bytes = POLL_BYTES;
    do {
        plan->again = false;
        const rondo_status status = communicate(plan);
        if (status != RONDO_OK) {
            plan->status = status;
            return status;
        }
        compute(plan);
        if (plan->unfinished == 0) {
            plan->status = RONDO_OK;
            return RONDO_OK;
        }
    } while (plan->again && plan->budget_bytes > 0);
    plan->moves +=
        plan->budget_bytes != POLL_BYTES || plan->unfinished != unfinished ? 1 : 0;
    return RONDO_BUSY;
}
