/* watch.c - processes of peers: one pidfd each, and whom to tell when one has ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "control/service_parts.h"

/* How often a process is looked at where the kernel has no pidfds for us. */
#define LOOK_NS 200000000

/* Field of /proc/PID/stat that holds the start time, counted behind the name. */
#define FIELDS_TO_START 20

/* The name is in brackets and may hold blanks and brackets: the last one ends it. 0: it
 * has ended and only its parent has not noticed. */
static uint64_t
parse_started(const char *line)
{
    const char *at = strrchr(line, ')');

    if (at != NULL && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X')) {
        return 0;
    }

    for (uint32_t field = 0; at != NULL && field < FIELDS_TO_START; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

rondo_status
rondo_watch_started(uint32_t pid, uint64_t *started)
{
    char line[1024] = {0};
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT || errno == ESRCH) {
            return RONDO_ERR_PEER;
        }
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno, "%s could not be read", path);
    }
    const ssize_t bytes = read(fd, line, sizeof line - 1);
    (void)close(fd);
    if (bytes <= 0) {
        return RONDO_ERR_PEER;
    }
    const uint64_t found = parse_started(line);
    if (found == 0) {
        return RONDO_ERR_PEER;
    }
    *started = found;
    return RONDO_OK;
}

static bool
same_process(const rondo_address *one, const rondo_address *other)
{
    return one->pid == other->pid && one->started == other->started;
}

