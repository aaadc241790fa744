/* served.c - what all ranks of backup, async and ssp do together: meet, meet again, end
 * (see served.h). */
#include "modes/served.h"

#include "clock.h"
#include "memory.h"
#include "modes/served_inside.h"

#include <stdlib.h>
#include <string.h>

/* --- meeting ---------------------------------------------------------------------- */

static void
wake(void *user)
{
    const served *w = user;
    if (w->server != NULL && w->server->server != NULL) {
        rondo_server_wake(w->server->server);
    }
    if (w->client != NULL) {
        rondo_client_wake(w->client);
    }
}

static bool
meet_servers(trainer *t, served *w, problem *why)
{
    const rondo_status status =
        rondo_client_create(t->all->comm, &w->where.placement, t->worker, &w->client);
    return status == RONDO_OK || ranks_fail(t->all, status, "meeting the servers", why);
}

/* With the shards' clock: after a start, a return or --resume. */
static bool
begin_work(trainer *t, served *w, problem *why)
{
    if (!w->where.served) {
        w->lost_since = clock_seconds();
        return true;
    }
    if (!meet_servers(t, w, why) || !served_pull(t, w, why)) {
        return false;
    }
    t->step = served_steps(w);
    return true;
}

/* Until all ranks are here. Servers answer meanwhile: whoever is missing may be in a
 * pull. */
static bool
meet_all(trainer *t, served *w, problem *why)
{
    rondo_request *request = NULL;
    rondo_status status = rondo_barrier_start(t->all->comm, &request);
    while (status == RONDO_OK && (status = rondo_request_test(request)) == RONDO_BUSY) {
        if (w->server != NULL && !serving_answer(w->server, why)) {
            return false; /* The communicator is broken; the request ends with it. */
        }
        served_pause();
        status = RONDO_OK;
    }
    return status == RONDO_OK || ranks_fail(t->all, status, "meeting all ranks", why);
}

static bool
begin(trainer *t, served *w, problem *why)
{
    if (t->worker != NO_WORKER) {
        return begin_work(t, w, why);
    }
    w->server = calloc(1, sizeof *w->server);
    return w->server != NULL ? serving_create(t, &w->rule, &w->where, w->server, why)
                             : problem_fail(why, "no memory for a server");
}

static bool
bind_client(trainer *t, served *w, problem *why)
{
    if (!w->where.served) {
        /* It cannot be bound to anybody; another one will begin anew. */
        rondo_client_destroy(w->client);
        w->client = NULL;
        w->phase = PHASE_COMPUTE;
        w->lost_since = w->lost_since > 0.0 ? w->lost_since : clock_seconds();
        return true;
    }
    w->lost_since = 0.0;
    w->pulled = false; /* Shards may be where they were some time ago. */
    if (w->done) {
        return true;
    }
    if (w->client == NULL) {
        return meet_servers(t, w, why);
    }
    const rondo_status status =
        rondo_client_bind(w->client, t->all->comm, &w->where.placement);
    return status == RONDO_OK || served_fail(w, status, "meeting the servers", why);
}

/* In a new group, the first one too. */
static bool
come_together(trainer *t, served *w, problem *why)
{
    const bool fresh = w->client == NULL && w->server == NULL && w->lost_since <= 0.0;
    if (!places_find(t, w->done, &w->where, why)) {
        return false;
    }
    bool good = false;
    if (fresh && !w->done) {
        good = begin(t, w, why);
    } else if (w->server != NULL) {
        good = serving_bind(w->server, &w->where, why);
    } else {
        good = bind_client(t, w, why);
    }
    return good && meet_all(t, w, why);
}

bool
served_create(trainer *t, const serving_rule *rule, problem *why)
{
    served *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return problem_fail(why, "no memory for mode %s",
                            options_mode_text(t->o->mode));
    }
    t->mode_state = w;
    w->rule = *rule;
    w->by_version = rule->rule == RONDO_SHARD_BACKUP;
    w->cancels = w->by_version && t->o->policy == POLICY_CANCEL;
    t->group->wake = wake;
    t->group->wake_user = w;
    w->gradient = memory_floats(t->net.parameters + 1, why);
    return w->gradient != NULL && places_create(t, &w->where, why) &&
           (t->newcomer || come_together(t, w, why));
}

