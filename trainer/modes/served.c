/* served.c - a worker of backup, async and ssp, and what all ranks do together (see
 * served.h). */
#include "modes/served.h"

#include "clock.h"
#include "memory.h"
#include "pace.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Where a worker's step is; a death may interrupt it anywhere. */
typedef enum served_phase { PHASE_COMPUTE, PHASE_PUSH, PHASE_PULL } served_phase;

typedef struct served {
    serving_rule rule;
    places where;
    serving *server; /* NULL on workers. */
    /* Of a worker: */
    rondo_client *client; /* NULL: it is done, or there has been no server yet. */
    bool done;            /* It has said goodbye. */
    float *gradient;      /* And the loss. */
    served_phase phase;
    bool pulled;       /* t->parameter is what the client last pulled. */
    bool late;         /* The gradient is given up. */
    bool cancels;      /* Gradients may be given up. */
    bool by_version;   /* Steps are versions. */
    double lost_since; /* No server lives; 0: one does. */
    double pull_least; /* Seconds of the shortest pull so far; 0: none yet. */
    rondo_client_stats stats;
} served;

static bool
client_failed(const served *w, rondo_status status, const char *what, problem *why)
{
    return problem_fail(why, "%s: %s (%s)", what, rondo_client_error_text(w->client),
                        rondo_status_name(status));
}

/* --- waiting ----------------------------------------------------------------------- */

static void
pause_a_little(void)
{
    const struct timespec pause = {.tv_nsec = 500000};
    (void)nanosleep(&pause, NULL);
}

/* loop.c finds out why. */
static bool
door_calls(const trainer *t, problem *why)
{
    return group_renewal_due(t->group) && !problem_fail(why, "a rank is at the door");
}

/* All workers come to the same end here; they go together. */
static bool
give_up(const trainer *t, problem *why)
{
    const uint8_t mine = 0;
    uint8_t *all = calloc(t->all->count, sizeof *all);
    const bool together = all != NULL && ranks_gather(t->all, &mine, 1, all, why);
    free(all);
    if (!together) {
        return false;
    }
    if (t->o->door == NULL || t->o->checkpoint == NULL) {
        (void)problem_fail(why, "no server is left; with --door and --checkpoint one "
                                "could come back");
    } else {
        (void)problem_fail(why, "no server is left, and none is back after %g s",
                           t->o->return_timeout);
    }
    why->known_to_all = true;
    return false;
}

/* Until a server is at the door; always false. */
static bool
await_server(trainer *t, served *w, problem *why)
{
    const bool hope = t->o->door != NULL && t->o->checkpoint != NULL;
    while (hope && clock_seconds() - w->lost_since < t->o->return_timeout) {
        if (door_calls(t, why)) {
            return false;
        }
        const rondo_status status = rondo_comm_progress(t->all->comm);
        if (status != RONDO_OK) {
            return ranks_fail(t->all, status, "waiting for a server", why);
        }
        pause_a_little();
    }
    return give_up(t, why);
}

/* --- a step ------------------------------------------------------------------------ */

/* What the client has counted; told to whoever keeps accounts. */
static bool
note_client(trainer *t, served *w, problem *why)
{
    const rondo_client_stats before = w->stats;
    w->stats.size = sizeof w->stats;
    const rondo_status status = rondo_client_stats_get(w->client, &w->stats);
    if (status != RONDO_OK) {
        return client_failed(w, status, "asking the client", why);
    }
    t->wait_seconds = (double)w->stats.wait_ns * 1e-9;
    t->payload_bytes = (double)w->stats.sent_bytes;
    account_bytes(&t->account,
                  (double)(w->stats.sent_bytes - before.sent_bytes +
                           w->stats.received_bytes - before.received_bytes));
    return true;
}

/* What a pull took more than the shortest one, it waited. */
static void
note_pull(trainer *t, served *w, double seconds)
{
    if (w->pull_least <= 0.0 || seconds < w->pull_least) {
        w->pull_least = seconds;
    }
    spans_move(&t->account.spans, SHARE_COMMUNICATE, SHARE_WAIT,
               seconds - w->pull_least);
}

static bool
pull(trainer *t, served *w, problem *why)
{
    rondo_status status = RONDO_BUSY;
    const double began = clock_seconds();
    span_begin(&t->account.spans, SPAN_PULL, 0);
    while ((status = rondo_client_pull(w->client, t->parameter)) == RONDO_BUSY) {
        if (door_calls(t, why)) {
            return false;
        }
    }
    if (status != RONDO_OK) {
        return client_failed(w, status, "pulling parameters", why);
    }
    span_end(&t->account.spans);
    note_pull(t, w, clock_seconds() - began);
    w->pulled = true;
    return note_client(t, w, why);
}

