/* serving.c - a server rank: its shards, and the loop that serves (see serving.h). */
#include "modes/serving.h"

#include "clock.h"
#include "modes/shard_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* How long the server is left alone, at most: then files and the door are looked
 * after. */
#define SERVE_MS 20u

/* --- shards ----------------------------------------------------------------------- */

static void
make_update(void *user, const rondo_shard_update *update, const float *gradient,
            float *parameters, uint64_t count)
{
    serving_shard *s = user;
    const uint64_t step = update->version / s->rule->updates;
    const uint64_t last = s->t->rate.steps - 1;
    const double rate = rate_at(&s->t->rate, step < last ? step : last);
    const optimiser_part part = {.from = s->begin,
                                 .count = count,
                                 .gradient = gradient,
                                 .parameter = parameters};
    span_begin(&s->t->account.spans, SPAN_UPDATE, update->version);
    optimiser_step_part(&s->descent,
                        (float)(rate * s->rule->share / (double)update->staleness_of),
                        &part);
    span_end(&s->t->account.spans);
    /* What is in the trace is written at the end. */
    (void)trace_step_done(&s->t->trace);
}

static bool
make_shard(serving *v, serving_shard *s, problem *why)
{
    const options *o = v->t->o;
    rondo_shard_config config;
    rondo_shard_config_init(&config);
    config.rule = v->rule.rule;
    config.nworkers = v->t->workers;
    config.quorum = v->rule.quorum;
    config.bound = v->rule.bound;
    config.staleness_aware = o->staleness_aware ? 1 : 0;
    config.compensation = (float)o->compensate;
    config.compensation_adaptive = o->compensate_adaptive ? 1 : 0;
    config.update = make_update;
    config.user = s;
    s->descent = v->t->descent;
    s->descent.steps = 0;
    const rondo_status status =
        rondo_shard_create(&config, v->t->parameter + s->begin, s->count, &s->shard);
    return status == RONDO_OK ||
           problem_fail(why, "making a shard: %s", rondo_error_text());
}

static uint64_t
version_of(const serving_shard *s)
{
    rondo_shard_stats stats = {.size = sizeof stats};
    return rondo_shard_stats_get(s->shard, &stats) == RONDO_OK ? stats.version : 0;
}

/* needed: it was elsewhere, or in this process before it was restarted. Otherwise it
 * may be there, with --resume, or must not. */
static bool
fetch_shard(serving *v, uint32_t index, bool needed, problem *why)
{
    const options *o = v->t->o;
    serving_shard *s = &v->shard[index];
    if (needed && o->checkpoint == NULL) {
        return problem_fail(why,
                            "the parameters of server %u are lost with it: there is no "
                            "--checkpoint to take them from",
                            index);
    }
    const bool there = o->checkpoint != NULL && shard_file_exists(o->checkpoint, index);
    if (needed && !there) {
        return problem_fail(why,
                            "the parameters of server %u are lost with it: "
                            "--checkpoint %s has none of them",
                            index, o->checkpoint);
    }
    if (there && !needed && !o->resume) {
        return problem_fail(why,
                            "--checkpoint %s has a state of shard %u; --resume goes on "
                            "from there, another directory begins anew",
                            o->checkpoint, index);
    }
    if (there && !shard_file_load(o->checkpoint, index, s, why)) {
        return false;
    }
    s->saved = version_of(s);
    return true;
}

static bool
save_shards(serving *v, uint64_t every, problem *why)
{
    for (uint32_t index = 0; index < v->shards; index++) {
        serving_shard *s = &v->shard[index];
        if (v->t->o->checkpoint == NULL || s->shard == NULL) {
            continue;
        }
        const uint64_t version = version_of(s);
        if (version < s->saved + every) {
            continue;
        }
        if (!shard_file_save(v->t->o->checkpoint, index, s, why)) {
            return false;
        }
        s->saved = version;
    }
    return true;
}

static bool
add_shard(serving *v, uint32_t index, problem *why)
{
    const rondo_status status =
        rondo_server_add(v->server, index, v->shard[index].shard);
    return status == RONDO_OK || problem_fail(why, "serving shard %u: %s", index,
                                              rondo_server_error_text(v->server));
}

/* --- life ------------------------------------------------------------------------- */

