/* step.c - one training step: buckets start when they are full and end in order. */
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "sync/state.h"

/* How long destroy waits for a request of a communicator that it has just aborted. */
#define DRAIN_MS 2000

/* The step, the bucket, what is in it, and who says so, in front of every error. */
static void
place_text(const rondo_sync *sync, uint32_t index, char *text, size_t text_bytes)
{
    const rondo_sync_bucket *const bucket = &sync->buckets[index];
    const uint32_t last = bucket->first + bucket->nparams - 1;

    (void)snprintf(
        text, text_bytes,
        "step %llu, bucket %u of %u (\"%.*s\" to \"%.*s\", %llu elements) on "
        "rank %u",
        (unsigned long long)sync->step, index, sync->nbuckets, RONDO_SYNC_NAME_SHOWN,
        sync->params[bucket->first].name, RONDO_SYNC_NAME_SHOWN,
        sync->params[last].name, (unsigned long long)bucket->count, sync->rank);
}

/* A bucket's operation failed; what the communicator says comes behind the place. */
static rondo_status
bucket_failed(rondo_sync *sync, uint32_t index, rondo_status status)
{
    char place[256];

    place_text(sync, index, place, sizeof place);
    if (rondo_status_group_of(status) == RONDO_GROUP_BROKEN) {
        sync->broken = status;
    }
    return rondo_sync_fail(sync, status, "%s: %s", place,
                           rondo_comm_error_text(sync->comm));
}

static rondo_status
bucket_start(rondo_sync *sync, uint32_t index)
{
    rondo_sync_bucket *const bucket = &sync->buckets[index];
    rondo_status status = RONDO_OK;

    if (bucket->packed) {
        rondo_sync_pack(sync, bucket);
    }
    if (bucket->gathered != NULL) {
        status = rondo_all_gather_start(sync->comm, bucket->data, bucket->gathered,
                                        bucket->count, RONDO_FP32, &bucket->request);
    } else {
        status = rondo_all_reduce_start(sync->comm, bucket->data, bucket->data,
                                        bucket->count, RONDO_FP32, RONDO_AVG,
                                        &bucket->request);
    }
    if (status != RONDO_OK) {
        return bucket_failed(sync, index, status);
    }
    if (index == 0) {
        sync->first_start_ns = rondo_now_ns();
    }
    sync->payload_bytes += bucket->count * sizeof(float);
    return RONDO_OK;
}

/* The order of starts is the plan's on every rank, whatever becomes ready first. */
static rondo_status
start_full(rondo_sync *sync)
{
    while (sync->started < sync->nbuckets &&
           sync->buckets[sync->started].unready == 0) {
        const rondo_status status = bucket_start(sync, sync->started);
        if (status != RONDO_OK) {
            return status;
        }
        sync->started++;
    }
    return RONDO_OK;
}

/* The request of the oldest bucket in flight has ended with `status`. */
static rondo_status
bucket_finish(rondo_sync *sync, rondo_status status)
{
    const uint32_t index = sync->finished;
    rondo_sync_bucket *const bucket = &sync->buckets[index];

    bucket->request = NULL;
    if (status != RONDO_OK) {
        return bucket_failed(sync, index, status);
    }
    if (bucket->gathered != NULL) {
        rondo_sync_tree_mean(bucket->gathered, sync->nranks, bucket->count,
                             bucket->data);
    }
    if (bucket->packed) {
        rondo_sync_unpack(sync, bucket);
    }
    sync->finished++;
    sync->last_end_ns = rondo_now_ns();
    return RONDO_OK;
}

/* Operations of a communicator end in the order of their calls: asking the oldest moves
 * all and is enough. */
