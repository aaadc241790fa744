/* server.c - virtual backup, async and ssp: workers push gradients to a shard and pull
 * parameters; the shard is the one that real servers hold. */
#include "virtual/world.h"

#include "virtual/events.h"
#include "virtual/versions.h"

#include <rondo/server.h>
#include <stdlib.h>

typedef struct server_worker {
    version_copy *from; /* What it computes from; NULL: it waits. */
    uint64_t step;      /* Whose images; the number of its push. */
    uint64_t pushed;    /* The last number. */
    uint64_t attempt;   /* Events of others are of steps that it has given up. */
    double stopped;     /* Since when it waits. */
    world_step now;     /* What its step is made of. */
} server_worker;

typedef struct server {
    world *w;
    rondo_shard *shard;
    server_worker *worker;
    versions copies;
    events next;
    double transfer;    /* Seconds that a vector is on its way. */
    uint32_t waiting;   /* Workers. */
    uint64_t least;     /* Steps that the slowest one has pushed; */
    bool moved;         /* it has with this push, or others may pull anyway. */
    bool by_version;    /* Backup: a worker's step is that of the version. */
    bool cancels;       /* Backup: whoever is late gives up. */
    float rate_part;    /* Of the rate that an update has. */
    double rate;        /* Of the last update. */
    world_part kept;    /* Sums over gradients that wait for others; */
    uint32_t gradients; /* how many. */
} server;

/* --- the update ------------------------------------------------------------------ */

static void
update(void *user, const rondo_shard_update *what, const float *gradient,
       float *parameters, uint64_t count)
{
    server *s = user;
    world *w = s->w;
    (void)count;
    s->rate = world_rate(w) * (double)s->rate_part / (double)what->staleness_of;
    for (uint32_t i = 0; i < what->gradients; i++) {
        world_note_staleness(w, what->staleness);
    }
    w->counts.gradients.used += what->gradients;
    if (!w->timing) {
        optimiser_step(&w->t->descent, (float)s->rate, gradient, parameters);
    }
}

static void
configure(server *s, rondo_shard_config *config)
{
    const options *o = s->w->t->o;
    rondo_shard_config_init(config);
    config->nworkers = s->w->workers;
    config->update = update;
    config->user = s;
    s->rate_part = 1.0f;
    switch (o->mode) {
    case TRAIN_BACKUP:
        config->rule = RONDO_SHARD_BACKUP;
        config->quorum = s->w->workers - (uint32_t)o->backups;
        s->by_version = true;
        s->cancels = o->policy == POLICY_CANCEL;
        return;
    case TRAIN_SSP:
        config->rule = RONDO_SHARD_BOUNDED;
        config->bound = o->bound;
        if (o->bound > 0) {
            s->rate_part = 1.0f / (float)s->w->workers;
        }
        break;
    default:
        config->rule = RONDO_SHARD_ASYNC;
        break;
    }
    config->staleness_aware = o->staleness_aware ? 1 : 0;
    config->compensation = s->w->timing ? 0.0f : (float)o->compensate;
    config->compensation_adaptive = o->compensate_adaptive && !s->w->timing ? 1 : 0;
}

/* Many updates in a step of all, or one. */
static uint32_t
updates_in_a_step(const rondo_shard_config *config)
{
    const bool means = config->rule == RONDO_SHARD_BACKUP ||
                       (config->rule == RONDO_SHARD_BOUNDED && config->bound == 0);
    return means ? 1 : config->nworkers;
}

static bool
server_create(world *w, server *s, problem *why)
{
    rondo_shard_config config;
    *s = (server){.w = w,
                  .copies = versions_of(w->count),
                  .transfer = world_transfer(w, w->vector_bytes)};
    configure(s, &config);
    world_set_updates(w, updates_in_a_step(&config));
    s->worker = calloc(w->workers, sizeof *s->worker);
    if (s->worker == NULL) {
        return problem_fail(why, "no memory for %u workers", w->workers);
    }
    /* Where nothing is computed, a vector of zeros. */
    const float *first = w->timing ? w->gradient : w->t->parameter;
    return rondo_shard_create(&config, first, w->count, &s->shard) == RONDO_OK ||
           problem_fail(why, "the shard: %s", rondo_error_text());
}

