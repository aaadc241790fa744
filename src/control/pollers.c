/* pollers.c - descriptors the service thread polls for others, and their alarms. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "control/service_parts.h"

static void
woken(int fd, uint32_t events, void *user)
{
    uint64_t count = 0;

    (void)events;
    (void)user;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {
        continue;
    }
}

rondo_status
rondo_service_poll_open(rondo_service *service)
{
    service->next_alarm_ns = RONDO_NEVER;
    return rondo_service_poll_add_locked(service, service->wake, EPOLLIN, woken, NULL);
}

void
rondo_service_poll_close(rondo_service *service)
{
    for (uint64_t i = 0; i < service->pollers_room; i++) {
        rondo_free(service->pollers[i]);
    }
    rondo_free(service->pollers);
    service->pollers = NULL;
    service->pollers_room = 0;
}

void
rondo_service_poll_forked(const rondo_service *service)
{
    for (uint64_t fd = 0; fd < service->pollers_room; fd++) {
        if (service->pollers[fd] != NULL && service->pollers[fd]->private_to_process) {
            (void)close((int)fd);
        }
    }
}

static rondo_status
make_room(rondo_service *service, uint64_t wanted)
{
    uint64_t room = service->pollers_room == 0 ? 64 : service->pollers_room;
    void *memory = NULL;

    if (wanted <= service->pollers_room) {
        return RONDO_OK;
    }
    while (room < wanted) {
        room *= 2;
    }
    const rondo_status status = rondo_alloc_zero(room * sizeof(poller *), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    if (service->pollers_room > 0) {
        memcpy(memory, service->pollers, service->pollers_room * sizeof(poller *));
    }
    rondo_free(service->pollers);
    service->pollers = memory;
    service->pollers_room = room;
    return RONDO_OK;
}

static struct epoll_event
event_of(const poller *polled, uint32_t events)
{
    return (struct epoll_event){.events = events,
                                .data.u64 = (uint64_t)polled->generation << 32 |
                                            (uint32_t)polled->fd};
}

rondo_status
rondo_service_poll_add_locked(rondo_service *service, int fd, uint32_t events,
                              rondo_ready_function ready, void *user)
{
    void *memory = NULL;

    RONDO_ASSERT(fd >= 0);
    rondo_status status = make_room(service, (uint64_t)fd + 1);
    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_alloc_zero(sizeof(poller), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    poller *const added = memory;
    *added = (poller){.fd = fd,
                      .generation = ++service->generation,
                      .ready = ready,
                      .user = user,
                      .alarm_ns = RONDO_NEVER};
    struct epoll_event event = event_of(added, events);
    if (epoll_ctl(service->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        rondo_free(added);
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "a descriptor could not be polled");
    }
    service->pollers[fd] = added;
    return RONDO_OK;
}

static poller *
find(const rondo_service *service, int fd)
{
    return fd >= 0 && (uint64_t)fd < service->pollers_room ? service->pollers[fd]
                                                           : NULL;
}

/* True when the thread has to be woken, to wait less long. The lock is held. */
static bool
set_alarm(rondo_service *service, int fd, uint64_t moment_ns)
{
    poller *const due = find(service, fd);

    if (due == NULL) {
        return false;
    }
    due->alarm_ns = moment_ns;
    if (moment_ns >= service->next_alarm_ns) {
        return false;
    }
    service->next_alarm_ns = moment_ns;
    return !rondo_service_is_thread(service);
}

void
rondo_service_poll_remove_locked(rondo_service *service, int fd)
{
    poller *const gone = find(service, fd);

    if (gone != NULL) {
        service->pollers[fd] = NULL;
        (void)epoll_ctl(service->epoll, EPOLL_CTL_DEL, fd, NULL);
        gone->dropped = service->running == gone;
        if (!gone->dropped) {
            rondo_free(gone);
        }
    }
    if (rondo_service_is_thread(service)) {
        return;
    }
    const uint64_t runs = service->runs;
    while (service->running_fd == fd && service->runs == runs) {
        (void)pthread_cond_wait(&service->changed, &service->lock);
    }
}