static rondo_status
finish_some(rondo_sync *sync)
{
    while (sync->finished < sync->started) {
        rondo_status status = rondo_request_test(sync->buckets[sync->finished].request);
        if (status == RONDO_BUSY) {
            return RONDO_OK;
        }
        status = bucket_finish(sync, status);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_sync_step_begin(rondo_sync *sync)
{
    if (sync == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_sync_step_begin: null");
    }
    if (sync->broken != RONDO_OK) {
        return sync->broken;
    }
    if (sync->phase != RONDO_SYNC_IDLE) {
        return rondo_sync_fail(sync, RONDO_ERR_STATE, "rondo_sync_step_begin %s",
                               sync->phase == RONDO_SYNC_ADDING
                                   ? "before rondo_sync_commit"
                                   : "before the last step was waited for");
    }
    for (uint64_t i = 0; i < sync->nparams; i++) {
        sync->params[i].ready = false;
    }
    for (uint32_t b = 0; b < sync->nbuckets; b++) {
        sync->buckets[b].unready = sync->buckets[b].nparams;
    }
    sync->started = 0;
    sync->finished = 0;
    sync->payload_bytes = 0;
    sync->first_start_ns = 0;
    sync->last_end_ns = 0;
    sync->phase = RONDO_SYNC_STEPPING;
    return RONDO_OK;
}

static rondo_status
outside_step(rondo_sync *sync, const char *function)
{
    return rondo_sync_fail(sync, RONDO_ERR_STATE, "%s outside a step", function);
}

rondo_status
rondo_sync_grad_ready(rondo_sync *sync, uint32_t param)
{
    if (sync == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_sync_grad_ready: null");
    }
    if (sync->broken != RONDO_OK) {
        return sync->broken;
    }
    if (sync->phase != RONDO_SYNC_STEPPING) {
        return outside_step(sync, "rondo_sync_grad_ready");
    }
    if (param >= sync->nparams) {
        return rondo_sync_fail(sync, RONDO_ERR_ARG,
                               "there is no parameter %u; %llu were added", param,
                               (unsigned long long)sync->nparams);
    }
    rondo_sync_param *const said = &sync->params[param];
    if (said->ready) {
        return rondo_sync_fail(
            sync, RONDO_ERR_STATE, "step %llu: parameter %u, \"%.*s\", is ready twice",
            (unsigned long long)sync->step, param, RONDO_SYNC_NAME_SHOWN, said->name);
    }
    said->ready = true;
    if (sync->nbuckets == 0) {
        return RONDO_OK;
    }
    sync->buckets[said->bucket].unready--;
    const rondo_status status = start_full(sync);
    return status == RONDO_OK ? finish_some(sync) : status;
}

rondo_status
rondo_sync_progress(rondo_sync *sync)
{
    if (sync == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_sync_progress: null");
    }
    if (sync->broken != RONDO_OK) {
        return sync->broken;
    }
    return sync->phase == RONDO_SYNC_STEPPING ? finish_some(sync) : RONDO_OK;
}

static rondo_status
all_ready(rondo_sync *sync)
{
    for (uint64_t i = sync->nparams; i-- > 0;) {
        if (!sync->params[i].ready) {
            return rondo_sync_fail(
                sync, RONDO_ERR_STATE,
                "step %llu: parameter %llu, \"%.*s\", was not marked ready",
                (unsigned long long)sync->step, (unsigned long long)i,
                RONDO_SYNC_NAME_SHOWN, sync->params[i].name);
        }
    }
    return RONDO_OK;
}

/* Time is up: the others must not wait for a rank that has given up, so it says so. */
static rondo_status
step_timed_out(rondo_sync *sync)
{
    char place[256];

    place_text(sync, sync->finished, place, sizeof place);
    const rondo_status aborted = rondo_comm_abort(sync->comm);
    sync->broken = RONDO_ERR_TIMEOUT;
    return rondo_sync_fail(
        sync, RONDO_ERR_TIMEOUT, "%s: not averaged within %llu ms; the communicator %s",
        place, (unsigned long long)sync->config.step_timeout_ms,
        aborted == RONDO_OK ? "was aborted" : "could not be aborted");
}

static rondo_status
finish_all(rondo_sync *sync, uint64_t deadline_ns)
{
    while (sync->finished < sync->nbuckets) {
        const uint64_t now_ns = rondo_now_ns();
        const uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        const uint64_t left_ms =
            deadline_ns == RONDO_NEVER
                ? RONDO_WAIT_FOREVER
                : (left_ns + RONDO_NS_PER_MS - 1) / RONDO_NS_PER_MS;
        RONDO_ASSERT(sync->finished < sync->started);
        rondo_status status =
            rondo_request_wait(sync->buckets[sync->finished].request, left_ms);
        if (status == RONDO_BUSY && left_ns == 0) {
            return step_timed_out(sync);
        }
        if (status == RONDO_BUSY) {
            continue;
        }
        status = bucket_finish(sync, status);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

static rondo_status
may_wait(rondo_sync *sync, const rondo_sync_step_info *info)
{
    if (sync->broken != RONDO_OK) {
        return sync->broken;
    }
    if (sync->phase != RONDO_SYNC_STEPPING) {
        return outside_step(sync, "rondo_sync_step_wait");
    }
    if (info != NULL && info->size != sizeof *info) {
        return rondo_sync_fail(sync, RONDO_ERR_ARG,
                               "size of rondo_sync_step_info is %zu; %zu is needed",
                               info->size, sizeof *info);
    }
    return all_ready(sync);
}

rondo_status
rondo_sync_step_wait(rondo_sync *sync, rondo_sync_step_info *info)
{
    if (sync == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_sync_step_wait: null");
    }
    rondo_status status = may_wait(sync, info);
    if (status != RONDO_OK) {
        return status;
    }
    const uint64_t begin_ns = rondo_now_ns();
    const uint64_t limit_ms = sync->config.step_timeout_ms;
    status = start_full(sync);
    if (status == RONDO_OK) {
        status =
            finish_all(sync, limit_ms == 0 ? RONDO_NEVER : rondo_deadline_ns(limit_ms));
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (info != NULL) {
        info->step = sync->step;
        info->payload_bytes = sync->payload_bytes;
        info->wait_ns = rondo_now_ns() - begin_ns;
        info->communication_ns = sync->last_end_ns - sync->first_start_ns;
    }
    sync->step++;
    sync->phase = RONDO_SYNC_IDLE;
    return RONDO_OK;
}

void
rondo_sync_drain(rondo_sync *sync)
{
    for (uint32_t b = 0; b < sync->nbuckets; b++) {
        rondo_request *const request = sync->buckets[b].request;
        if (request == NULL) {
            continue;
        }
        rondo_status status = rondo_request_test(request);
        if (status == RONDO_BUSY) {
            (void)!rondo_comm_abort(sync->comm);
            status = rondo_request_wait(request, DRAIN_MS);
        }
        sync->buckets[b].request = NULL;
    }
}