static void
server_free(server *s)
{
    for (uint32_t i = 0; s->worker != NULL && i < s->w->workers; i++) {
        versions_drop(&s->copies, s->worker[i].from);
    }
    versions_free(&s->copies);
    events_free(&s->next);
    rondo_shard_destroy(s->shard);
    free(s->worker);
}

static const float *
seen(void *user)
{
    const server *s = user;
    return rondo_shard_parameters(s->shard, NULL);
}

/* --- pulls ----------------------------------------------------------------------- */

/* The worker has what it pulled: its step, and the push, which arrives later. */
static bool
begin(server *s, uint32_t worker, double now, problem *why)
{
    world *w = s->w;
    server_worker *one = &s->worker[worker];
    one->step = s->by_version ? one->from->version + 1 : one->pushed + 1;
    const double seconds = world_begin(w, worker);
    const double computes = now + s->transfer;
    one->now = (world_step){.worker = worker,
                            .began = now,
                            .compute_began = computes,
                            .compute_ended = computes + seconds,
                            .version = one->from->version,
                            .staleness = -1.0,
                            .vectors = 1.0};
    const event arrival = {.time = one->now.compute_ended + s->transfer,
                           .worker = worker,
                           .attempt = ++one->attempt};
    return events_put(&s->next, &arrival, why);
}

/* The worker has nothing to compute from. */
static void
stop(server *s, uint32_t worker, double now)
{
    server_worker *one = &s->worker[worker];
    if (one->from != NULL) {
        versions_drop(&s->copies, one->from);
        one->from = NULL;
        one->stopped = now;
    }
}

static double
earlier(double a, double b)
{
    return a < b ? a : b;
}

/* Its step is over: it has the next parameters, or the run ends. It may have given the
 * step up anywhere. */
static bool
close_step(server *s, uint32_t worker, double now, problem *why)
{
    const server_worker *one = &s->worker[worker];
    world_step step = one->now;
    if (one->attempt == 0) {
        return true; /* There was none yet. */
    }
    step.compute_began = earlier(step.compute_began, one->stopped);
    step.compute_ended = earlier(step.compute_ended, one->stopped);
    step.wait_began = one->stopped;
    step.wait_ended = now;
    step.ended = now;
    return world_step_done(s->w, &step, why);
}

static bool
pull(server *s, uint32_t worker, double now, problem *why)
{
    server_worker *one = &s->worker[worker];
    const float *parameters = NULL;
    uint64_t version = 0;
    stop(s, worker, now);
    const rondo_status status =
        rondo_shard_pull(s->shard, worker, one->pushed, &parameters, &version);
    if (status == RONDO_BUSY) {
        s->waiting++;
        return true;
    }
    if (status != RONDO_OK) {
        return problem_fail(why, "worker %u pulls: %s", worker, rondo_error_text());
    }
    if (!close_step(s, worker, now, why)) {
        return false;
    }
    one->from = versions_take(&s->copies, version, parameters, why);
    return one->from != NULL && begin(s, worker, now, why);
}

/* Those whose pull had to wait, in the order of workers; with `all`, those that compute
 * as well: they are late. */
static bool
pull_again(server *s, uint32_t but, bool all, double now, problem *why)
{
    for (uint32_t i = 0; i < s->w->workers; i++) {
        const bool waits = s->worker[i].from == NULL;
        if (i == but || (!waits && !all)) {
            continue;
        }
        s->waiting -= waits ? 1 : 0;
        if (!pull(s, i, now, why)) {
            return false;
        }
    }
    return true;
}

/* --- pushes ---------------------------------------------------------------------- */

/* The bound holds at every moment, or the run is worth nothing. Also finds out whether
 * the slowest has moved, for whom others may wait. */
