/* connecting.c - how a rank reaches the meeting point, however often it takes. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/rendezvous_inside.h"

#define PAUSE_MOST_NS (50 * RONDO_NS_PER_MS)

/* A reset instead of an orderly end: nothing lingers to block the next meeting. */
void
rondo_rendezvous_disconnect(rondo_rendezvous *here)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    if (here->fd >= 0) {
        (void)setsockopt(here->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        (void)close(here->fd);
        here->fd = -1;
    }
}

/* Comes again after a pause that doubles with every round over all addresses. */
static rondo_status
come_again(rondo_rendezvous *here)
{
    rondo_rendezvous_disconnect(here);
    here->state = STATE_PAUSE;
    here->wake_ns = rondo_now_ns();
    here->place = (here->place + 1) % here->places.count;
    if (here->place == 0) {
        here->wake_ns += here->pause_ns;
        here->pause_ns =
            here->pause_ns < PAUSE_MOST_NS / 2 ? here->pause_ns * 2 : PAUSE_MOST_NS;
    }
    return RONDO_BUSY;
}

static rondo_status
open_socket(rondo_rendezvous *here)
{
    const rondo_place *const place = &here->places.at[here->place];
    const int yes = 1;

    here->fd =
        socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (here->fd < 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "a socket to reach %s could not be opened",
                                 here->where);
    }
    (void)setsockopt(here->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    /* Should the kernel give us the meeting point's own port, it can still be bound. */
    (void)setsockopt(here->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return RONDO_OK;
}

static rondo_status
begin_connect(rondo_rendezvous *here)
{
    const rondo_place *const place = &here->places.at[here->place];
    const rondo_status status = open_socket(here);

    if (status != RONDO_OK) {
        return rondo_rendezvous_failed(here, status);
    }
    const int failed =
        connect(here->fd, (const struct sockaddr *)&place->address, place->bytes);
    if (failed != 0 && errno != EINPROGRESS && errno != EINTR) {
        here->last_errno = errno;
        return come_again(here);
    }
    here->state = STATE_CONNECTING;
    return RONDO_OK;
}

/* A connection to a free port of this machine can meet itself. */
static bool
is_ourselves(const rondo_rendezvous *here)
{
    struct sockaddr_storage near = {0};
    struct sockaddr_storage far = {0};
    socklen_t near_bytes = sizeof near;
    socklen_t far_bytes = sizeof far;

    return getsockname(here->fd, (struct sockaddr *)&near, &near_bytes) == 0 &&
           getpeername(here->fd, (struct sockaddr *)&far, &far_bytes) == 0 &&
           near_bytes == far_bytes && memcmp(&near, &far, near_bytes) == 0;
}

rondo_status
rondo_rendezvous_connect(rondo_rendezvous *here)
{
    struct pollfd ready = {.fd = here->fd, .events = POLLOUT};
    int failed = 0;
    socklen_t bytes = sizeof failed;

    if (poll(&ready, 1, 0) <= 0) {
        return RONDO_BUSY;
    }
    (void)getsockopt(here->fd, SOL_SOCKET, SO_ERROR, &failed, &bytes);
    if (failed != 0 || is_ourselves(here)) {
        here->last_errno = failed != 0 ? failed : ECONNREFUSED;
        return come_again(here);
    }
    here->state = STATE_GREETING;
    here->in_bytes = 0;
    here->wake_ns = rondo_deadline_ns(RONDO_GREETING_MS);
    return RONDO_OK;
}

rondo_status
rondo_rendezvous_pause(rondo_rendezvous *here)
{
    if (rondo_now_ns() < here->wake_ns) {
        return RONDO_BUSY;
    }
    return begin_connect(here);
}

/* The connection has ended or failed. Before the meeting point has proved itself that
 * may be the end of an earlier meeting, or a listener that is no meeting point. */
rondo_status
rondo_rendezvous_cut(rondo_rendezvous *here, int number)
{
    if (here->state == STATE_WAITING) {
        (void)rondo_error(RONDO_ERR_START,
                          "the meeting point %s (%s) went away before all ranks had "
                          "come",
                          here->where, here->by_id ? "who made the id" : "rank 0");
        return rondo_rendezvous_failed(here, RONDO_ERR_START);
    }
    here->was_cut = true;
    here->last_errno = number;
    return come_again(here);
}
