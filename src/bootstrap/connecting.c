/* connecting.c - how a rank reaches the meeting point, however often it takes. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/rendezvous_inside.h"

#define PAUSE_MOST_NS (50 * RONDO_NS_PER_MS)

/* An address begins this long after the one before it, unless that has failed. */
#define STAGGER_NS (100 * RONDO_NS_PER_MS)

/* One attempt. Longer than it takes to hear that nobody has the address; the kernel
 * itself would ask ever more seldom, for two minutes. */
#define ATTEMPT_MS 4000

/* A host without a way to any of the addresses may be getting one just now. */
#define UNREACHABLE_MS 5000

/* A reset instead of an orderly end: nothing lingers to block the next meeting. */
static void
reset(int *fd)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (*fd >= 0) {
        (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        (void)close(*fd);
        *fd = -1;
    }
}

void
rondo_rendezvous_disconnect(rondo_rendezvous *here)
{
    for (uint32_t i = 0; i < here->places.count; i++) {
        reset(&here->attempts[i].fd);
    }
    reset(&here->fd);
}

void
rondo_rendezvous_set_out(rondo_rendezvous *here)
{
    here->state = STATE_REACHING;
    here->hope_ns = rondo_now_ns();
    for (uint32_t i = 0; i < here->places.count; i++) {
        here->attempts[i] = (rondo_attempt){.fd = -1,
                                            .wake_ns = here->hope_ns + i * STAGGER_NS,
                                            .pause_ns = RONDO_NS_PER_MS};
    }
}

/* Comes again after a pause that doubles; the next address need not wait for it. */
static rondo_status
come_again(rondo_rendezvous *here, uint32_t i, int failed)
{
    rondo_attempt *const attempt = &here->attempts[i];
    rondo_attempt *const next = attempt + 1;
    const uint64_t now = rondo_now_ns();

    reset(&attempt->fd);
    attempt->failed = failed;
    attempt->wake_ns = now + attempt->pause_ns;
    attempt->pause_ns =
        attempt->pause_ns < PAUSE_MOST_NS / 2 ? attempt->pause_ns * 2 : PAUSE_MOST_NS;
    if (i + 1 < here->places.count && next->fd < 0 && next->failed == 0) {
        next->wake_ns = now;
    }
    return RONDO_BUSY;
}

static rondo_status
begin_connect(rondo_rendezvous *here, uint32_t i)
{
    const rondo_place *const place = &here->places.at[i];
    rondo_attempt *const attempt = &here->attempts[i];
    const int yes = 1;

    attempt->fd =
        socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    attempt->was_cut = false;
    attempt->unreachable = attempt->fd < 0 && errno == EAFNOSUPPORT;
    if (attempt->unreachable) {
        return come_again(here, i, EAFNOSUPPORT);
    }
    if (attempt->fd < 0) {
        (void)rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                "a socket to reach %s could not be opened",
                                here->where);
        return rondo_rendezvous_failed(here, RONDO_ERR_SYSTEM);
    }
    rondo_socket_tend(attempt->fd);
    /* Should the kernel give us the meeting point's own port, it can still be bound. */
    (void)setsockopt(attempt->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const int failed =
        connect(attempt->fd, (const struct sockaddr *)&place->address, place->bytes);
    if (failed != 0 && errno != EINPROGRESS && errno != EINTR) {
        attempt->unreachable = errno != ECONNREFUSED;
        return come_again(here, i, errno);
    }
    here->hope_ns = rondo_now_ns();
    attempt->wake_ns = rondo_deadline_ns(ATTEMPT_MS);
    return RONDO_OK;
}

/* A connection to a free port of this machine can meet itself. */
static bool
is_ourselves(int fd)
{
    struct sockaddr_storage near = {0};
    struct sockaddr_storage far = {0};
    socklen_t near_bytes = sizeof near;
    socklen_t far_bytes = sizeof far;

    return getsockname(fd, (struct sockaddr *)&near, &near_bytes) == 0 &&
           getpeername(fd, (struct sockaddr *)&far, &far_bytes) == 0 &&
           near_bytes == far_bytes && memcmp(&near, &far, near_bytes) == 0;
}

/* Sentences from now on say which of a name's addresses they are about. */
static void
name_place(rondo_rendezvous *here)
{
    char host[RONDO_PEER_TEXT_BYTES];
    char name[RONDO_PLACE_TEXT_MAX - RONDO_PEER_TEXT_BYTES - 8];
    struct sockaddr_in four; /* both families have their port at the same place */

    memcpy(&four, &here->places.at[here->place].address, sizeof four);
    rondo_place_host(&here->places.at[here->place], host, sizeof host);
    rondo_host_text(here->host, ntohs(four.sin_port), name, sizeof name);
    (void)snprintf(here->where, sizeof here->where, "%s (%s)", name, host);
}

