/* client.c - a worker's side: create, bind, destroy, and what it has seen. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "server/client_inside.h"

rondo_status
rondo_client_fail(rondo_client *client, rondo_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(client->text, sizeof client->text, format, arguments);
    va_end(arguments);
    return rondo_error(status, "%s", client->text);
}

/* The thread's sentence becomes the client's. */
static rondo_status
keep(rondo_client *client, rondo_status status)
{
    (void)snprintf(client->text, sizeof client->text, "%s", rondo_error_text());
    return status;
}

static rondo_status
place_make(rondo_comm *comm, const rondo_placement *placement, uint32_t worker,
           rondo_place *place)
{
    const uint32_t rank = rondo_comm_rank(comm);
    const rondo_status status =
        rondo_place_make(placement, rank, rondo_comm_nranks(comm), place);

    if (status != RONDO_OK) {
        return status;
    }
    if (worker >= place->nworkers || place->rank_of[worker] != rank) {
        const rondo_status refused = rondo_error(
            RONDO_ERR_ARG, "worker %u is not placed on rank %u", worker, rank);
        rondo_place_end(place);
        return refused;
    }
    return RONDO_OK;
}

/* What comes on a former communicator is passed over from now on. */
static rondo_status
listen_anew(rondo_client *client)
{
    void *memory = NULL;
    rondo_status status = rondo_alloc_zero(sizeof *client->binding, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_client_binding *const made = memory;
    made->client = client;
    made->before = client->binding;
    if (made->before != NULL) {
        made->before->client = NULL;
    }
    client->binding = made;
    status = rondo_message_handler_set(client->comm, client->place.channel,
                                       rondo_client_handle, made);
    /* That a communicator is broken already is for the next call to tell. */
    client->listening =
        status == RONDO_OK || rondo_status_group_of(status) == RONDO_GROUP_BROKEN;
    return client->listening ? RONDO_OK : status;
}

static rondo_status
vectors_make(rondo_client *client)
{
    void *shards = NULL;
    void *gradient = NULL;
    void *parameters = NULL;
    rondo_status status =
        rondo_alloc_zero(client->place.nshards * sizeof *client->shards, &shards);

    client->shards = shards;
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(client->place.count * sizeof(float), &gradient);
        client->gradient = gradient;
    }
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(client->place.count * sizeof(float), &parameters);
        client->parameters = parameters;
    }
    for (uint32_t i = 0; status == RONDO_OK && i < client->place.nshards; i++) {
        client->shards[i].first = rondo_place_first(&client->place, i);
        client->shards[i].count = rondo_place_count(&client->place, i);
    }
    return status;
}

rondo_status
rondo_client_create(rondo_comm *comm, const rondo_placement *placement, uint32_t worker,
                    rondo_client **client)
{
    void *memory = NULL;

    if (comm == NULL || placement == NULL || client == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_client_create: a pointer is null");
    }
    rondo_status status = rondo_alloc_zero(sizeof **client, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_client *const made = memory;
    made->comm = comm;
    made->worker = worker;
    status = place_make(comm, placement, worker, &made->place);
    if (status == RONDO_OK) {
        status = vectors_make(made);
    }
    if (status == RONDO_OK) {
        status = listen_anew(made);
    }
    if (status != RONDO_OK) {
        rondo_client_destroy(made);
        return status;
    }
    *client = made;
    return RONDO_OK;
}

/* What was under way is asked for or sent again, once the shard has said how far we
 * were. */
static void
start_again(rondo_client_shard *shard)
{
    shard->former = shard->session != 0 ? shard->session : shard->former;
    shard->session = 0;
    shard->greeted = false;
    if (shard->pull == RONDO_PULL_ASKED) {
        shard->pull = RONDO_PULL_WANTED;
    }
    if (shard->bye == RONDO_BYE_SAID) {
        shard->bye = RONDO_BYE_WANTED;
    }
}

rondo_status
rondo_client_bind(rondo_client *client, rondo_comm *comm,
                  const rondo_placement *placement)
{
    rondo_place place = {0};

    if (client == NULL || comm == NULL || placement == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_client_bind: a pointer is null");
    }
    rondo_status status = place_make(comm, placement, client->worker, &place);
    if (status != RONDO_OK) {
        return keep(client, status);
    }
    status = rondo_place_same(&client->place, &place);
    if (status != RONDO_OK) {
        rondo_place_end(&place);
        return keep(client, status);
    }
    rondo_place_end(&client->place);
    client->place = place;
    client->comm = comm;
    client->fault = RONDO_OK;
    for (uint32_t i = 0; i < place.nshards; i++) {
        start_again(&client->shards[i]);
    }
    status = listen_anew(client);
    return status == RONDO_OK ? RONDO_OK : keep(client, status);
}

void
rondo_client_wake(rondo_client *client)
{
    if (client != NULL) {
        client->woken = true;
    }
}

rondo_status
rondo_client_stats_get(const rondo_client *client, rondo_client_stats *stats)
{
    if (client == NULL || stats == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_client_stats_get: a pointer is null");
    }
    if (stats->size < sizeof *stats) {
        return rondo_error(RONDO_ERR_ARG,
                           "size of the client's stats is %zu; allowed is %zu or more",
                           stats->size, sizeof *stats);
    }
    rondo_client_stats now = client->stats;
    now.size = stats->size;
    now.clock = client->shards[0].clock;
    now.version = client->shards[0].version;
    now.seen = client->shards[0].seen;
    memcpy(stats, &now, sizeof now);
    return RONDO_OK;
}

const char *
rondo_client_error_text(const rondo_client *client)
{
    return client != NULL ? client->text : "";
}

void
rondo_client_destroy(rondo_client *client)
{
    if (client == NULL) {
        return;
    }
    if (client->listening) {
        const rondo_status status =
            rondo_message_handler_set(client->comm, client->place.channel, NULL, NULL);
        (void)status; /* A broken communicator delivers nothing any more. */
    }
    while (client->binding != NULL) {
        rondo_client_binding *const before = client->binding->before;
        rondo_free(client->binding);
        client->binding = before;
    }
    rondo_free(client->shards);
    rondo_free(client->gradient);
    rondo_free(client->parameters);
    rondo_place_end(&client->place);
    rondo_free(client);
}