static bool
push(trainer *t, served *w, problem *why)
{
    const double weight = t->sample.count;
    rondo_status status = RONDO_OK;
    span_begin(&t->account.spans, SPAN_PUSH, 0);
    do {
        status = w->late ? rondo_client_skip(w->client)
                         : rondo_client_push(w->client, weight, w->gradient);
        if (status == RONDO_BUSY && door_calls(t, why)) {
            return false;
        }
    } while (status == RONDO_BUSY);
    if (status != RONDO_OK) {
        return client_failed(w, status, "pushing a gradient", why);
    }
    span_end(&t->account.spans);
    return true;
}

/* While a worker computes, or waits for its step to be over: false when that is in
 * vain. */
static bool
look_around(void *user)
{
    trainer *t = user;
    served *w = t->mode_state;
    w->late = rondo_client_superseded(w->client) && w->cancels;
    return !w->late && !group_broken(t->group) && !group_renewal_due(t->group);
}

static void
layer_is_done(void *user, uint32_t layer)
{
    (void)layer;
    (void)look_around(user);
}

static bool
compute(trainer *t, served *w, problem *why)
{
    const uint32_t images = t->sample.count;
    if (!w->pulled && !pull(t, w, why)) {
        return false;
    }
    account_version(&t->account, w->stats.version);
    w->late = false;
    trainer_gradient(t, images > 0 ? 1.0f / (float)images : 0.0f, w->gradient,
                     (layer_done){.call = layer_is_done, .user = t});
    const pace_idle idle = {.call = look_around, .user = t};
    return pace_keep(t, idle) || w->late ||
           problem_fail(why, "the group has changed during a step");
}

/* The parameters of the next step; and what happened since the last. */
static bool
pull_next(trainer *t, served *w, problem *why)
{
    const uint64_t version = w->stats.version;
    if (!pull(t, w, why)) {
        return false;
    }
    if (!w->late && w->stats.version > version && !w->by_version) {
        /* Updates but for our own; those after it, which are few, among them. */
        account_staleness(&t->account, w->stats.version - version - 1);
    }
    if (w->by_version && w->stats.version > t->step) {
        /* Whoever has missed a version goes on with the next. loop.c counts this
         * step. */
        t->step = w->stats.version - 1;
    }
    return true;
}

bool
served_step(trainer *t, mode_step *s, problem *why)
{
    served *w = t->mode_state;
    if (!w->where.served) {
        return await_server(t, w, why);
    }
    if (w->phase == PHASE_COMPUTE) {
        if (!compute(t, w, why)) {
            return false;
        }
        w->phase = PHASE_PUSH;
    }
    if (w->phase == PHASE_PUSH) {
        if (!push(t, w, why)) {
            return false;
        }
        w->phase = PHASE_PULL;
    }
    if (!pull_next(t, w, why)) {
        return false;
    }
    w->phase = PHASE_COMPUTE;
    s->loss = (double)w->gradient[t->net.parameters];
    return true;
}

/* --- all ranks --------------------------------------------------------------------- */

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
        return problem_fail(why, "there is no server to work for");
    }
    if (!meet_servers(t, w, why) || !pull(t, w, why)) {
        return false;
    }
    t->step = w->by_version ? w->stats.version : w->stats.clock;
    return true;
}

static bool
begin(trainer *t, served *w, problem *why)
{
    if (!places_find(t, false, &w->where, why)) {
        return false;
    }
    if (t->worker != NO_WORKER) {
        return begin_work(t, w, why);
    }
    w->server = calloc(1, sizeof *w->server);
    return w->server != NULL ? serving_create(t, &w->rule, &w->where, w->server, why)
                             : problem_fail(why, "no memory for a server");
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
           (t->newcomer || begin(t, w, why));
}

bool
served_serve(trainer *t, problem *why)
{
    served *w = t->mode_state;
    return serving_serve(w->server, &w->where, why);
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
    return status == RONDO_OK || client_failed(w, status, "meeting the servers", why);
}

bool
served_regroup(trainer *t, problem *why)
{
    served *w = t->mode_state;
    if (w->server != NULL && !serving_part(w->server, why)) {
        return false;
    }
    if (t->newcomer) {
        return begin(t, w, why);
    }
    if (!places_find(t, w->done, &w->where, why)) {
        return false;
    }
    return w->server != NULL ? serving_bind(w->server, &w->where, why)
                             : bind_client(t, w, why);
}

/* --- the end ----------------------------------------------------------------------- */

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
        if (door_calls(t, why)) {
            return false;
        }
    }
    if (status != RONDO_OK) {
        return client_failed(w, status, "leaving the servers", why);
    }
    if (!note_client(t, w, why)) {
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
        return await_server(t, w, why);
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