/* Calls `ready` without the lock; the lock is held before and after. */
static void
call(rondo_service *service, poller *called, uint32_t events)
{
    const int fd = called->fd;
    const rondo_ready_function ready = called->ready;
    void *const user = called->user;

    service->running = called;
    service->running_fd = fd;
    service->runs++;
    (void)pthread_mutex_unlock(&service->lock);
    ready(fd, events, user);
    (void)pthread_mutex_lock(&service->lock);
    if (called->dropped) {
        rondo_free(called);
    }
    service->running = NULL;
    service->running_fd = -1;
    (void)pthread_cond_broadcast(&service->changed);
}

void
rondo_service_poll_dispatch(rondo_service *service, uint64_t data, uint32_t events)
{
    (void)pthread_mutex_lock(&service->lock);
    poller *const due = find(service, (int)(uint32_t)data);
    if (due != NULL && due->generation == data >> 32) {
        call(service, due, events);
    }
    (void)pthread_mutex_unlock(&service->lock);
}

/* The first poller whose alarm is due; what is earliest of the others goes into
 * next_alarm_ns. */
static poller *
next_due(rondo_service *service, uint64_t now)
{
    uint64_t earliest = RONDO_NEVER;

    for (uint64_t i = 0; i < service->pollers_room; i++) {
        poller *const at = service->pollers[i];
        if (at == NULL) {
            continue;
        }
        if (at->alarm_ns <= now) {
            return at;
        }
        earliest = at->alarm_ns < earliest ? at->alarm_ns : earliest;
    }
    service->next_alarm_ns = earliest;
    return NULL;
}

void
rondo_service_poll_alarms(rondo_service *service)
{
    const uint64_t now = rondo_now_ns();

    (void)pthread_mutex_lock(&service->lock);
    while (service->next_alarm_ns <= now) {
        poller *const due = next_due(service, now);
        if (due == NULL) {
            break;
        }
        due->alarm_ns = RONDO_NEVER;
        call(service, due, 0);
    }
    (void)pthread_mutex_unlock(&service->lock);
}

int
rondo_service_poll_wait_ms(rondo_service *service)
{
    (void)pthread_mutex_lock(&service->lock);
    const uint64_t moment = service->next_alarm_ns;
    const bool deaths = service->deaths || service->stopping;
    (void)pthread_mutex_unlock(&service->lock);
    if (deaths) {
        return 0;
    }
    if (moment == RONDO_NEVER) {
        return -1;
    }
    const uint64_t now = rondo_now_ns();
    if (moment <= now) {
        return 0;
    }
    /* Rounded up: a little late is right, a little early would spin. */
    const uint64_t ms = (moment - now) / RONDO_NS_PER_MS + 1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

rondo_status
rondo_service_poll_until(rondo_service *service, int fd, uint32_t events,
                         rondo_ready_function ready, void *user, uint64_t moment_ns)
{
    (void)pthread_mutex_lock(&service->lock);
    const rondo_status status =
        rondo_service_poll_add_locked(service, fd, events, ready, user);
    const bool wake = status == RONDO_OK && set_alarm(service, fd, moment_ns);
    (void)pthread_mutex_unlock(&service->lock);
    if (wake) {
        rondo_service_wake(service);
    }
    return status;
}

rondo_status
rondo_service_poll_add(rondo_service *service, int fd, uint32_t events,
                       rondo_ready_function ready, void *user)
{
    return rondo_service_poll_until(service, fd, events, ready, user, RONDO_NEVER);
}

rondo_status
rondo_service_poll_change(rondo_service *service, int fd, uint32_t events)
{
    int failed = ENOENT;

    (void)pthread_mutex_lock(&service->lock);
    const poller *const changed = find(service, fd);
    if (changed != NULL) {
        struct epoll_event event = event_of(changed, events);
        failed = epoll_ctl(service->epoll, EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : errno;
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (failed != 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, failed,
                                 "a descriptor could not be polled otherwise");
    }
    return RONDO_OK;
}

void
rondo_service_poll_remove(rondo_service *service, int fd)
{
    (void)pthread_mutex_lock(&service->lock);
    rondo_service_poll_remove_locked(service, fd);
    (void)pthread_mutex_unlock(&service->lock);
}

void
rondo_service_alarm(rondo_service *service, int fd, uint64_t moment_ns)
{
    (void)pthread_mutex_lock(&service->lock);
    const bool wake = set_alarm(service, fd, moment_ns);
    (void)pthread_mutex_unlock(&service->lock);
    if (wake) {
        rondo_service_wake(service);
    }
}
