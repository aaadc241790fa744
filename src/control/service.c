/* service.c - the life of the service: first acquire to last release, and fork. */
#include "control/service.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "control/links_parts.h"
#include "control/service_parts.h"

#define STACK_BYTES ((size_t)256 << 10)

/* Guards `current` and the user counts of all services. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static rondo_service *current;
static bool fork_known;

static _Atomic uint64_t events;

static void
before_fork(void)
{
    (void)pthread_mutex_lock(&guard);
    if (current != NULL) {
        (void)pthread_mutex_lock(&current->lock);
    }
}

static void
after_fork_parent(void)
{
    if (current != NULL) {
        (void)pthread_mutex_unlock(&current->lock);
    }
    (void)pthread_mutex_unlock(&guard);
}

/* The child has no service thread. Its copies of the descriptors would keep the name
 * of the socket alive beyond the parent's death, so they go at once. */
static void
after_fork_child(void)
{
    rondo_service *const service = current;

    if (service != NULL) {
        atomic_store_explicit(&service->forked, true, memory_order_relaxed);
        (void)close(service->socket);
        (void)close(service->epoll);
        (void)close(service->wake);
        rondo_service_poll_forked(service);
        current = NULL;
        (void)pthread_mutex_unlock(&service->lock);
    }
    (void)pthread_mutex_unlock(&guard);
}

uint64_t
rondo_service_events(void)
{
    return atomic_load_explicit(&events, memory_order_acquire);
}

void
rondo_service_event(rondo_service *service)
{
    atomic_fetch_add_explicit(&events, 1, memory_order_release);
    (void)pthread_cond_broadcast(&service->changed);
}

bool
rondo_service_sleep(rondo_service *service, uint64_t deadline_ns)
{
    const uint64_t far = rondo_deadline_ns(3600 * 1000);
    const uint64_t until = deadline_ns < far ? deadline_ns : far;
    const struct timespec moment = {.tv_sec = (time_t)(until / RONDO_NS_PER_S),
                                    .tv_nsec = (long)(until % RONDO_NS_PER_S)};

    return pthread_cond_timedwait(&service->changed, &service->lock, &moment) !=
           ETIMEDOUT;
}

static rondo_status
open_lock(rondo_service *service)
{
    pthread_condattr_t monotonic;

    if (pthread_condattr_init(&monotonic) != 0) {
        return rondo_error(RONDO_ERR_MEMORY, "a condition variable could not be had");
    }
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    const int failed = pthread_cond_init(&service->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (failed != 0 || pthread_mutex_init(&service->lock, NULL) != 0) {
        return rondo_error(RONDO_ERR_MEMORY, "a lock could not be had");
    }
    return RONDO_OK;
}

/* The stack is small, but thread-local storage of big programs lies on it as well: more
 * is asked for where that is refused. */
static int
create_thread(rondo_service *service)
{
    pthread_attr_t shape;
    int failed = pthread_attr_init(&shape);

    if (failed != 0) {
        return failed;
    }
    for (size_t bytes = STACK_BYTES; bytes <= STACK_BYTES * 64; bytes *= 4) {
        failed = pthread_attr_setstacksize(&shape, bytes);
        if (failed == 0) {
            failed =
                pthread_create(&service->thread, &shape, rondo_service_loop, service);
        }
        if (failed != EINVAL) {
            break;
        }
    }
    (void)pthread_attr_destroy(&shape);
    return failed;
}

/* The host application's signals are none of this thread's business. */
static rondo_status
start_thread(rondo_service *service)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = create_thread(service);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, failed,
                                 "the service thread could not be started");
    }
    return RONDO_OK;
}

static void
free_service(rondo_service *service)
{
    rondo_links_home_close(service);
    rondo_watch_free_all(service);
    rondo_segment_free_all(service);
    rondo_service_poll_close(service);
    if (!rondo_service_forked(service)) {
        (void)close(service->socket);
        (void)close(service->epoll);
        (void)close(service->wake);
        (void)pthread_cond_destroy(&service->changed);
        (void)pthread_mutex_destroy(&service->lock);
    }
    rondo_free(service);
}

static rondo_status
open_service(rondo_service *service)
{
    service->socket = -1;
    service->running_fd = -1;
    service->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    service->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (service->wake < 0 || service->epoll < 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "descriptors of the service could not be opened");
    }
    rondo_status status = rondo_datagram_open(service);
    if (status == RONDO_OK) {
        status = rondo_service_poll_open(service);
    }
    if (status == RONDO_OK) {
        status = start_thread(service);
    }
    return status;
}

static rondo_status
create_service(rondo_service **service)
{
    void *memory = NULL;
    rondo_status status = rondo_alloc_zero(sizeof **service, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_service *const made = memory;
    status = open_lock(made);
    if (status != RONDO_OK) {
        rondo_free(made);
        return status;
    }
    status = open_service(made);
    if (status != RONDO_OK) {
        free_service(made);
        return status;
    }
    *service = made;
    return RONDO_OK;
}

/* Handlers cannot be taken back, so they are set once. */
static rondo_status
know_forks(void)
{
    if (fork_known) {
        return RONDO_OK;
    }
    const int failed = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    if (failed != 0) {
        return rondo_error_errno(RONDO_ERR_MEMORY, failed,
                                 "fork handlers could not be set");
    }
    fork_known = true;
    return RONDO_OK;
}

rondo_status
rondo_service_acquire(rondo_service **service)
{
    rondo_status status = RONDO_OK;

    (void)pthread_mutex_lock(&guard);
    if (current == NULL) {
        status = know_forks();
        if (status == RONDO_OK) {
            status = create_service(&current);
        }
    }
    if (status == RONDO_OK) {
        current->users++;
        *service = current;
    }
    (void)pthread_mutex_unlock(&guard);
    return status;
}

static void
stop_service(rondo_service *service)
{
    (void)pthread_mutex_lock(&service->lock);
    service->stopping = true;
    service->frees_itself = rondo_service_is_thread(service);
    const bool frees_itself = service->frees_itself;
    const pthread_t thread = service->thread;
    (void)pthread_mutex_unlock(&service->lock);
    if (frees_itself) {
        (void)pthread_detach(thread);
        return;
    }
    rondo_service_wake(service);
    (void)pthread_join(thread, NULL);
    free_service(service);
}

void
rondo_service_release(rondo_service *service)
{
    if (service == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&guard);
    const bool last = --service->users == 0;
    if (last && current == service) {
        current = NULL;
    }
    (void)pthread_mutex_unlock(&guard);
    if (!last) {
        return;
    }
    if (rondo_service_forked(service)) {
        free_service(service);
    } else {
        stop_service(service);
    }
}

void
rondo_service_ended(rondo_service *service)
{
    free_service(service);
}

void
rondo_service_address(const rondo_service *service, rondo_address *address)
{
    *address = service->address;
}

bool
rondo_service_forked(const rondo_service *service)
{
    return atomic_load_explicit(&service->forked, memory_order_relaxed);
}