/* The one that answered is taken, the others are left where they are. */
static rondo_status
take(rondo_rendezvous *here, uint32_t i)
{
    here->fd = here->attempts[i].fd;
    here->attempts[i].fd = -1;
    here->place = i;
    for (uint32_t k = 0; k < here->places.count; k++) {
        if (here->attempts[k].fd >= 0) {
            reset(&here->attempts[k].fd);
            here->attempts[k].wake_ns = rondo_now_ns();
        }
    }
    if (rondo_places_named(&here->places, here->host)) {
        name_place(here);
    }
    here->state = STATE_GREETING;
    here->in_bytes = 0;
    here->wake_ns = rondo_deadline_ns(RONDO_GREETING_MS);
    return RONDO_OK;
}

static rondo_status
try_place(rondo_rendezvous *here, uint32_t i)
{
    rondo_attempt *const attempt = &here->attempts[i];
    const bool due = rondo_now_ns() >= attempt->wake_ns;
    int failed = 0;
    socklen_t bytes = sizeof failed;

    if (attempt->fd < 0) {
        return due ? begin_connect(here, i) : RONDO_BUSY;
    }
    struct pollfd ready = {.fd = attempt->fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) <= 0) {
        return due ? come_again(here, i, ETIMEDOUT) : RONDO_BUSY;
    }
    (void)getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &failed, &bytes);
    if (failed != 0 || is_ourselves(attempt->fd)) {
        return come_again(here, i, failed != 0 ? failed : ECONNREFUSED);
    }
    return take(here, i);
}

/* Whether this host has had no way to any of the addresses for a while. */
static bool
is_unreachable(const rondo_rendezvous *here)
{
    for (uint32_t i = 0; i < here->places.count; i++) {
        if (!here->attempts[i].unreachable) {
            return false;
        }
    }
    return rondo_now_ns() - here->hope_ns > UNREACHABLE_MS * RONDO_NS_PER_MS;
}

rondo_status
rondo_rendezvous_reach(rondo_rendezvous *here)
{
    bool begun = false;

    for (uint32_t i = 0; i < here->places.count; i++) {
        const rondo_status status = try_place(here, i);
        if (status != RONDO_OK && status != RONDO_BUSY) {
            return status;
        }
        if (here->state != STATE_REACHING) {
            return RONDO_OK;
        }
        begun = begun || status == RONDO_OK;
    }
    if (is_unreachable(here)) {
        return rondo_rendezvous_failed(here, rondo_rendezvous_unreachable(here));
    }
    /* On this machine a connection is there as soon as it is begun. */
    return begun ? RONDO_OK : RONDO_BUSY;
}

/* The connection has ended or failed. Before the meeting point has proved itself that
 * may be the end of an earlier meeting, or a listener that is no meeting point. */
rondo_status
rondo_rendezvous_cut(rondo_rendezvous *here, int number)
{
    if (here->state == STATE_WAITING) {
        const bool silent = number == ETIMEDOUT || number == EHOSTUNREACH;
        (void)rondo_error(RONDO_ERR_START,
                          "the meeting point %s (%s) %s before all ranks had come",
                          here->where, here->by_id ? "who made the id" : "rank 0",
                          silent ? "could no longer be reached" : "went away");
        return rondo_rendezvous_failed(here, RONDO_ERR_START);
    }
    here->attempts[here->place].was_cut = true;
    reset(&here->fd);
    here->state = STATE_REACHING;
    return come_again(here, here->place, number);
}

void
rondo_rendezvous_sleep(const rondo_rendezvous *here, uint64_t until_ns)
{
    struct pollfd ready[RONDO_PLACES_MAX];
    nfds_t count = 0;
    uint64_t until = until_ns;

    if (here->state == STATE_REACHING) {
        for (uint32_t i = 0; i < here->places.count; i++) {
            const rondo_attempt *const at = &here->attempts[i];
            until = at->wake_ns < until ? at->wake_ns : until;
            ready[count++] = (struct pollfd){.fd = at->fd, .events = POLLOUT};
        }
    } else {
        ready[count++] = (struct pollfd){.fd = here->fd, .events = POLLIN};
        if (here->state == STATE_GREETING && here->wake_ns < until) {
            until = here->wake_ns;
        }
    }
    const uint64_t now = rondo_now_ns();
    const uint64_t span = until > now ? until - now : 0;
    const struct timespec time = {.tv_sec = (time_t)(span / RONDO_NS_PER_S),
                                  .tv_nsec = (long)(span % RONDO_NS_PER_S)};
    (void)ppoll(ready, count, &time, NULL);
}