/* Shards that are placed here and are not here yet; or the other way round. */
static bool
move_shards(serving *v, const places *where, bool restored, problem *why)
{
    for (uint32_t index = 0; index < v->shards; index++) {
        serving_shard *s = &v->shard[index];
        const bool here = where->owner[index] == v->t->all->rank;
        if (!here) {
            rondo_shard_destroy(s->shard);
            s->shard = NULL;
        }
        if (!here || s->shard != NULL) {
            continue;
        }
        if (!make_shard(v, s, why) || !fetch_shard(v, index, restored, why) ||
            !add_shard(v, index, why)) {
            return false;
        }
    }
    /* At once: whoever takes over must find something. */
    return save_shards(v, restored ? 1 : 0, why);
}

bool
serving_create(trainer *t, const serving_rule *rule, const places *where, serving *v,
               problem *why)
{
    *v = (serving){.t = t, .rule = *rule, .shards = where->placement.nshards};
    v->shard = calloc(v->shards, sizeof *v->shard);
    if (v->shard == NULL) {
        return problem_fail(why, "no memory for %u shards", v->shards);
    }
    for (uint32_t index = 0; index < v->shards; index++) {
        serving_shard *s = &v->shard[index];
        s->t = t;
        s->rule = &v->rule;
        s->begin = places_begin(where, index);
        s->count = places_begin(where, index + 1) - s->begin;
    }
    const rondo_status status =
        rondo_server_create(t->all->comm, &where->placement, &v->server);
    if (status != RONDO_OK) {
        return ranks_fail(t->all, status, "making a server", why);
    }
    return move_shards(v, where, t->newcomer, why);
}

void
serving_free(serving *v)
{
    rondo_server_destroy(v->server);
    v->server = NULL;
    for (uint32_t index = 0; index < v->shards && v->shard != NULL; index++) {
        rondo_shard_destroy(v->shard[index].shard);
    }
    free(v->shard);
    v->shard = NULL;
}

bool
serving_part(serving *v, problem *why)
{
    return save_shards(v, 1, why);
}

bool
serving_bind(serving *v, const places *where, problem *why)
{
    const rondo_status status =
        rondo_server_bind(v->server, v->t->all->comm, &where->placement);
    if (status != RONDO_OK) {
        return problem_fail(why, "serving the new group: %s (%s)",
                            rondo_server_error_text(v->server),
                            rondo_status_name(status));
    }
    v->done = false;
    v->alone_since = 0.0;
    return move_shards(v, where, true, why);
}

void
serving_wake(void *user)
{
    serving *v = user;
    rondo_server_wake(v->server);
}

/* --- the loop --------------------------------------------------------------------- */

/* Updates from one file of a shard to the next. */
static uint64_t
file_every(const serving *v)
{
    const uint64_t steps = v->t->o->checkpoint_every;
    return (steps > 0 ? steps : v->t->run.steps_per_epoch) * v->rule.updates;
}

/* A server whose workers have all died waits for one to come back. */
static bool
wait_alone(serving *v, problem *why)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const double now = clock_seconds();
    if (v->alone_since <= 0.0) {
        v->alone_since = now;
    }
    if (v->t->o->door == NULL) {
        return problem_fail(why, "all workers are gone");
    }
    if (now - v->alone_since > v->t->o->return_timeout) {
        return problem_fail(why, "all workers are gone, and none is back after %g s",
                            v->t->o->return_timeout);
    }
    (void)nanosleep(&pause, NULL);
    return true;
}

static bool
serve(serving *v, uint64_t ms, rondo_status *status, problem *why)
{
    *status = rondo_server_serve(v->server, ms);
    return *status == RONDO_OK || *status == RONDO_BUSY ||
           problem_fail(why, "serving: %s (%s)", rondo_server_error_text(v->server),
                        rondo_status_name(*status));
}

bool
serving_answer(serving *v, problem *why)
{
    rondo_status status = RONDO_BUSY;
    return serve(v, 1, &status, why);
}

static bool
serve_a_little(serving *v, const places *where, problem *why)
{
    rondo_status status = RONDO_BUSY;
    if (where->working == 0 && where->done == 0) {
        return wait_alone(v, why);
    }
    if (!serve(v, SERVE_MS, &status, why)) {
        return false;
    }
    v->done = status == RONDO_OK;
    return save_shards(v, v->done ? 1 : file_every(v), why);
}

bool
serving_serve(serving *v, const places *where, problem *why)
{
    while (!v->done) {
        if (group_renewal_due(v->t->group)) {
            return problem_fail(why, "a rank waits at the door");
        }
        if (!serve_a_little(v, where, why)) {
            return false;
        }
    }
    return true;
}
