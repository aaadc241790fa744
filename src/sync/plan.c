/* plan.c - which parameters share a bucket, where it lies, and how it is packed. */
#include <stdlib.h>
#include <string.h>

#include <rondo/mem.h>

#include "base/alloc.h"
#include "base/check.h"
#include "sync/state.h"

/* Memory of a bucket begins on a cache line of its own. */
#define LINE_FLOATS ((uint64_t)16)

static uint64_t
lines(uint64_t count)
{
    return (count + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
}

static int
by_address(const void *left, const void *right)
{
    const rondo_sync_param *const a = *(const rondo_sync_param *const *)left;
    const rondo_sync_param *const b = *(const rondo_sync_param *const *)right;

    return (a->grad > b->grad) - (a->grad < b->grad);
}

/* Overlapping gradients would be averaged twice, or while they are being written. */
static rondo_status
overlap_find(const rondo_sync *sync)
{
    void *memory = NULL;
    rondo_status status =
        rondo_alloc_zero(sync->nparams * sizeof(rondo_sync_param *), &memory);

    if (status != RONDO_OK) {
        return status;
    }
    const rondo_sync_param **const sorted = memory;
    for (uint64_t i = 0; i < sync->nparams; i++) {
        sorted[i] = &sync->params[i];
    }
    qsort(sorted, sync->nparams, sizeof *sorted, by_address);
    for (uint64_t i = 1; i < sync->nparams && status == RONDO_OK; i++) {
        const rondo_sync_param *const low = sorted[i - 1];
        if (low->grad + low->count > sorted[i]->grad) {
            status = rondo_error(RONDO_ERR_ARG,
                                 "the gradients of \"%.*s\" and \"%.*s\" overlap",
                                 RONDO_SYNC_NAME_SHOWN, low->name,
                                 RONDO_SYNC_NAME_SHOWN, sorted[i]->name);
        }
    }
    rondo_free(memory);
    return status;
}

/* From the last parameter to the first; a bucket is closed when it has its bytes, so
 * that a large tensor does not wait for the ones before it. */
static void
group(rondo_sync *sync)
{
    uint32_t used = 0;
    bool open = false;

    for (uint64_t i = sync->nparams; i-- > 0;) {
        rondo_sync_bucket *const bucket = &sync->buckets[used];
        bucket->first = (uint32_t)i;
        bucket->nparams++;
        bucket->count += sync->params[i].count;
        sync->params[i].bucket = used;
        const uint64_t limit =
            used == 0 ? sync->config.first_bucket_bytes : sync->config.bucket_bytes;
        open = bucket->count * sizeof(float) < limit;
        used += open ? 0 : 1;
    }
    sync->nbuckets = used + (open ? 1 : 0);
}

static bool
is_contiguous(const rondo_sync *sync, const rondo_sync_bucket *bucket)
{
    for (uint32_t i = bucket->first; i + 1 < bucket->first + bucket->nparams; i++) {
        const rondo_sync_param *const param = &sync->params[i];
        if (param->grad + param->count != sync->params[i + 1].grad) {
            return false;
        }
    }
    return true;
}

/* Elements of extra memory the bucket wants. */
static uint64_t
extra_count(const rondo_sync *sync, const rondo_sync_bucket *bucket)
{
    const uint64_t packing = bucket->packed ? lines(bucket->count) : 0;
    const uint64_t gathering =
        sync->config.canonical != 0 ? lines(bucket->count * sync->nranks) : 0;

    return packing + gathering;
}

static void
place(rondo_sync *sync)
{
    float *free_at = sync->memory;

    for (uint32_t b = 0; b < sync->nbuckets; b++) {
        rondo_sync_bucket *const bucket = &sync->buckets[b];
        bucket->data = sync->params[bucket->first].grad;
        if (bucket->packed) {
            bucket->data = free_at;
            free_at += lines(bucket->count);
        }
        if (sync->config.canonical != 0) {
            bucket->gathered = free_at;
            free_at += lines(bucket->count * sync->nranks);
        }
    }
}

static rondo_status
memory_get(rondo_sync *sync)
{
    uint64_t floats = 0;

    for (uint32_t b = 0; b < sync->nbuckets; b++) {
        rondo_sync_bucket *const bucket = &sync->buckets[b];
        bucket->packed = !is_contiguous(sync, bucket);
        floats += extra_count(sync, bucket);
    }
    if (floats == 0) {
        place(sync);
        return RONDO_OK;
    }
    void *memory = NULL;
    const rondo_status status = rondo_mem_alloc(floats * sizeof(float), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    sync->memory = memory;
    place(sync);
    return RONDO_OK;
}

rondo_status
rondo_sync_plan(rondo_sync *sync)
{
    RONDO_ASSERT(sync->buckets == NULL);
    if (sync->config.mode == RONDO_SYNC_NONE || sync->nparams == 0) {
        return RONDO_OK;
    }
    rondo_status status = overlap_find(sync);
    if (status != RONDO_OK) {
        return status;
    }
    void *memory = NULL;
    status = rondo_alloc_zero(sync->nparams * sizeof *sync->buckets, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    sync->buckets = memory;
    group(sync);
    status = memory_get(sync);
    if (status != RONDO_OK) {
        rondo_sync_unplan(sync);
    }
    return status;
}

void
rondo_sync_unplan(rondo_sync *sync)
{
    rondo_mem_free(sync->memory);
    rondo_free(sync->buckets);
    sync->memory = NULL;
    sync->buckets = NULL;
    sync->nbuckets = 0;
}

void
rondo_sync_pack(const rondo_sync *sync, const rondo_sync_bucket *bucket)
{
    float *at = bucket->data;

    for (uint32_t i = bucket->first; i < bucket->first + bucket->nparams; i++) {
        const rondo_sync_param *const param = &sync->params[i];
        memcpy(at, param->grad, param->count * sizeof *at);
        at += param->count;
    }
}

void
rondo_sync_unpack(const rondo_sync *sync, const rondo_sync_bucket *bucket)
{
    const float *at = bucket->data;

    for (uint32_t i = bucket->first; i < bucket->first + bucket->nparams; i++) {
        const rondo_sync_param *const param = &sync->params[i];
        memcpy(param->grad, at, param->count * sizeof *at);
        at += param->count;
    }
}
