/* sync.c - a synchroniser's life: create, add, commit, destroy. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "sync/state.h"

#define FIRST_BUCKET_BYTES (UINT64_C(64) << 10)
#define BUCKET_BYTES       (UINT64_C(1) << 20)

rondo_status
rondo_sync_fail(rondo_sync *sync, rondo_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sync->text, sizeof sync->text, format, arguments);
    va_end(arguments);
    return rondo_error(status, "%s", sync->text);
}

rondo_status
rondo_sync_keep(rondo_sync *sync, rondo_status status)
{
    (void)snprintf(sync->text, sizeof sync->text, "%s", rondo_error_text());
    return status;
}

void
rondo_sync_config_init(rondo_sync_config *config)
{
    memset(config, 0, sizeof *config);
    config->size = sizeof *config;
    config->mode = RONDO_SYNC_ALL_REDUCE;
    config->first_bucket_bytes = FIRST_BUCKET_BYTES;
    config->bucket_bytes = BUCKET_BYTES;
}

static rondo_status
config_check(const rondo_sync_config *config, uint32_t nranks)
{
    if (config->size != sizeof *config) {
        return rondo_error(RONDO_ERR_ARG,
                           "size of the synchroniser's configuration is %zu; %zu is "
                           "what rondo_sync_config_init sets",
                           config->size, sizeof *config);
    }
    if (config->mode != RONDO_SYNC_ALL_REDUCE && config->mode != RONDO_SYNC_NONE) {
        return rondo_error(RONDO_ERR_ARG, "mode %d of the synchroniser is unknown",
                           (int)config->mode);
    }
    if (config->canonical > 1) {
        return rondo_error(RONDO_ERR_ARG, "canonical is %u; allowed are 0 and 1",
                           config->canonical);
    }
    if (config->canonical == 1 && (nranks & (nranks - 1)) != 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "canonical needs a power of two ranks, and there are %u",
                           nranks);
    }
    if (config->first_bucket_bytes == 0 || config->bucket_bytes == 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "first_bucket_bytes is %llu and bucket_bytes %llu; at least "
                           "1 is needed",
                           (unsigned long long)config->first_bucket_bytes,
                           (unsigned long long)config->bucket_bytes);
    }
    return RONDO_OK;
}

static rondo_status
allocate(uint32_t nranks, rondo_sync **sync)
{
    void *memory = NULL;
    void *compared = NULL;
    rondo_status status = rondo_alloc_zero(sizeof **sync, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_alloc_zero(
        (size_t)nranks * RONDO_SYNC_LAYOUT_WORDS * sizeof(uint64_t), &compared);
    if (status != RONDO_OK) {
        rondo_free(memory);
        return status;
    }
    *sync = memory;
    (*sync)->compared = compared;
    return RONDO_OK;
}

rondo_status
rondo_sync_create(rondo_comm *comm, const rondo_sync_config *config, rondo_sync **sync)
{
    rondo_sync_config settings;
    rondo_sync *made = NULL;

    if (comm == NULL || sync == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_sync_create: a pointer is null");
    }
    rondo_sync_config_init(&settings);
    const uint32_t nranks = rondo_comm_nranks(comm);
    rondo_status status = config_check(config != NULL ? config : &settings, nranks);
    if (status != RONDO_OK) {
        return status;
    }
    status = allocate(nranks, &made);
    if (status != RONDO_OK) {
        return status;
    }
    made->comm = comm;
    made->rank = rondo_comm_rank(comm);
    made->nranks = nranks;
    made->config = config != NULL ? *config : settings;
    made->phase = RONDO_SYNC_ADDING;
    made->broken = RONDO_OK;
    *sync = made;
    return RONDO_OK;
}

static rondo_status
param_append(rondo_sync *sync, const char *name, float *grad, uint64_t count)
{
    void *items = sync->params;
    void *copy = NULL;
    const size_t name_bytes = strlen(name) + 1;
    rondo_status status = rondo_alloc_grow(&items, sync->nparams, &sync->params_room,
                                           sizeof *sync->params);

    if (status != RONDO_OK) {
        return rondo_sync_keep(sync, status);
    }
    sync->params = items;
    status = rondo_alloc_zero(name_bytes, &copy);
    if (status != RONDO_OK) {
        return rondo_sync_keep(sync, status);
    }
    memcpy(copy, name, name_bytes);
    sync->params[sync->nparams] =
        (rondo_sync_param){.name = copy, .grad = grad, .count = count};
    sync->nparams++;
    return RONDO_OK;
}

rondo_status
rondo_sync_add(rondo_sync *sync, const char *name, float *grad, uint64_t count,
               uint32_t *param)
{
    if (sync == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_sync_add: the synchroniser is null");
    }
    if (sync->phase != RONDO_SYNC_ADDING) {
        return rondo_sync_fail(sync, RONDO_ERR_STATE,
                               "a parameter was added after rondo_sync_commit");
    }
    if (name == NULL || grad == NULL || param == NULL) {
        return rondo_sync_fail(sync, RONDO_ERR_ARG,
                               "rondo_sync_add: a pointer of parameter %llu is null",
                               (unsigned long long)sync->nparams);
    }
    if (count == 0 || count > PTRDIFF_MAX / sizeof *grad ||
        sync->nparams == INT32_MAX) {
        return rondo_sync_fail(sync, RONDO_ERR_ARG,
                               "parameter %llu, \"%.*s\", has %llu elements",
                               (unsigned long long)sync->nparams, RONDO_SYNC_NAME_SHOWN,
                               name, (unsigned long long)count);
    }
    const rondo_status status = param_append(sync, name, grad, count);
    if (status == RONDO_OK) {
        *param = (uint32_t)(sync->nparams - 1);
    }
    return status;
}

rondo_status
rondo_sync_commit(rondo_sync *sync)
{
    if (sync == NULL) {
        return rondo_error(RONDO_ERR_ARG,
                           "rondo_sync_commit: the synchroniser is null");
    }
    if (sync->phase != RONDO_SYNC_ADDING) {
        return rondo_sync_fail(sync, RONDO_ERR_STATE,
                               "rondo_sync_commit was called twice");
    }
    const rondo_status planned = rondo_sync_plan(sync);
    if (planned != RONDO_OK) {
        (void)rondo_sync_keep(sync, planned);
    }
    /* A rank that cannot go on takes part all the same: the others wait for it. */
    const rondo_status status = rondo_sync_compare(sync, planned);
    if (status != RONDO_OK) {
        rondo_sync_unplan(sync);
        return status;
    }
    sync->phase = RONDO_SYNC_IDLE;
    return RONDO_OK;
}

const char *
rondo_sync_error_text(const rondo_sync *sync)
{
    return sync != NULL ? sync->text : "";
}

void
rondo_sync_destroy(rondo_sync *sync)
{
    if (sync == NULL) {
        return;
    }
    rondo_sync_drain(sync);
    rondo_sync_unplan(sync);
    for (uint64_t i = 0; i < sync->nparams; i++) {
        rondo_free(sync->params[i].name);
    }
    rondo_free(sync->params);
    rondo_free(sync->compared);
    rondo_free(sync);
}
