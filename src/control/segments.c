/* segments.c - shared memory by name: made, sent, taken, counted. */
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "control/memory.h"
#include "control/service_parts.h"

/* How long a publisher puts up with peers whose queues are full, all together. */
#define SEND_WAIT_MS 5000

static _Thread_local uint64_t events_seen;

static bool
same_name(const rondo_name *one, const rondo_name *other)
{
    return memcmp(one->bytes, other->bytes, sizeof one->bytes) == 0;
}

segment **
rondo_segment_place(rondo_service *service, const rondo_name *name)
{
    segment **place = &service->segments[name->bytes[0] % SEGMENT_BUCKETS];

    while (*place != NULL && !same_name(&(*place)->name, name)) {
        place = &(*place)->next;
    }
    return place;
}

static rondo_status
insert(rondo_service *service, const rondo_segment_spec *spec,
       const rondo_shared *shared, bool borrowed)
{
    void *memory = NULL;
    const rondo_status status = rondo_alloc_zero(sizeof(segment), &memory);

    if (status != RONDO_OK) {
        return status;
    }
    segment *const added = memory;
    *added = (segment){.name = spec->name,
                       .key = spec->key,
                       .shared = *shared,
                       .borrowed = borrowed,
                       .users = 1};
    added->shared.fd = -1;
    (void)pthread_mutex_lock(&service->lock);
    segment **const place = rondo_segment_place(service, &spec->name);
    const bool there = *place != NULL;
    if (!there) {
        *place = added;
        rondo_service_event(service);
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (there) {
        rondo_free(added);
        return rondo_error(RONDO_ERR_STATE,
                           "shared memory of this name exists already");
    }
    return RONDO_OK;
}

static void
pause_until(uint64_t deadline_ns, uint64_t *pause_ns)
{
    const uint64_t now = rondo_now_ns();
    const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    const uint64_t span = *pause_ns < left ? *pause_ns : left;
    const struct timespec time = {.tv_nsec = (long)span};

    (void)nanosleep(&time, NULL);
    *pause_ns = *pause_ns < 4 * RONDO_NS_PER_MS ? *pause_ns * 2 : *pause_ns;
}

/* A datagram socket cannot be polled for room at the other end, so we come again. */
static rondo_status
send_one(const rondo_service *service, const rondo_address *to, const letter *message,
         int fd, uint64_t deadline_ns)
{
    uint64_t pause_ns = 50000;
    int failed = rondo_datagram_send(service, to, message, fd);

    while ((failed == EAGAIN || failed == ENOBUFS || failed == ETOOMANYREFS) &&
           rondo_now_ns() < deadline_ns) {
        pause_until(deadline_ns, &pause_ns);
        failed = rondo_datagram_send(service, to, message, fd);
    }
    if (failed == 0) {
        return RONDO_OK;
    }
    if (failed == EAGAIN) {
        return rondo_error(RONDO_ERR_PEER,
                           "process %u takes no messages: it is stopped, or starved",
                           to->pid);
    }
    return rondo_error_errno(RONDO_ERR_PEER, failed, "process %u cannot be reached",
                             to->pid);
}

static bool
is_repeated(const rondo_service *service, const rondo_address *addresses, uint32_t at)
{
    if (same_name(&addresses[at].socket, &service->address.socket)) {
        return true;
    }
    for (uint32_t i = 0; i < at; i++) {
        if (same_name(&addresses[i].socket, &addresses[at].socket)) {
            return true;
        }
    }
    return false;
}

static rondo_status
send_all(const rondo_service *service, const rondo_segment_spec *spec, int fd,
         const rondo_address *addresses, uint32_t naddresses)
{
    const uint64_t deadline_ns = rondo_deadline_ns(SEND_WAIT_MS);
    letter message;

    rondo_datagram_init(MESSAGE_SEGMENT, &message);
    message.name = spec->name;
    message.bytes = spec->bytes;
    rondo_datagram_sign(&spec->key, &message);
    for (uint32_t i = 0; i < naddresses; i++) {
        if (is_repeated(service, addresses, i)) {
            continue;
        }
        const rondo_status status =
            send_one(service, &addresses[i], &message, fd, deadline_ns);
        if (status != RONDO_OK) {
            return status;
        }
    }
    return RONDO_OK;
}

rondo_status
rondo_segment_publish(rondo_service *service, const rondo_segment_spec *spec,
                      const rondo_address *addresses, uint32_t naddresses,
                      void **memory)
{
    rondo_shared shared;
    rondo_status status =
        rondo_shared_create(spec->bytes, RONDO_SHARED_SPARSE, &shared);

    if (status != RONDO_OK) {
        return status;
    }
    /* A forked child must not keep the memory alive, let alone write to it. */
    (void)madvise(shared.memory, shared.bytes, MADV_DONTFORK);
    status = insert(service, spec, &shared, false);
    if (status != RONDO_OK) {
        rondo_shared_unmap(&shared);
        return status;
    }
    status = send_all(service, spec, shared.fd, addresses, naddresses);
    rondo_shared_close(&shared);
    if (status != RONDO_OK) {
        rondo_segment_release(service, &spec->name);
        return status;
    }
    *memory = shared.memory;
    return RONDO_OK;
}

rondo_status
rondo_segment_share(rondo_service *service, const rondo_segment_spec *spec, int fd,
                    void *memory, const rondo_address *addresses, uint32_t naddresses)
{
    const rondo_shared shared = {.memory = memory, .bytes = spec->bytes, .fd = -1};

    rondo_memory_hold(memory);
    rondo_status status = insert(service, spec, &shared, true);
    if (status != RONDO_OK) {
        rondo_memory_release(memory);
        return status;
    }
    status = send_all(service, spec, fd, addresses, naddresses);
    if (status != RONDO_OK) {
        rondo_segment_release(service, &spec->name);
    }
    return status;
}

/* A forked child never inherited the memory: its place may be somebody else's now. */
static void
free_segment(const rondo_service *service, segment *gone)
{
    if (gone->borrowed) {
        rondo_memory_release(gone->shared.memory);
    } else if (!rondo_service_forked(service)) {
        rondo_shared_unmap(&gone->shared);
    }
    sodium_memzero(&gone->key, sizeof gone->key);
    rondo_free(gone);
}

void
rondo_segment_release(rondo_service *service, const rondo_name *name)
{
    segment *gone = NULL;

    if (rondo_service_forked(service)) {
        return;
    }
    (void)pthread_mutex_lock(&service->lock);
    segment **const place = rondo_segment_place(service, name);
    if (*place != NULL && --(*place)->users == 0) {
        gone = *place;
        *place = gone->next;
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (gone != NULL) {
        free_segment(service, gone);
    }
}

void
rondo_segment_wait(rondo_service *service, uint64_t wait_ns)
{
    const uint64_t now = rondo_now_ns();
    const uint64_t deadline_ns =
        wait_ns < RONDO_NEVER - now ? now + wait_ns : RONDO_NEVER;

    (void)pthread_mutex_lock(&service->lock);
    /* Whatever came since this thread last slept may be what it waits for. */
    while (events_seen == rondo_service_events() &&
           rondo_service_sleep(service, deadline_ns)) {
        continue;
    }
    events_seen = rondo_service_events();
    (void)pthread_mutex_unlock(&service->lock);
}

void
rondo_segment_free_all(rondo_service *service)
{
    for (uint32_t i = 0; i < SEGMENT_BUCKETS; i++) {
        while (service->segments[i] != NULL) {
            segment *const gone = service->segments[i];
            service->segments[i] = gone->next;
            free_segment(service, gone);
        }
    }
    rondo_segment_free_arrivals(service);
}