static bool
check_spread(server *s, problem *why)
{
    const world *w = s->w;
    const options *o = w->t->o;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < w->workers; i++) {
        const uint64_t pushed = s->worker[i].pushed;
        least = pushed < least ? pushed : least;
        most = pushed > most ? pushed : most;
    }
    world_note_spread(s->w, most - least);
    s->moved = least > s->least;
    s->least = least;
    return o->mode != TRAIN_SSP || most - least <= o->bound + 1 ||
           problem_fail(why,
                        "workers are %llu steps apart: --bound %llu allows one more "
                        "than that",
                        (unsigned long long)(most - least),
                        (unsigned long long)o->bound);
}

/* The gradient, unless it is too late to be taken. */
static bool
compute(server *s, uint32_t worker, bool late, world_part *part, problem *why)
{
    const server_worker *one = &s->worker[worker];
    if (late) {
        *part = (world_part){.images = 1};
        return true;
    }
    const world_ask ask = {
        .worker = worker, .step = one->step, .parameter = one->from->parameter};
    return world_gradient(s->w, &ask, s->w->gradient, part, why);
}

static bool
push(server *s, uint32_t worker, rondo_push_outcome *outcome, problem *why)
{
    server_worker *one = &s->worker[worker];
    const uint64_t version = one->from->version;
    const bool late = s->by_version && version < s->w->updates;
    world_part part;
    if (!compute(s, worker, late, &part, why)) {
        return false;
    }
    one->pushed = one->step;
    one->now.staleness = late ? -1.0 : (double)(s->w->updates - version);
    one->now.images = late ? 0 : part.images;
    one->now.loss = part.loss;
    if (rondo_shard_push(s->shard, worker, one->step, version, (double)part.images,
                         s->w->gradient, outcome) != RONDO_OK) {
        return problem_fail(why, "worker %u pushes: %s", worker, rondo_error_text());
    }
    s->moved = true;
    if (*outcome == RONDO_PUSH_DROPPED) {
        s->w->counts.gradients.dropped++;
        return true;
    }
    s->kept.loss += part.loss;
    s->kept.images += part.images;
    s->gradients++;
    return s->by_version || check_spread(s, why);
}

static bool
updated(server *s, double now, problem *why)
{
    const world_update u = {.time = now,
                            .loss = s->kept.loss / s->gradients,
                            .rate = s->rate,
                            .images = s->kept.images,
                            .seen = seen,
                            .user = s};
    s->kept = (world_part){.images = 0};
    s->gradients = 0;
    return world_updated(s->w, &u, why);
}

static bool
arrive(server *s, const event *e, problem *why)
{
    rondo_push_outcome outcome;
    if (e->attempt != s->worker[e->worker].attempt) {
        return true; /* Given up. */
    }
    s->worker[e->worker].now.vectors += 1.0;
    if (!push(s, e->worker, &outcome, why)) {
        return false;
    }
    const bool made = outcome == RONDO_PUSH_APPLIED;
    if (made && !updated(s, e->time, why)) {
        return false;
    }
    if (world_done(s->w)) {
        stop(s, e->worker, e->time);
        return true;
    }
    if (!pull(s, e->worker, e->time, why)) {
        return false;
    }
    const bool others = made && (s->cancels || (s->waiting > 0 && s->moved));
    return !others || pull_again(s, e->worker, s->cancels, e->time, why);
}

static bool
run(server *s, problem *why)
{
    world *w = s->w;
    for (uint32_t i = 0; i < w->workers; i++) {
        if (!pull(s, i, 0.0, why)) {
            return false;
        }
    }
    event e;
    while (!world_done(w) && events_take(&s->next, &e)) {
        if (!arrive(s, &e, why)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < w->workers; i++) {
        const version_copy *from = s->worker[i].from;
        w->counts.staleness_open += from != NULL ? w->updates - from->version : 0;
        if (from == NULL && !close_step(s, i, w->now, why)) {
            return false;
        }
    }
    return true;
}

bool
world_run_server(world *w, problem *why)
{
    server s;
    const bool good = server_create(w, &s, why) && run(&s, why);
    server_free(&s);
    return good;
}
