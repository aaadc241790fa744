/* listening.c - opening the sockets of a meeting point, or saying why it cannot be. */
#include "bootstrap/listening.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"

/* 0, or the error number. */
static int
listen_at(const rondo_place *wanted, int *listening)
{
    const int yes = 1;
    const bool six = wanted->address.ss_family == AF_INET6;
    const int fd = socket(wanted->address.ss_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return errno;
    }
    /* Connections of an earlier meeting may not keep us from the port, and an IPv6
     * address is not to take the IPv4 port with it. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        (!six || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) == 0) &&
        bind(fd, (const struct sockaddr *)&wanted->address, wanted->bytes) == 0 &&
        listen(fd, SOMAXCONN) == 0) {
        *listening = fd;
        return 0;
    }
    const int number = errno;
    (void)close(fd);
    return number;
}

/* The address is not of this host: another one of the name may be. */
static bool
is_elsewhere(int failed)
{
    return failed == EADDRNOTAVAIL || failed == EAFNOSUPPORT;
}

static rondo_status
say_failed(const rondo_place *place, int failed)
{
    char where[RONDO_PEER_TEXT_BYTES];
    char holder[96];
    char reason[128];

    rondo_place_text(place, where, sizeof where);
    if (failed != EADDRINUSE) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, failed,
                                 "the meeting point %s cannot be opened", where);
    }
    rondo_holder_text(place, holder, sizeof holder);
    return rondo_error(RONDO_ERR_SYSTEM,
                       "the meeting point %s cannot be opened: %s%s; end that process "
                       "or set another MASTER_PORT",
                       where, strerror_r(failed, reason, sizeof reason), holder);
}

static rondo_status
say_elsewhere(const rondo_server_spec *spec, const rondo_place *place)
{
    char host[RONDO_PEER_TEXT_BYTES];
    char name[RONDO_HOST_NAME_BYTES];

    rondo_place_host(place, host, sizeof host);
    rondo_host_name(name, sizeof name);
    const bool other = strcmp(host, spec->host) != 0;
    return rondo_error(
        RONDO_ERR_SYSTEM,
        "the meeting point cannot be opened: %.100s%s%s%s is no address "
        "of this host (%s)%s; rank 0 belongs where MASTER_ADDR points to",
        spec->host, other ? " is " : "", other ? host : "", other ? ", which" : "",
        name, other ? "" : rondo_family_missing(place));
}

/* Debian gives a host's own name the address 127.0.1.1, and rank 0 then listens where
 * nobody else gets to. */
static void
note_trap(const rondo_server_spec *spec, const rondo_places *places,
          rondo_listeners *listeners)
{
    char host[RONDO_PEER_TEXT_BYTES];
    char name[RONDO_HOST_NAME_BYTES];

    if (!rondo_places_named(places, spec->host) || !rondo_places_are_loopback(places) ||
        strcmp(spec->host, "localhost") == 0) {
        return;
    }
    rondo_place_host(&listeners->place, host, sizeof host);
    rondo_host_name(name, sizeof name);
    (void)snprintf(listeners->trap, sizeof listeners->trap,
                   "; %.48s is %.40s on this host (%.60s), which other hosts cannot "
                   "reach",
                   spec->host, host, name);
}

static rondo_status
watch_all(rondo_listeners *listeners)
{
    listeners->fd = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; listeners->fd >= 0 && i < listeners->count; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (epoll_ctl(listeners->fd, EPOLL_CTL_ADD, listeners->fds[i], &event) != 0) {
            const int failed = errno;
            (void)close(listeners->fd);
            listeners->fd = -1;
            errno = failed;
        }
    }
    if (listeners->fd < 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "the meeting point cannot be opened");
    }
    struct sockaddr *const first = (struct sockaddr *)&listeners->place.address;
    listeners->place.bytes = sizeof listeners->place.address;
    if (getsockname(listeners->fds[0], first, &listeners->place.bytes) != 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "the meeting point cannot be opened");
    }
    return RONDO_OK;
}

/* At every address that is this host's. With any port that is free there can be only
 * one, or they would differ. */
static rondo_status
listen_at_all(const rondo_server_spec *spec, const rondo_places *places,
              rondo_listeners *listeners)
{
    const uint32_t most = spec->port == 0 ? 1 : RONDO_PLACES_MAX;

    for (uint32_t i = 0; i < places->count && listeners->count < most; i++) {
        const int failed = listen_at(&places->at[i], &listeners->fds[listeners->count]);
        if (failed == 0) {
            listeners->count++;
        } else if (!is_elsewhere(failed)) {
            return say_failed(&places->at[i], failed);
        }
    }
    return listeners->count > 0 ? watch_all(listeners)
                                : say_elsewhere(spec, &places->at[0]);
}

rondo_status
rondo_listeners_open(const rondo_server_spec *spec, rondo_listeners *listeners)
{
    rondo_listeners made = {.fd = -1};
    rondo_places places;
    rondo_status status = rondo_places_find(spec->host, spec->port, &places);

    if (status != RONDO_OK) {
        return status;
    }
    if (!rondo_key_given(&spec->secret) && !rondo_places_are_loopback(&places)) {
        return rondo_error(RONDO_ERR_ARG,
                           "%s can be reached from other machines: set RONDO_SECRET "
                           "or RONDO_SECRET_FILE",
                           spec->host);
    }
    status = listen_at_all(spec, &places, &made);
    if (status != RONDO_OK) {
        rondo_listeners_close(&made);
        return status;
    }
    note_trap(spec, &places, &made);
    *listeners = made;
    return RONDO_OK;
}

int
rondo_listeners_accept(const rondo_listeners *listeners, rondo_place *from)
{
    int fd = -1;

    errno = EAGAIN;
    for (uint32_t i = 0; i < listeners->count && fd < 0 && errno == EAGAIN; i++) {
        from->bytes = sizeof from->address;
        fd = accept4(listeners->fds[i], (struct sockaddr *)&from->address, &from->bytes,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    return fd;
}

void
rondo_listeners_close(rondo_listeners *listeners)
{
    if (listeners->fd >= 0) {
        (void)close(listeners->fd);
        listeners->fd = -1;
    }
    while (listeners->count > 0) {
        (void)close(listeners->fds[--listeners->count]);
    }
}
