/* links_port.c - where this process listens for leaders, and who has come but has not
 * proved yet who it is. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "control/links_parts.h"

/* Connections at a time that have not proved who they are, and how long each may
 * take. */
#define UNKNOWN_MAX 64
#define UNKNOWN_MS  5000

#define ACCEPTS_AT_ONCE 64

/* How long nobody is accepted when there are no descriptors left. */
#define REST_MS 100

/* The lock is held. */
static rondo_status
home_locked(rondo_service *service, links_home **home)
{
    if (service->links == NULL) {
        const rondo_status status =
            rondo_alloc_zero(sizeof(links_home), (void **)&service->links);
        if (status != RONDO_OK) {
            return status;
        }
        service->links->service = service;
    }
    *home = service->links;
    return RONDO_OK;
}

rondo_status
rondo_links_home(rondo_service *service, links_home **home)
{
    (void)pthread_mutex_lock(&service->lock);
    const rondo_status status = home_locked(service, home);
    (void)pthread_mutex_unlock(&service->lock);
    return status;
}

/* Only the service thread takes links out, so it may walk on without the lock. */
rondo_links *
rondo_links_find(rondo_service *service, const rondo_name *name, uint32_t rank)
{
    (void)pthread_mutex_lock(&service->lock);
    rondo_links *at = service->links != NULL ? service->links->all : NULL;
    (void)pthread_mutex_unlock(&service->lock);
    while (at != NULL && (at->rank != rank || at->closing_ns != 0 ||
                          memcmp(&at->name, name, sizeof *name) != 0)) {
        at = at->next;
    }
    return at;
}

static rondo_link **
guest_place(links_home *home, const rondo_link *link)
{
    rondo_link **place = &home->guests;

    while (*place != link) {
        place = &(*place)->next;
    }
    return place;
}

void
rondo_links_guest_moved(rondo_link *link)
{
    links_home *const home = link->service->links;

    *guest_place(home, link) = link->next;
    link->next = NULL;
    home->nguests--;
    rondo_service_alarm(link->service, link->fd, RONDO_NEVER);
}

void
rondo_links_guest_ended(rondo_link *link)
{
    rondo_links_guest_moved(link);
    rondo_link_free(link);
}

void
rondo_links_claim(rondo_links *links)
{
    for (rondo_link *at = links->service->links->guests; at != NULL; at = at->next) {
        if (at->state == LINK_UNCLAIMED &&
            memcmp(&at->hello.name, &links->name, sizeof links->name) == 0) {
            rondo_link_say_answer(at);
        }
    }
}

/* Honest leaders say who they are at once, so whoever came first goes. */
static void
make_way(links_home *home)
{
    rondo_link *oldest = home->guests;

    if (home->nguests < UNKNOWN_MAX) {
        return;
    }
    while (oldest->next != NULL) {
        oldest = oldest->next;
    }
    rondo_links_guest_ended(oldest);
}

