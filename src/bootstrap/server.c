/* server.c - the meeting point: opened, found full, too late, or broken; then gone. */
#include "bootstrap/server.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bootstrap/server_inside.h"

/* Connections at a time that have not proved who they are; as many as there are ranks,
 * if that is more: they may all be on their way at once. */
#define UNKNOWN_MAX 64

/* Connections taken before other descriptors get their turn. */
#define ACCEPTS_AT_ONCE 64

/* Refusals of one meeting that are worth a line in the log. */
#define REFUSALS_LOGGED 4

bool
rondo_key_given(const rondo_key *key)
{
    return sodium_is_zero(key->bytes, sizeof key->bytes) == 0;
}

void
rondo_server_refused(rondo_server *server, const rondo_guest *guest, const char *why)
{
    server->refused++;
    (void)snprintf(server->refusal, sizeof server->refusal, "%s: %s", guest->from, why);
    if (server->refused <= REFUSALS_LOGGED) {
        rondo_log(RONDO_LOG_WARN, "the meeting at %s refused a connection from %s",
                  server->where, server->refusal);
    }
}

static bool
is_open(const rondo_server *server)
{
    return server->listeners.fd >= 0;
}

void
rondo_server_close(rondo_server *server)
{
    if (is_open(server)) {
        rondo_service_poll_remove(server->service, server->listeners.fd);
        rondo_listeners_close(&server->listeners);
    }
}

void
rondo_server_drop_unknown(rondo_server *server)
{
    for (rondo_guest *at = server->guests; at != NULL;) {
        rondo_guest *const next = at->next;
        if (at->state == RONDO_GUEST_UNKNOWN) {
            rondo_guest_drop(at);
        }
        at = next;
    }
}

/* Those who have not said who they are may be ranks on their way in: they are told when
 * they have. */
void
rondo_server_fail(rondo_server *server, rondo_status status, const char *text)
{
    if (!is_open(server)) {
        return;
    }
    rondo_server_close(server);
    memset(server->failure, 0, sizeof server->failure);
    (void)snprintf(server->failure, sizeof server->failure, "%s", text);
    server->failure_status = status;
    for (rondo_guest *at = server->guests; at != NULL;) {
        rondo_guest *const next = at->next;
        if (at->state == RONDO_GUEST_JOINED) {
            rondo_guest_end(at, RONDO_FRAME_FAILURE);
        }
        at = next;
    }
}

void
rondo_server_late(rondo_server *server)
{
    char ranks[128] = "the first rank";
    char text[RONDO_FAILURE_BYTES];
    char refusals[224] = "";

    if (server->by_rank != NULL) {
        void *const *const present = (void *const *)server->by_rank;
        rondo_waiting_text(present, server->nranks, ranks, sizeof ranks);
    }
    if (server->refused > 0) {
        (void)snprintf(refusals, sizeof refusals,
                       "; %u connection%s refused, the last from %s", server->refused,
                       server->refused == 1 ? " was" : "s were", server->refusal);
    }
    (void)snprintf(text, sizeof text, "waiting for %s at %.100s when time was up%s%s",
                   ranks, server->where, server->listeners.trap, refusals);
    rondo_server_fail(server, RONDO_ERR_START, text);
}

static void
free_server(rondo_server *server)
{
    rondo_service *const service = server->service;

    sodium_memzero(&server->secret, sizeof server->secret);
    rondo_free(server->by_rank);
    rondo_free(server->body);
    rondo_free(server);
    rondo_service_release(service);
}

void
rondo_server_settle(rondo_server *server)
{
    if (!is_open(server) && server->guests == NULL) {
        free_server(server);
    }
}

/* Honest ranks say who they are at once, so whoever has been silent longest goes. */
static void
make_way(rondo_server *server)
{
    rondo_guest *oldest = NULL;
    const uint32_t most = server->nranks > UNKNOWN_MAX ? server->nranks : UNKNOWN_MAX;

    if (server->nunknown < most) {
        return;
    }
    for (rondo_guest *at = server->guests; at != NULL; at = at->next) {
        oldest = at->counted ? oldest : at;
    }
    if (oldest != NULL) {
        rondo_guest_drop(oldest);
    }
}

static void
accept_failed(rondo_server *server, int number)
{
    char text[RONDO_FAILURE_BYTES];
    char reason[128];
    struct rlimit limit = {0};

    if (number != EMFILE && number != ENFILE && number != ENOMEM && number != ENOBUFS) {
        return;
    }
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    (void)snprintf(text, sizeof text,
                   "the meeting at %s cannot take more connections: %s (the limit of "
                   "open files is %llu)",
                   server->where, strerror_r(number, reason, sizeof reason),
                   (unsigned long long)limit.rlim_cur);
    rondo_server_fail(server, RONDO_ERR_SYSTEM, text);
}

static void
accept_some(rondo_server *server)
{
    for (uint32_t i = 0; i < ACCEPTS_AT_ONCE && is_open(server); i++) {
        rondo_place from;
        const int fd = rondo_listeners_accept(&server->listeners, &from);
        if (fd < 0) {
            accept_failed(server, errno);
            return;
        }
        make_way(server);
        rondo_guest_add(server, fd, &from);
    }
}

static void
server_ready(int fd, uint32_t events, void *user)
{
    rondo_server *const server = user;

    (void)fd;
    if (events == 0) {
        rondo_server_late(server);
    } else {
        accept_some(server);
    }
    rondo_server_settle(server);
}

/* Once it is polled the server is the service thread's, and may have ended before the
 * call returns: nothing of it is touched after that. Our own hold keeps the service. */
static rondo_status
start_polling(rondo_server *server, uint64_t deadline_ns)
{
    rondo_service *service = NULL;
    rondo_status status = rondo_service_acquire(&service);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_service_acquire(&server->service);
    if (status == RONDO_OK) {
        status = rondo_service_poll_until(service, server->listeners.fd, EPOLLIN,
                                          server_ready, server, deadline_ns);
        if (status != RONDO_OK) {
            rondo_service_release(service);
        }
    }
    rondo_service_release(service);
    return status;
}

rondo_status
rondo_server_open(const rondo_server_spec *spec, rondo_place *place)
{
    void *memory = NULL;
    rondo_listeners listeners;

    rondo_status status = rondo_listeners_open(spec, &listeners);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_alloc_zero(sizeof(rondo_server), &memory);
    if (status != RONDO_OK) {
        goto undo_listen;
    }
    rondo_server *const server = memory;
    server->listeners = listeners;
    server->secret = spec->secret;
    server->job = spec->job;
    server->nranks = spec->nranks;
    rondo_place_text(&listeners.place, server->where, sizeof server->where);
    status = start_polling(server, spec->deadline_ns);
    if (status != RONDO_OK) {
        goto undo_memory;
    }
    *place = listeners.place;
    return RONDO_OK;

undo_memory:
    rondo_free(server);
undo_listen:
    rondo_listeners_close(&listeners);
    return status;
}