bool
served_serve(trainer *t, problem *why)
{
    served *w = t->mode_state;
    return serving_serve(w->server, &w->where, why);
}

bool
served_regroup(trainer *t, problem *why)
{
    served *w = t->mode_state;
    return (w->server == NULL || serving_part(w->server, why)) &&
           come_together(t, w, why);
}

/* --- the end ---------------------------------------------------------------------- */

/* Every shard sees every gradient: the first one speaks for all. */
static bool
count_gradients(trainer *t, const served *w, server_record *r, problem *why)
{
    rondo_shard_stats stats = {.size = sizeof stats};
    if (w->where.owner[0] != t->all->rank) {
        return true;
    }
    if (rondo_shard_stats_get(w->server->shard[0].shard, &stats) != RONDO_OK) {
        return problem_fail(why, "asking a shard: %s", rondo_error_text());
    }
    t->gradients.used = stats.used;
    t->gradients.dropped = stats.dropped;
    _Static_assert(sizeof stats.staleness == sizeof t->gradients.staleness,
                   "the same places");
    memcpy(t->gradients.staleness, stats.staleness, sizeof stats.staleness);
    *r = (server_record){.version = stats.version,
                         .pushes = stats.pushes,
                         .pulls = stats.pulls,
                         .spread = stats.spread_largest,
                         .staleness_sum = stats.staleness_sum,
                         .staleness_largest = stats.staleness_largest};
    return true;
}

/* One rank knows of a number, or each has a part: the sum is what all know. */
static bool
share_counts(trainer *t, const served *w, problem *why)
{
    server_record r = {.given_up = w->stats.skipped};
    if (!count_gradients(t, w, &r, why) ||
        !ranks_sum_all(t->all, (uint64_t *)&r, sizeof r / sizeof(uint64_t), why)) {
        return false;
    }
    t->server = r;
    return true;
}

/* Each shard from whoever has it, to all. */
static bool
share_result(trainer *t, const served *w, problem *why)
{
    for (uint32_t s = 0; s < w->where.placement.nshards; s++) {
        const uint64_t begin = places_begin(&w->where, s);
        const uint64_t count = places_begin(&w->where, s + 1) - begin;
        float *part = t->parameter + begin;
        if (w->where.owner[s] == t->all->rank) {
            uint64_t there = 0;
            memcpy(part, rondo_shard_parameters(w->server->shard[s].shard, &there),
                   count * sizeof *part);
        }
        const rondo_status status = rondo_broadcast(t->all->comm, part, part, count,
                                                    RONDO_FP32, w->where.owner[s]);
        if (status != RONDO_OK) {
            return ranks_fail(t->all, status, "sharing the result", why);
        }
    }
    return true;
}

static bool
say_goodbye(trainer *t, served *w, problem *why)
{
    rondo_status status = RONDO_BUSY;
    while ((status = rondo_client_leave(w->client)) == RONDO_BUSY) {
        if (served_called(t, why)) {
            return false;
        }
    }
    if (status != RONDO_OK) {
        return served_fail(w, status, "leaving the servers", why);
    }
    if (!served_note(t, w, why)) {
        return false;
    }
    rondo_client_destroy(w->client);
    w->client = NULL;
    w->done = true;
    return true;
}

bool
served_finish(trainer *t, problem *why)
{
    served *w = t->mode_state;
    if (!w->where.served) {
        return served_await(t, w, why);
    }
    const bool good =
        w->server != NULL ? served_serve(t, why) : w->done || say_goodbye(t, w, why);
    return good && share_result(t, w, why) && share_counts(t, w, why);
}

void
served_free(trainer *t)
{
    served *w = t->mode_state;
    if (w == NULL) {
        return;
    }
    t->group->wake = NULL;
    if (w->server != NULL) {
        serving_free(w->server);
        free(w->server);
    }
    rondo_client_destroy(w->client);
    memory_free(w->gradient);
    places_free(&w->where);
    free(w);
    t->mode_state = NULL;
}