static int
accept_one(links_home *home, int listener, rondo_link *link)
{
    struct sockaddr_storage place = {0};
    socklen_t bytes = sizeof place;
    rondo_service *const service = home->service;
    int failed = 0;

    (void)pthread_mutex_lock(&service->lock);
    const int fd = accept4(listener, (struct sockaddr *)&place, &bytes,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        failed = errno;
    } else if (rondo_links_poll_locked(service, fd, EPOLLIN, rondo_link_ready, link) !=
               RONDO_OK) {
        failed = ENOMEM;
        (void)close(fd);
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (failed != 0) {
        return failed;
    }
    link->fd = fd;
    (void)rondo_links_endpoint(&place, &link->there);
    bytes = sizeof place;
    if (getsockname(fd, (struct sockaddr *)&place, &bytes) == 0) {
        (void)rondo_links_endpoint(&place, &link->here);
    }
    return 0;
}

static void
add_guest(links_home *home, rondo_link *link)
{
    make_way(home);
    rondo_links_tune_early(link->fd);
    link->next = home->guests;
    home->guests = link;
    home->nguests++;
    rondo_service_alarm(home->service, link->fd, rondo_deadline_ns(UNKNOWN_MS));
}

/* Without a descriptor to spare the same connection would wake us again and again. */
static void
rest(links_home *home, int listener)
{
    if (rondo_service_poll_change(home->service, listener, 0) == RONDO_OK) {
        rondo_service_alarm(home->service, listener, rondo_deadline_ns(REST_MS));
    }
}

static void
listener_ready(int fd, uint32_t events, void *user)
{
    links_home *const home = user;

    if (events == 0) {
        if (rondo_service_poll_change(home->service, fd, EPOLLIN) != RONDO_OK) {
            rondo_service_alarm(home->service, fd, rondo_deadline_ns(REST_MS));
        }
        return;
    }
    for (uint32_t i = 0; i < ACCEPTS_AT_ONCE; i++) {
        rondo_link *link = NULL;
        int failed = ENOMEM;

        if (rondo_link_make(home->service, &link) == RONDO_OK) {
            failed = accept_one(home, fd, link);
        }
        if (failed == 0) {
            add_guest(home, link);
            continue;
        }
        rondo_free(link);
        if (failed == EMFILE || failed == ENFILE || failed == ENOMEM ||
            failed == ENOBUFS) {
            rest(home, fd);
        }
        if (failed != ECONNABORTED && failed != EINTR) {
            return;
        }
    }
}

/* 0, or the error number. */
static int
listen_at(int fd, const rondo_endpoint *at)
{
    struct sockaddr_storage place;
    const socklen_t bytes = rondo_links_place(at, &place);
    const int yes = 1;

    if (at->family == 6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0) {
        return errno;
    }
    rondo_links_tune_early(fd);
    return bind(fd, (const struct sockaddr *)&place, bytes) != 0 ||
                   listen(fd, SOMAXCONN) != 0
               ? errno
               : 0;
}

static int
find_port(int fd, rondo_endpoint *at)
{
    struct sockaddr_storage place = {0};
    socklen_t bytes = sizeof place;
    rondo_endpoint bound;

    if (getsockname(fd, (struct sockaddr *)&place, &bytes) != 0) {
        return errno;
    }
    (void)rondo_links_endpoint(&place, &bound);
    at->port = bound.port;
    return 0;
}

/* With the port asked for, or any. */
static int
open_at(rondo_endpoint *at, int *listener)
{
    const int fd = socket(at->family == 6 ? AF_INET6 : AF_INET,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return errno;
    }
    int failed = listen_at(fd, at);
    failed = failed != 0 ? failed : find_port(fd, at);
    if (failed != 0) {
        (void)close(fd);
        return failed;
    }
    *listener = fd;
    return 0;
}

/* The lock is held. */
static rondo_status
add_listener(links_home *home, rondo_endpoint *at)
{
    char text[64];
    int fd = -1;

    if (home->nlisteners == LISTENERS_MAX) {
        return rondo_error(RONDO_ERR_SYSTEM,
                           "this process listens at %u addresses, more than that are "
                           "not possible",
                           home->nlisteners);
    }
    at->port = home->nlisteners > 0 ? home->at[0].port : 0;
    int failed = open_at(at, &fd);
    if (failed == EADDRINUSE && at->port != 0) {
        at->port = 0;
        failed = open_at(at, &fd);
    }
    if (failed != 0) {
        rondo_links_address_text(at, text, sizeof text);
        return rondo_error_errno(RONDO_ERR_SYSTEM, failed,
                                 "links between hosts cannot be accepted at %s", text);
    }
    const rondo_status status =
        rondo_links_poll_locked(home->service, fd, EPOLLIN, listener_ready, home);
    if (status != RONDO_OK) {
        (void)close(fd);
        return status;
    }
    home->listeners[home->nlisteners] = fd;
    home->at[home->nlisteners++] = *at;
    return RONDO_OK;
}

/* The lock is held. */
static rondo_status
port_of(links_home *home, rondo_endpoint *at)
{
    at->port = 0;
    if (!rondo_links_usable(at)) {
        return RONDO_OK;
    }
    for (uint32_t i = 0; i < home->nlisteners; i++) {
        if (rondo_links_same_address(&home->at[i], at)) {
            at->port = home->at[i].port;
            return RONDO_OK;
        }
    }
    return add_listener(home, at);
}

rondo_status
rondo_links_port(rondo_service *service, rondo_endpoint *at, uint32_t nat)
{
    links_home *home = NULL;

    (void)pthread_mutex_lock(&service->lock);
    rondo_status status = home_locked(service, &home);
    for (uint32_t i = 0; i < nat && status == RONDO_OK; i++) {
        status = port_of(home, &at[i]);
    }
    (void)pthread_mutex_unlock(&service->lock);
    return status;
}

void
rondo_links_home_close(rondo_service *service)
{
    links_home *const home = service->links;

    if (home == NULL) {
        return;
    }
    /* At the moment of a fork their list may have been half changed. */
    while (home->guests != NULL && !rondo_service_forked(service)) {
        rondo_link *const gone = home->guests;
        home->guests = gone->next;
        rondo_link_free(gone);
    }
    for (uint32_t i = 0; i < home->nlisteners; i++) {
        rondo_links_close_fd(service, &home->listeners[i]);
    }
    service->links = NULL;
    rondo_free(home);
}
