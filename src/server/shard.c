/* shard.c - a shard's life, and its checks: create, push, pull, leave, join, stats. */
#include "server/shard.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* --- life ------------------------------------------------------------------------- */

void
rondo_shard_config_init(rondo_shard_config *config)
{
    memset(config, 0, sizeof *config);
    config->size = sizeof *config;
    config->rule = RONDO_SHARD_ASYNC;
    config->nworkers = 1;
}

static rondo_status
check_compensation(const rondo_shard_config *config)
{
    if (!isfinite(config->compensation) || config->compensation < 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "compensation is %g; 0 or a positive number is needed",
                           (double)config->compensation);
    }
    if (config->compensation_adaptive > 1) {
        return rondo_error(RONDO_ERR_ARG,
                           "compensation_adaptive is %u; allowed are 0 and 1",
                           config->compensation_adaptive);
    }
    if (config->compensation_adaptive == 1 && config->compensation == 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "compensation_adaptive is 1 and compensation 0: there is "
                           "nothing to adapt");
    }
    if (config->rule == RONDO_SHARD_BACKUP && config->compensation != 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "compensation is %g with the rule backup, which uses no "
                           "stale gradient",
                           (double)config->compensation);
    }
    return RONDO_OK;
}

static rondo_status
check_config(const rondo_shard_config *config)
{
    if (config->size != sizeof *config) {
        return rondo_error(RONDO_ERR_ARG,
                           "size of the shard's configuration is %zu; %zu is what "
                           "rondo_shard_config_init sets",
                           config->size, sizeof *config);
    }
    if ((uint32_t)config->rule > RONDO_SHARD_BOUNDED) {
        return rondo_error(RONDO_ERR_ARG, "rule %d of the shard is unknown",
                           (int)config->rule);
    }
    if (config->nworkers == 0 || config->quorum > config->nworkers) {
        return rondo_error(RONDO_ERR_ARG,
                           "nworkers is %u and quorum %u; at least 1 worker is needed, "
                           "and no more than there are",
                           config->nworkers, config->quorum);
    }
    if (config->staleness_aware > 1) {
        return rondo_error(RONDO_ERR_ARG, "staleness_aware is %u; allowed are 0 and 1",
                           config->staleness_aware);
    }
    if (config->rule == RONDO_SHARD_BACKUP && config->staleness_aware == 1) {
        return rondo_error(RONDO_ERR_ARG,
                           "staleness_aware is 1 with the rule backup, which uses no "
                           "stale gradient");
    }
    if (config->update == NULL) {
        return rondo_error(RONDO_ERR_ARG, "the shard's update function is null");
    }
    return check_compensation(config);
}

static rondo_status
vector_make(uint64_t count, uint64_t vectors, float **vector)
{
    uint64_t elements = 0;
    uint64_t bytes = 0;
    void *memory = NULL;
    rondo_status status = rondo_size(count, vectors, &elements);

    if (status == RONDO_OK) {
        status = rondo_size(elements, sizeof **vector, &bytes);
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(bytes, &memory);
    }
    if (status == RONDO_OK) {
        *vector = memory;
    }
    return status;
}

/* What the configuration asks for and nothing more. */
static rondo_status
vectors_make(rondo_shard *shard)
{
    const uint64_t count = shard->count;
    const uint32_t nworkers = shard->config.nworkers;
    const bool mends = shard->config.compensation != 0;
    rondo_status status = vector_make(count, 1, &shard->parameters);

    if (status == RONDO_OK && shard->rule->keeps) {
        status = vector_make(count, nworkers, &shard->kept);
    }
    if (status == RONDO_OK && mends) {
        status = vector_make(count, nworkers, &shard->pulled);
    }
    if (status == RONDO_OK && mends) {
        status = vector_make(count, 1, &shard->mended);
    }
    if (status == RONDO_OK && shard->config.compensation_adaptive != 0) {
        status = vector_make(count, 1, &shard->squares);
    }
    return status;
}

static rondo_status
build(rondo_shard *shard)
{
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(
        (size_t)shard->config.nworkers * sizeof *shard->workers, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    shard->workers = memory;
    for (uint32_t i = 0; i < shard->config.nworkers; i++) {
        shard->workers[i].living = true;
    }
    return vectors_make(shard);
}

rondo_status
rondo_shard_create(const rondo_shard_config *config, const float *parameters,
                   uint64_t count, rondo_shard **shard)
{
    void *memory = NULL;

    if (config == NULL || parameters == NULL || shard == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_create: a pointer is null");
    }
    if (count == 0) {
        return rondo_error(RONDO_ERR_ARG, "a shard has 0 parameters; 1 is needed");
    }
    rondo_status status = check_config(config);
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(sizeof **shard, &memory);
    }
    if (status != RONDO_OK) {
        return status;
    }
    rondo_shard *const made = memory;
    made->config = *config;
    made->rule = rondo_shard_rule_find(config);
    made->count = count;
    status = build(made);
    if (status != RONDO_OK) {
        rondo_shard_destroy(made);
        return status;
    }
    memcpy(made->parameters, parameters, count * sizeof *parameters);
    *shard = made;
    return RONDO_OK;
}

