/* loop.c - the service thread: asleep in epoll, then one callback after the other. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "control/service_parts.h"

#define EVENTS_AT_ONCE 32

static _Thread_local const rondo_service *serving;

bool
rondo_service_is_thread(const rondo_service *service)
{
    return serving == service;
}

void
rondo_service_wake(rondo_service *service)
{
    const uint64_t one = 1;
    ssize_t wrote = 0;

    /* A full counter means that the thread is about to wake anyway. */
    do {
        wrote = write(service->wake, &one, sizeof one);
    } while (wrote < 0 && errno == EINTR);
}

static bool
is_stopping(rondo_service *service, bool *frees_itself)
{
    (void)pthread_mutex_lock(&service->lock);
    const bool stopping = service->stopping;
    *frees_itself = service->frees_itself;
    (void)pthread_mutex_unlock(&service->lock);
    return stopping;
}

static void
turn(rondo_service *service)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    const int count = epoll_wait(service->epoll, events, EVENTS_AT_ONCE,
                                 rondo_service_poll_wait_ms(service));

    for (int i = 0; i < count; i++) {
        rondo_service_poll_dispatch(service, events[i].data.u64, events[i].events);
    }
    rondo_service_poll_alarms(service);
    rondo_watch_call_deaths(service);
}

void *
rondo_service_loop(void *service)
{
    rondo_service *const self = service;
    bool frees_itself = false;

    serving = self;
    (void)pthread_setname_np(pthread_self(), "rondo-service");
    while (!is_stopping(self, &frees_itself)) {
        turn(self);
    }
    serving = NULL;
    if (frees_itself) {
        rondo_service_ended(self);
    }
    return NULL;
}
