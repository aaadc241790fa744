/* bind.c - ties a plan to buffers, routes and a type, before a run begins. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/width.h"
#include "exec/plan.h"

static rondo_status
check_buffers(const rondo_plan *plan, const rondo_binding *binding)
{
    if ((plan->uses_in && binding->in == NULL) ||
        (plan->uses_out && binding->out == NULL)) {
        return rondo_error(RONDO_ERR_ARG, "a buffer is null");
    }
    if (plan->nmemories > RONDO_PLAN_OWN_MEMORIES &&
        (binding->peer_in == NULL || binding->peer_out == NULL)) {
        return rondo_error(RONDO_ERR_ARG, "the buffers of the peers are not mapped");
    }
    return RONDO_OK;
}

static rondo_status
check_routes(const rondo_plan *plan, const rondo_binding *binding)
{
    for (uint32_t at = 0; at < plan->nchannels; at++) {
        const uint32_t peer = plan->channels[at].peer;

        if (binding->routes[peer] == NULL) {
            return rondo_error(RONDO_ERR_ARG, "there is no route to rank %u", peer);
        }
    }
    for (uint32_t peer = 0; plan->waits && peer < plan->nranks; peer++) {
        if (peer != plan->rank && binding->routes[peer] == NULL) {
            return rondo_error(RONDO_ERR_ARG, "no signals come from rank %u", peer);
        }
    }
    return RONDO_OK;
}

static rondo_status
check_type(const rondo_plan *plan, const rondo_binding *binding, uint64_t width)
{
    if (width == 0) {
        return rondo_error(RONDO_ERR_ARG, "%d is not an element type",
                           (int)binding->dtype);
    }
    if (plan->reduces && (unsigned)binding->op >= RONDO_OPS) {
        return rondo_error(RONDO_ERR_ARG, "%d is not an operator", (int)binding->op);
    }
    return RONDO_OK;
}

/* Scratch is not touched here: where every receive is fused it stays untouched, and
 * large blocks then cost no memory at all. */
static rondo_status
make_room(rondo_plan *plan, uint64_t width)
{
    void *scratch = NULL;
    uint64_t bytes = 0;
    rondo_status status = rondo_size(plan->count_max, width, &bytes);

    if (status == RONDO_OK) {
        status = rondo_size(plan->scratch_count, width, &bytes);
    }
    if (status != RONDO_OK || bytes <= plan->scratch_bytes) {
        return status;
    }
    status = rondo_alloc_lines(bytes, 64, &scratch);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_free(plan->scratch);
    plan->scratch = scratch;
    plan->scratch_bytes = bytes;
    return RONDO_OK;
}

static void
bind_memories(rondo_plan *plan, const rondo_binding *binding)
{
    plan->memories[RONDO_BUF_IN] = (uintptr_t)binding->in;
    plan->memories[RONDO_BUF_OUT] = (uintptr_t)binding->out;
    plan->memories[RONDO_BUF_SCRATCH] = (uintptr_t)plan->scratch;
    if (plan->nmemories == RONDO_PLAN_OWN_MEMORIES) {
        return;
    }
    for (uint32_t rank = 0; rank < plan->nranks; rank++) {
        uintptr_t *const pair = plan->memories + RONDO_PLAN_OWN_MEMORIES + 2 * rank;

        pair[RONDO_BUF_IN] = (uintptr_t)binding->peer_in[rank];
        pair[RONDO_BUF_OUT] = (uintptr_t)binding->peer_out[rank];
    }
}

/* A run that failed half-way has left these behind. */
static void
forget_run(rondo_plan *plan)
{
    plan->nactive = 0;
    plan->current = RONDO_PLAN_NONE;
    plan->failed = RONDO_PLAN_NONE;
    plan->token_found = 0;
    memset(plan->ready_words, 0, plan->nready_words * sizeof *plan->ready_words);
}

/* What follows from type and operator; most often both are those of the last run. */
static rondo_status
bind_type(rondo_plan *plan, const rondo_binding *binding)
{
    const uint64_t width = rondo_width(binding->dtype);
    rondo_status status = check_type(plan, binding, width);

    if (status == RONDO_OK) {
        status = make_room(plan, width);
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (plan->reduces) {
        plan->kernels[RONDO_KERNEL_PARTIAL] =
            rondo_kernel_find(binding->dtype, binding->op, RONDO_KERNEL_PARTIAL);
        plan->kernels[RONDO_KERNEL_FINAL] =
            rondo_kernel_find(binding->dtype, binding->op, RONDO_KERNEL_FINAL);
    }
    plan->shift = (uint8_t)__builtin_ctzll(width);
    plan->bound_dtype = binding->dtype;
    plan->bound_op = binding->op;
    plan->bound = true;
    return RONDO_OK;
}

rondo_status
rondo_plan_bind(rondo_plan *plan, const rondo_binding *binding)
{
    rondo_status status = check_buffers(plan, binding);

    if (status == RONDO_OK) {
        status = check_routes(plan, binding);
    }
    if (status == RONDO_OK && (!plan->bound || plan->bound_dtype != binding->dtype ||
                               plan->bound_op != binding->op)) {
        status = bind_type(plan, binding);
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (plan->status != RONDO_OK) {
        forget_run(plan);
    }
    plan->binding = *binding;
    bind_memories(plan, binding);
    for (uint32_t at = 0; at < plan->nchannels; at++) {
        rondo_plan_channel *const channel = &plan->channels[at];

        channel->route = binding->routes[channel->peer];
        channel->message.token = binding->token;
    }
    return RONDO_OK;
}