void
rondo_shard_destroy(rondo_shard *shard)
{
    if (shard == NULL) {
        return;
    }
    rondo_free(shard->parameters);
    rondo_free(shard->kept);
    rondo_free(shard->pulled);
    rondo_free(shard->squares);
    rondo_free(shard->mended);
    rondo_free(shard->workers);
    rondo_free(shard);
}

/* --- push and pull ---------------------------------------------------------------- */

static rondo_status
check_living(const rondo_shard *shard, uint32_t worker, const char *call)
{
    const rondo_status status = rondo_shard_worker_check(shard, worker, call);

    if (status == RONDO_OK && !shard->workers[worker].living) {
        return rondo_error(RONDO_ERR_STATE, "%s: worker %u has left", call, worker);
    }
    return status;
}

static rondo_status
check_push(const rondo_shard *shard, const rondo_shard_push_taken *push)
{
    if (push->version > shard->version) {
        return rondo_error(RONDO_ERR_ARG,
                           "worker %u pushes a gradient of version %llu, and the shard "
                           "is at %llu",
                           push->worker, (unsigned long long)push->version,
                           (unsigned long long)shard->version);
    }
    if (!isfinite(push->weight) || push->weight < 0) {
        return rondo_error(RONDO_ERR_ARG,
                           "worker %u pushes with weight %g; 0 or a positive number is "
                           "needed",
                           push->worker, push->weight);
    }
    if (push->gradient == NULL && push->weight > 0) {
        return rondo_error(RONDO_ERR_ARG, "worker %u pushes null with weight %g",
                           push->worker, push->weight);
    }
    return RONDO_OK;
}

rondo_status
rondo_shard_push(rondo_shard *shard, uint32_t worker, uint64_t number, uint64_t version,
                 double weight, const float *gradient, rondo_push_outcome *outcome)
{
    const rondo_shard_push_taken push = {worker, version, weight, gradient};
    rondo_status status = check_living(shard, worker, "rondo_shard_push");

    if (status == RONDO_OK && outcome == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_push: outcome is null");
    }
    if (status == RONDO_OK) {
        status = check_push(shard, &push);
    }
    if (status != RONDO_OK) {
        return status;
    }
    if (number <= shard->workers[worker].clock) {
        *outcome = RONDO_PUSH_REPEATED;
        return RONDO_OK;
    }
    status = rondo_shard_clock_check(shard, worker, number);
    if (status != RONDO_OK) {
        return status;
    }
    shard->workers[worker].clock = number;
    rondo_shard_note_spread(shard);
    shard->stats.pushes += weight > 0 ? 1 : 0;
    *outcome = shard->rule->take(shard, &push);
    return RONDO_OK;
}

rondo_status
rondo_shard_pull(rondo_shard *shard, uint32_t worker, uint64_t clock,
                 const float **parameters, uint64_t *version)
{
    rondo_status status = check_living(shard, worker, "rondo_shard_pull");

    if (status == RONDO_OK && (parameters == NULL || version == NULL)) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_pull: a pointer is null");
    }
    if (status == RONDO_OK) {
        status = rondo_shard_clock_check(shard, worker, clock);
    }
    if (status != RONDO_OK) {
        return status;
    }
    /* A worker that has given a step up says so here: others need not wait for it. */
    if (clock > shard->workers[worker].clock) {
        shard->workers[worker].clock = clock;
        rondo_shard_note_spread(shard);
        (void)rondo_shard_settle(shard);
    }
    if (!shard->rule->may_pull(shard, worker)) {
        return RONDO_BUSY;
    }
    rondo_shard_remember(shard, worker);
    shard->stats.pulls++;
    *parameters = shard->parameters;
    *version = shard->version;
    return RONDO_OK;
}

/* --- what is to be seen ----------------------------------------------------------- */

void
rondo_shard_watch(rondo_shard *shard, rondo_shard_watcher watcher, void *user)
{
    shard->watcher = watcher;
    shard->watcher_user = user;
}

void
rondo_shard_changing(const rondo_shard *shard)
{
    if (shard->watcher != NULL) {
        shard->watcher(shard->watcher_user);
    }
}

rondo_status
rondo_shard_stats_get(const rondo_shard *shard, rondo_shard_stats *stats)
{
    if (shard == NULL || stats == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_shard_stats_get: a pointer is null");
    }
    if (stats->size < sizeof *stats) {
        return rondo_error(RONDO_ERR_ARG,
                           "size of the shard's stats is %zu; allowed is %zu or more",
                           stats->size, sizeof *stats);
    }
    rondo_shard_stats now = shard->stats;
    now.size = stats->size;
    now.version = shard->version;
    now.clock_least = rondo_shard_least(shard);
    now.clock_largest = rondo_shard_most(shard);
    now.living = rondo_shard_living(shard);
    memcpy(stats, &now, sizeof now);
    return RONDO_OK;
}

const float *
rondo_shard_parameters(const rondo_shard *shard, uint64_t *count)
{
    if (shard == NULL) {
        (void)rondo_error(RONDO_ERR_ARG, "rondo_shard_parameters: the shard is null");
        return NULL;
    }
    if (count != NULL) {
        *count = shard->count;
    }
    return shard->parameters;
}