static rondo_status
open_failed(int number, const rondo_address *address)
{
    struct rlimit limit = {0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return rondo_error_errno(RONDO_ERR_SYSTEM, number,
                             "process %u cannot be watched (the limit of open files "
                             "is %llu)",
                             address->pid, (unsigned long long)limit.rlim_cur);
}

/* Kernels before 5.3, some sandboxes and valgrind have no pidfds: a timer takes the
 * place of one, and each time it strikes the process is looked for. */
static int
open_timer(void)
{
    const struct itimerspec times = {{0, LOOK_NS}, {0, LOOK_NS}};
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

    if (fd >= 0) {
        (void)timerfd_settime(fd, 0, &times, NULL);
    }
    return fd;
}

static int
open_pidfd(process *opened)
{
    const int fd = pidfd_open((pid_t)opened->address.pid, 0);

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {
        return fd;
    }
    opened->by_time = true;
    return open_timer();
}

/* Whether the timer of a process struck for nothing: the process still runs. */
static bool
still_runs(const process *looked)
{
    uint64_t strikes = 0;
    uint64_t started = 0;

    if (!looked->by_time) {
        return false;
    }
    /* Only to silence the timer; how often it struck does not matter. */
    if (read(looked->pidfd, &strikes, sizeof strikes) < 0) {
        return true;
    }
    const rondo_status status = rondo_watch_started(looked->address.pid, &started);
    if (status != RONDO_OK) {
        /* That it cannot be looked for now (no descriptor left) does not end it. */
        return status != RONDO_ERR_PEER;
    }
    return looked->address.started == 0 || started == looked->address.started;
}

/* Opens the pidfd first and looks at the start time after that: in this order a process
 * that took over the number in between is told apart. */
static rondo_status
open_process(process *opened)
{
    const rondo_address *const address = &opened->address;
    uint64_t started = 0;

    opened->pidfd = open_pidfd(opened);
    if (opened->pidfd < 0) {
        opened->ended = errno == ESRCH;
        return opened->ended ? RONDO_OK : open_failed(errno, address);
    }
    if (address->started == 0) {
        return RONDO_OK;
    }
    const rondo_status status = rondo_watch_started(address->pid, &started);
    const bool other = status == RONDO_OK && started != address->started;
    opened->ended = other || status == RONDO_ERR_PEER;
    if (opened->ended || status != RONDO_OK) {
        (void)close(opened->pidfd);
        opened->pidfd = -1;
    }
    return opened->ended ? RONDO_OK : status;
}

/* The lock is held. */
static void
close_process(rondo_service *service, process *closed)
{
    const int fd = closed->pidfd;

    if (fd >= 0) {
        rondo_service_poll_remove_locked(service, fd);
        (void)close(fd);
        closed->pidfd = -1;
    }
}

static void
process_ended(int fd, uint32_t events, void *user)
{
    process *const gone = user;
    rondo_service *const service = gone->service;

    (void)fd;
    (void)events;
    (void)pthread_mutex_lock(&service->lock);
    if (!gone->orphan && !still_runs(gone)) {
        close_process(service, gone);
        gone->ended = true;
        service->deaths = true;
    }
    (void)pthread_mutex_unlock(&service->lock);
}

/* The lock is held. */
static rondo_status
add_process(rondo_service *service, const rondo_address *address, process **added)
{
    void *memory = NULL;
    rondo_status status = rondo_alloc_zero(sizeof(process), &memory);

    if (status != RONDO_OK) {
        return status;
    }
    process *const made = memory;
    made->service = service;
    made->address = *address;
    status = open_process(made);
    if (status == RONDO_OK && !made->ended) {
        status = rondo_service_poll_add_locked(service, made->pidfd, EPOLLIN,
                                               process_ended, made);
    }
    if (status != RONDO_OK) {
        if (made->pidfd >= 0) {
            (void)close(made->pidfd);
        }
        rondo_free(made);
        return status;
    }
    made->next = service->processes;
    service->processes = made;
    *added = made;
    return RONDO_OK;
}

/* The lock is held. */
static rondo_status
find_process(rondo_service *service, const rondo_address *address, process **found)
{
    for (process *at = service->processes; at != NULL; at = at->next) {
        if (same_process(&at->address, address)) {
            *found = at;
            return RONDO_OK;
        }
    }
    return add_process(service, address, found);
}

rondo_status
rondo_service_watch(rondo_service *service, const rondo_address *address,
                    rondo_died_function died, void *user, rondo_watch **watch)
{
    void *memory = NULL;
    process *watched = NULL;
    rondo_status status = rondo_alloc_zero(sizeof **watch, &memory);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_watch *const added = memory;
    const bool own = same_process(address, &service->address);
    (void)pthread_mutex_lock(&service->lock);
    status = own ? RONDO_OK : find_process(service, address, &watched);
    if (status == RONDO_OK) {
        *added = (rondo_watch){.next = service->watches,
                               .address = *address,
                               .process = watched,
                               .died = died,
                               .user = user};
        service->watches = added;
        if (watched != NULL) {
            watched->watches++;
            service->deaths = service->deaths || watched->ended;
        }
    }
    const bool wake = service->deaths;
    (void)pthread_mutex_unlock(&service->lock);
    if (status != RONDO_OK) {
        rondo_free(added);
        return status;
    }
    if (wake) {
        rondo_service_wake(service);
    }
    *watch = added;
    return RONDO_OK;
}

/* The lock is held. */
static void
unlink_process(rondo_service *service, process *gone)
{
    process **place = &service->processes;

    while (*place != gone) {
        place = &(*place)->next;
    }
    *place = gone->next;
    gone->orphan = true;
}

/* The lock is held. */
static void
unlink_watch(rondo_service *service, rondo_watch *watch)
{
    rondo_watch **place = &service->watches;

    while (*place != watch) {
        place = &(*place)->next;
    }
    *place = watch->next;
}

void
rondo_service_unwatch(rondo_service *service, rondo_watch *watch)
{
    process *gone = NULL;

    if (watch == NULL || rondo_service_forked(service)) {
        return;
    }
    (void)pthread_mutex_lock(&service->lock);
    unlink_watch(service, watch);
    while (service->running_watch == watch && !rondo_service_is_thread(service)) {
        (void)pthread_cond_wait(&service->changed, &service->lock);
    }
    if (watch->process != NULL && --watch->process->watches == 0) {
        gone = watch->process;
        unlink_process(service, gone);
        close_process(service, gone);
    }
    (void)pthread_mutex_unlock(&service->lock);
    rondo_free(gone);
    rondo_free(watch);
}

/* The lock is held. */
static rondo_watch *
next_death(const rondo_service *service)
{
    for (rondo_watch *at = service->watches; at != NULL; at = at->next) {
        if (!at->called && at->process != NULL && at->process->ended) {
            return at;
        }
    }
    return NULL;
}

void
rondo_watch_call_deaths(rondo_service *service)
{
    (void)pthread_mutex_lock(&service->lock);
    while (service->deaths) {
        rondo_watch *const watch = next_death(service);
        if (watch == NULL) {
            service->deaths = false;
            break;
        }
        const rondo_address address = watch->address;
        watch->called = true;
        service->running_watch = watch;
        (void)pthread_mutex_unlock(&service->lock);
        watch->died(&address, watch->user);
        (void)pthread_mutex_lock(&service->lock);
        service->running_watch = NULL;
        rondo_service_event(service);
    }
    (void)pthread_mutex_unlock(&service->lock);
}

void
rondo_watch_free_all(rondo_service *service)
{
    while (service->watches != NULL) {
        rondo_watch *const gone = service->watches;
        service->watches = gone->next;
        rondo_free(gone);
    }
    while (service->processes != NULL) {
        process *const gone = service->processes;
        service->processes = gone->next;
        if (gone->pidfd >= 0) {
            (void)close(gone->pidfd);
        }
        rondo_free(gone);
    }
}
