/* links_socket.c - descriptors of links, which no forked child may keep, and their
 * options. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/error.h"
#include "control/links_parts.h"

/* Room for what peers may send a process that is stopped: a receiver without room looks
 * like a path that is cut. */
#define RECEIVE_BYTES (1 << 20)

/* Keep-alive: seconds of silence before the first probe, and between probes. */
#define IDLE_S     2
#define INTERVAL_S 1

rondo_status
rondo_links_poll_locked(rondo_service *service, int fd, uint32_t events,
                        rondo_ready_function ready, void *user)
{
    const rondo_status status =
        rondo_service_poll_add_locked(service, fd, events, ready, user);

    if (status == RONDO_OK) {
        service->pollers[fd]->private_to_process = true;
    }
    return status;
}

rondo_status
rondo_links_socket(rondo_service *service, uint16_t family, rondo_ready_function ready,
                   void *user, int *fd)
{
    rondo_status status = RONDO_OK;

    (void)pthread_mutex_lock(&service->lock);
    const int opened = socket(family == 6 ? AF_INET6 : AF_INET,
                              SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (opened < 0) {
        status =
            rondo_error_errno(RONDO_ERR_SYSTEM, errno, "a socket could not be opened");
    } else {
        status = rondo_links_poll_locked(service, opened, 0, ready, user);
        if (status != RONDO_OK) {
            (void)close(opened);
        }
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (status == RONDO_OK) {
        *fd = opened;
    }
    return status;
}

void
rondo_links_close_fd(rondo_service *service, int *fd)
{
    if (*fd < 0 || rondo_service_forked(service)) {
        return;
    }
    (void)pthread_mutex_lock(&service->lock);
    rondo_service_poll_remove_locked(service, *fd);
    (void)close(*fd);
    (void)pthread_mutex_unlock(&service->lock);
    *fd = -1;
}

/* The window's scale is agreed on when a connection is made. */
void
rondo_links_tune_early(int fd)
{
    const int bytes = RECEIVE_BYTES;
    const int yes = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void
rondo_links_tune(int fd, uint64_t silence_ms)
{
    const uint64_t most = 3600 * 1000;
    const unsigned silence = (unsigned)(silence_ms < most ? silence_ms : most);
    const int yes = 1;
    const int idle = silence > 1000 * (IDLE_S + INTERVAL_S) ? IDLE_S : 1;
    const int interval = INTERVAL_S;
    const int left = (int)(silence / 1000) - idle;
    const int count = left > 1 ? left : 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
}
