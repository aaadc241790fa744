/* served_work.c - a worker of backup, async and ssp: its steps, and how it waits (see
 * served.h). */
#include "clock.h"
#include "modes/served_inside.h"
#include "pace.h"

#include <stdlib.h>
#include <time.h>

bool
served_fail(const served *w, rondo_status status, const char *what, problem *why)
{
    return problem_fail(why, "%s: %s (%s)", what, rondo_client_error_text(w->client),
                        rondo_status_name(status));
}

/* --- waiting ---------------------------------------------------------------------- */

void
served_pause(void)
{
    const struct timespec pause = {.tv_nsec = 500000};
    (void)nanosleep(&pause, NULL);
}

/* loop.c finds out why. */
bool
served_called(const trainer *t, problem *why)
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
bool
served_await(trainer *t, served *w, problem *why)
{
    const bool hope = t->o->door != NULL && t->o->checkpoint != NULL;
    while (hope && clock_seconds() - w->lost_since < t->o->return_timeout) {
        if (served_called(t, why)) {
            return false;
        }
        const rondo_status status = rondo_comm_progress(t->all->comm);
        if (status != RONDO_OK) {
            return ranks_fail(t->all, status, "waiting for a server", why);
        }
        served_pause();
    }
    return give_up(t, why);
}

/* --- a step ----------------------------------------------------------------------- */

/* What the client has counted; told to whoever keeps accounts. */
bool
served_note(trainer *t, served *w, problem *why)
{
    const rondo_client_stats before = w->stats;
    w->stats.size = sizeof w->stats;
    const rondo_status status = rondo_client_stats_get(w->client, &w->stats);
    if (status != RONDO_OK) {
        return served_fail(w, status, "asking the client", why);
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

bool
served_pull(trainer *t, served *w, problem *why)
{
    rondo_status status = RONDO_BUSY;
    const double began = clock_seconds();
    span_begin(&t->account.spans, SPAN_PULL, 0);
    while ((status = rondo_client_pull(w->client, t->parameter)) == RONDO_BUSY) {
        if (served_called(t, why)) {
            return false;
        }
    }
    if (status != RONDO_OK) {
        return served_fail(w, status, "pulling parameters", why);
    }
    span_end(&t->account.spans);
    note_pull(t, w, clock_seconds() - began);
    w->pulled = true;
    return served_note(t, w, why);
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
        if (status == RONDO_BUSY && served_called(t, why)) {
            return false;
        }
    } while (status == RONDO_BUSY);
    if (status != RONDO_OK) {
        return served_fail(w, status, "pushing a gradient", why);
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
    if (!w->pulled && !served_pull(t, w, why)) {
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

/* As the shards count them. */
uint64_t
served_steps(const served *w)
{
    return w->by_version ? w->stats.version : w->stats.clock;
}

/* The parameters of the next step; and what happened since the last. */
static bool
pull_next(trainer *t, served *w, problem *why)
{
    const uint64_t version = w->stats.version;
    if (!served_pull(t, w, why)) {
        return false;
    }
    if (!w->late && w->stats.version > version && !w->by_version) {
        /* A push is answered with what it has led to: the others' came before it. */
        account_staleness(&t->account, w->stats.version - version - 1);
    }
    /* Whoever has missed a version, or has begun among others that are further, goes on
     * from there. loop.c counts this step. */
    const uint64_t there = served_steps(w);
    t->step = there > t->step ? there - 1 : t->step;
    return true;
}

bool
served_step(trainer *t, mode_step *s, problem *why)
{
    served *w = t->mode_state;
    if (!w->where.served) {
        return served_await(t, w, why);
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
