/* client_calls.c - pull, push, skip and leave: what a worker calls, and how it
 * waits. */
#include <math.h>
#include <string.h>

#include <rondo/coll.h>

#include "base/clock.h"
#include "server/client_inside.h"
#include "server/patience.h"

/* --- waiting ---------------------------------------------------------------------- */

/* Whether a shard has done what is waited for. */
typedef bool (*shard_test)(const rondo_client_shard *shard);

static bool
is_quiet(const rondo_client_shard *shard)
{
    return shard->session != 0 && shard->push == RONDO_PUSH_IDLE;
}

static bool
is_handed_over(const rondo_client_shard *shard)
{
    return shard->push != RONDO_PUSH_SENDING;
}

static bool
is_there(const rondo_client_shard *shard)
{
    return shard->pull == RONDO_PULL_THERE;
}

static bool
has_let_go(const rondo_client_shard *shard)
{
    return shard->bye == RONDO_BYE_HEARD;
}

/* Everything that can be done without waiting; a fault stays to be told. */
static rondo_status
turn(rondo_client *client)
{
    rondo_status status = rondo_comm_progress(client->comm);

    if (status == RONDO_OK) {
        status = rondo_client_ask(client);
    }
    return status == RONDO_OK
               ? RONDO_OK
               : rondo_client_fail(client, status, "worker %u: %s", client->worker,
                                   rondo_comm_error_text(client->comm));
}

static rondo_status
take_fault(rondo_client *client)
{
    const rondo_status status = client->fault;

    client->fault = RONDO_OK;
    return status == RONDO_OK
               ? RONDO_OK
               : rondo_client_fail(client, status, "%s", client->fault_text);
}

/* The first shard that has not; nshards if all have. */
static uint32_t
first_missing(const rondo_client *client, shard_test done)
{
    uint32_t index = 0;

    while (index < client->place.nshards && done(&client->shards[index])) {
        index++;
    }
    return index;
}

static rondo_status
wait_for(rondo_client *client, shard_test done, const char *what)
{
    const uint64_t limit_ms = rondo_comm_timeout(client->comm);
    const uint64_t deadline_ns = rondo_deadline_ns(limit_ms);
    rondo_patience patience = {0};

    for (;;) {
        rondo_status status = turn(client);
        if (status == RONDO_OK) {
            status = take_fault(client);
        }
        if (status != RONDO_OK) {
            return status;
        }
        const uint32_t missing = first_missing(client, done);
        if (missing == client->place.nshards) {
            return RONDO_OK;
        }
        if (client->woken) {
            client->woken = false;
            return RONDO_BUSY;
        }
        if (deadline_ns != RONDO_NEVER && rondo_now_ns() >= deadline_ns) {
            return rondo_client_fail(client, RONDO_ERR_TIMEOUT,
                                     "worker %u has waited %llu ms for %s of shard %u "
                                     "on rank %u",
                                     client->worker, (unsigned long long)limit_ms, what,
                                     missing, client->place.owner[missing]);
        }
        rondo_patience_wait(&patience, client->moves);
    }
}

/* Hand over what is to be sent. Whatever stops it is the next call's to tell, so that
 * nothing is taken from it here. */
static void
hand_over(rondo_client *client)
{
    const uint64_t deadline_ns = rondo_deadline_ns(rondo_comm_timeout(client->comm));
    rondo_patience patience = {0};

    while (turn(client) == RONDO_OK && client->fault == RONDO_OK && !client->woken &&
           first_missing(client, is_handed_over) < client->place.nshards &&
           rondo_now_ns() < deadline_ns) {
        rondo_patience_wait(&patience, client->moves);
    }
}

static rondo_status
check_there(rondo_client *client, const char *call)
{
    if (client == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%s: the client is null", call);
    }
    if (client->left) {
        return rondo_client_fail(client, RONDO_ERR_STATE, "%s: worker %u has left",
                                 call, client->worker);
    }
    return RONDO_OK;
}

static rondo_status
check_pulled(rondo_client *client, const char *call)
{
    const rondo_status status = check_there(client, call);

    if (status == RONDO_OK && !client->pulled) {
        return rondo_client_fail(client, RONDO_ERR_STATE,
                                 "%s: worker %u has no parameters that it has not "
                                 "pushed or skipped for; pull first",
                                 call, client->worker);
    }
    return status;
}

