/* server.c - a server's life: create, add, serve, bind, destroy. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rondo/coll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "server/patience.h"
#include "server/server_inside.h"

static rondo_status
fail(rondo_server *server, rondo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static rondo_status
fail(rondo_server *server, rondo_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(server->text, sizeof server->text, format, arguments);
    va_end(arguments);
    return rondo_error(status, "%s", server->text);
}

/* The thread's sentence becomes the server's. */
static rondo_status
keep(rondo_server *server, rondo_status status)
{
    (void)snprintf(server->text, sizeof server->text, "%s", rondo_error_text());
    return status;
}

/* --- the communicator ------------------------------------------------------------- */

static rondo_status
bind_new(rondo_server *server)
{
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(sizeof *server->binding, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_server_binding *const made = memory;
    made->server = server;
    made->before = server->binding;
    if (made->before != NULL) {
        made->before->server = NULL;
    }
    server->binding = made;
    server->listening = false;
    return RONDO_OK;
}

/* Messages wait in the communicator until every shard that is placed here is there. */
static rondo_status
listen_if_complete(rondo_server *server)
{
    for (uint32_t i = 0; i < server->place.nshards; i++) {
        if (server->place.owner[i] == server->place.rank &&
            server->slots[i].shard == NULL) {
            return RONDO_OK;
        }
    }
    if (server->listening) {
        return RONDO_OK;
    }
    const rondo_status status = rondo_message_handler_set(
        server->comm, server->place.channel, rondo_server_handle, server->binding);
    /* That a communicator is broken already is for serve to tell. */
    server->listening =
        status == RONDO_OK || rondo_status_group_of(status) == RONDO_GROUP_BROKEN;
    return server->listening ? RONDO_OK : status;
}

static void
stop_listening(rondo_server *server)
{
    if (server->listening) {
        const rondo_status status =
            rondo_message_handler_set(server->comm, server->place.channel, NULL, NULL);
        (void)status; /* A broken communicator delivers nothing any more. */
    }
}

/* --- life ------------------------------------------------------------------------- */

static rondo_status
build(rondo_server *server, rondo_comm *comm, const rondo_placement *placement)
{
    void *slots = NULL;
    rondo_status status = rondo_place_make(placement, rondo_comm_rank(comm),
                                           rondo_comm_nranks(comm), &server->place);

    if (status == RONDO_OK) {
        status =
            rondo_alloc_zero(server->place.nshards * sizeof *server->slots, &slots);
    }
    if (status == RONDO_OK) {
        server->slots = slots;
        server->comm = comm;
        status = bind_new(server);
    }
    return status == RONDO_OK ? listen_if_complete(server) : status;
}

rondo_status
rondo_server_create(rondo_comm *comm, const rondo_placement *placement,
                    rondo_server **server)
{
    void *memory = NULL;

    if (comm == NULL || placement == NULL || server == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_server_create: a pointer is null");
    }
    rondo_status status = rondo_alloc_zero(sizeof **server, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_server *const made = memory;
    status = build(made, comm, placement);
    if (status != RONDO_OK) {
        rondo_server_destroy(made);
        return status;
    }
    *server = made;
    return RONDO_OK;
}

void
rondo_server_destroy(rondo_server *server)
{
    if (server == NULL) {
        return;
    }
    stop_listening(server);
    for (uint32_t i = 0; server->slots != NULL && i < server->place.nshards; i++) {
        rondo_slot_close(&server->slots[i]);
    }
    while (server->binding != NULL) {
        rondo_server_binding *const before = server->binding->before;
        rondo_free(server->binding);
        server->binding = before;
    }
    rondo_free(server->slots);
    rondo_place_end(&server->place);
    rondo_free(server);
}

/* --- shards ----------------------------------------------------------------------- */

static rondo_status
check_add(const rondo_server *server, uint32_t index, const rondo_shard *shard)
{
    const rondo_place *const place = &server->place;

    if (index >= place->nshards || place->owner[index] != place->rank) {
        return rondo_error(RONDO_ERR_ARG, "shard %u is not placed on rank %u", index,
                           place->rank);
    }
    if (server->slots[index].shard != NULL) {
        return rondo_error(RONDO_ERR_ARG, "shard %u has been added already", index);
    }
    if (shard->count != rondo_place_count(place, index) ||
        shard->config.nworkers != place->nworkers) {
        return rondo_error(
            RONDO_ERR_ARG,
            "shard %u has %llu parameters and %u workers; the placement says %llu and "
            "%u",
            index, (unsigned long long)shard->count, shard->config.nworkers,
            (unsigned long long)rondo_place_count(place, index), place->nworkers);
    }
    return RONDO_OK;
}

rondo_status
rondo_server_add(rondo_server *server, uint32_t index, rondo_shard *shard)
{
    if (server == NULL || shard == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_server_add: a pointer is null");
    }
    rondo_status status = check_add(server, index, shard);
    if (status != RONDO_OK) {
        return keep(server, status);
    }
    rondo_server_slot *const slot = &server->slots[index];
    status = rondo_slot_open(slot, shard, server->place.nworkers);
    if (status != RONDO_OK) {
        return keep(server, status);
    }
    status = rondo_server_presence(server, slot, true);
    if (status == RONDO_OK) {
        status = listen_if_complete(server);
    }
    if (status != RONDO_OK) {
        rondo_slot_close(slot);
        return keep(server, status);
    }
    return RONDO_OK;
}

/* --- serving ---------------------------------------------------------------------- */

void
rondo_server_wake(rondo_server *server)
{
    if (server != NULL) {
        server->woken = true;
    }
}

static rondo_status
take_fault(rondo_server *server)
{
    const rondo_status status = server->fault;

    server->fault = RONDO_OK;
    return status == RONDO_OK ? RONDO_OK
                              : fail(server, status, "%s", server->fault_text);
}

/* Everything that can be done without waiting. */
static rondo_status
turn(rondo_server *server)
{
    rondo_status status = rondo_comm_progress(server->comm);

    if (status == RONDO_OK) {
        status = take_fault(server);
        if (status != RONDO_OK) {
            return status;
        }
        status = rondo_server_answer(server);
    }
    if (status != RONDO_OK) {
        return fail(server, status, "the server on rank %u: %s", server->place.rank,
                    rondo_comm_error_text(server->comm));
    }
    return take_fault(server);
}

rondo_status
rondo_server_serve(rondo_server *server, uint64_t timeout_ms)
{
    rondo_patience patience = {0};

    if (server == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_server_serve: the server is null");
    }
    if (!server->listening) {
        return fail(server, RONDO_ERR_STATE,
                    "a shard that is placed on rank %u has not been added",
                    server->place.rank);
    }
    const uint64_t deadline_ns = rondo_deadline_ns(timeout_ms);
    for (;;) {
        const rondo_status status = turn(server);
        if (status != RONDO_OK) {
            return status;
        }
        if (rondo_server_settled(server)) {
            return RONDO_OK;
        }
        if (server->woken ||
            (deadline_ns != RONDO_NEVER && rondo_now_ns() >= deadline_ns)) {
            server->woken = false;
            return RONDO_BUSY;
        }
        rondo_patience_wait(&patience, server->moves);
    }
}

/* --- another communicator --------------------------------------------------------- */

static rondo_status
slots_follow(rondo_server *server)
{
    for (uint32_t s = 0; s < server->place.nshards; s++) {
        rondo_server_slot *const slot = &server->slots[s];
        if (slot->shard == NULL) {
            continue;
        }
        if (server->place.owner[s] != server->place.rank) {
            rondo_slot_close(slot);
            continue;
        }
        for (uint32_t i = 0; i < slot->nworkers; i++) {
            rondo_slot_forget(slot, &slot->lanes[i]);
            slot->lanes[i].deaf = true;
        }
        const rondo_status status = rondo_server_presence(server, slot, false);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_server_bind(rondo_server *server, rondo_comm *comm,
                  const rondo_placement *placement)
{
    rondo_place place = {0};

    if (server == NULL || comm == NULL || placement == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_server_bind: a pointer is null");
    }
    rondo_status status = rondo_place_make(placement, rondo_comm_rank(comm),
                                           rondo_comm_nranks(comm), &place);
    if (status != RONDO_OK) {
        return keep(server, status);
    }
    status = rondo_place_same(&server->place, &place);
    if (status == RONDO_OK) {
        status = bind_new(server);
    }
    if (status != RONDO_OK) {
        rondo_place_end(&place);
        return keep(server, status);
    }
    rondo_place_end(&server->place);
    server->place = place;
    server->comm = comm;
    server->fault = RONDO_OK;
    status = slots_follow(server);
    if (status == RONDO_OK) {
        status = listen_if_complete(server);
    }
    return status == RONDO_OK ? RONDO_OK : keep(server, status);
}

const char *
rondo_server_error_text(const rondo_server *server)
{
    return server != NULL ? server->text : "";
}