/* --- calls ------------------------------------------------------------------------ */

static void
hand_out(rondo_client *client, float *parameters)
{
    memcpy(parameters, client->parameters, client->place.count * sizeof *parameters);
    for (uint32_t i = 0; i < client->place.nshards; i++) {
        rondo_client_shard *const shard = &client->shards[i];
        shard->version = shard->coming;
        shard->given = shard->source;
        shard->pull = RONDO_PULL_NONE;
    }
    client->pulled = true;
}

rondo_status
rondo_client_pull(rondo_client *client, float *parameters)
{
    rondo_status status = check_there(client, "rondo_client_pull");

    if (status == RONDO_OK && parameters == NULL) {
        status = rondo_client_fail(client, RONDO_ERR_ARG,
                                   "rondo_client_pull: parameters is null");
    }
    if (status != RONDO_OK) {
        return status;
    }
    const uint64_t begin_ns = rondo_now_ns();
    for (uint32_t i = 0; i < client->place.nshards; i++) {
        if (client->shards[i].pull == RONDO_PULL_NONE) {
            client->shards[i].pull = RONDO_PULL_WANTED;
        }
    }
    status = wait_for(client, is_there, "the parameters");
    client->stats.wait_ns += rondo_now_ns() - begin_ns;
    if (status == RONDO_OK) {
        hand_out(client, parameters);
    }
    return status;
}

/* A shard that has begun again from an earlier state since the parameters were pulled
 * could not tell what the gradient is of: it is given up there. */
static void
begin_push(rondo_client *client)
{
    for (uint32_t i = 0; i < client->place.nshards; i++) {
        rondo_client_shard *const shard = &client->shards[i];
        if (shard->given != shard->session) {
            client->stats.dropped += i == 0 ? 1 : 0;
            continue;
        }
        shard->clock++;
        shard->push = RONDO_PUSH_SENDING;
        shard->pushed = 0;
        shard->pull = RONDO_PULL_NONE;
    }
    client->pulled = false;
}

rondo_status
rondo_client_push(rondo_client *client, double weight, const float *gradient)
{
    rondo_status status = check_pulled(client, "rondo_client_push");

    if (status != RONDO_OK) {
        return status;
    }
    if (!isfinite(weight) || weight < 0 || (gradient == NULL && weight > 0)) {
        return rondo_client_fail(client, RONDO_ERR_ARG,
                                 "rondo_client_push: %s with weight %g; a gradient and "
                                 "a positive weight are needed, or weight 0",
                                 gradient == NULL ? "null" : "a gradient", weight);
    }
    const uint64_t begin_ns = rondo_now_ns();
    status = wait_for(client, is_quiet, "what became of the last push");
    if (status == RONDO_OK) {
        if (weight > 0) {
            memcpy(client->gradient, gradient, client->place.count * sizeof *gradient);
            client->stats.pushed++;
        }
        client->weight = weight;
        begin_push(client);
        hand_over(client);
    }
    client->stats.wait_ns += rondo_now_ns() - begin_ns;
    return status;
}

bool
rondo_client_superseded(rondo_client *client)
{
    if (client == NULL || client->left || turn(client) != RONDO_OK || !client->pulled) {
        return false;
    }
    for (uint32_t i = 0; i < client->place.nshards; i++) {
        const rondo_client_shard *const shard = &client->shards[i];
        const bool again = shard->session != 0 && shard->given != shard->session;
        if (again || shard->over > shard->version) {
            return true;
        }
    }
    return false;
}

rondo_status
rondo_client_skip(rondo_client *client)
{
    const rondo_status status = check_pulled(client, "rondo_client_skip");

    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < client->place.nshards; i++) {
        client->shards[i].clock++;
    }
    client->stats.skipped++;
    client->pulled = false;
    return RONDO_OK;
}

rondo_status
rondo_client_leave(rondo_client *client)
{
    rondo_status status = check_there(client, "rondo_client_leave");

    if (status == RONDO_OK) {
        status = wait_for(client, is_handed_over, "room for a push");
    }
    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < client->place.nshards; i++) {
        if (client->shards[i].bye == RONDO_BYE_NONE) {
            client->shards[i].bye = RONDO_BYE_WANTED;
        }
    }
    status = wait_for(client, has_let_go, "the goodbye");
    client->left = status == RONDO_OK;
    return status;
}
