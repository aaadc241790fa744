/* arrivals.c - segments that peers have sent, until a rank takes them. */
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "control/service_parts.h"

static void
free_arrival(arrival *gone)
{
    if (gone->status == RONDO_OK) {
        rondo_shared_unmap(&gone->shared);
    }
    rondo_free(gone);
}

/* Takes all arrivals of the name out of the list; the lock is held. The first that is
 * signed is returned, the others are chained behind `rest`. */
static arrival *
collect(rondo_service *service, const rondo_segment_spec *spec, arrival **rest)
{
    arrival *found = NULL;

    for (arrival **place = &service->arrivals; *place != NULL;) {
        arrival *const at = *place;
        if (memcmp(&at->message.name, &spec->name, sizeof spec->name) != 0) {
            place = &at->next;
            continue;
        }
        *place = at->next;
        service->narrivals--;
        if (found == NULL && rondo_datagram_signed(&spec->key, &at->message)) {
            found = at;
            continue;
        }
        at->next = *rest;
        *rest = at;
    }
    return found;
}

static rondo_status
lost_descriptor(void)
{
    struct rlimit limit = {0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return rondo_error(RONDO_ERR_SYSTEM,
                       "shared memory could not be received: too many open files "
                       "(the limit is %llu)",
                       (unsigned long long)limit.rlim_cur);
}

static rondo_status
check_arrival(const arrival *found, const rondo_segment_spec *spec)
{
    if (found == NULL) {
        return rondo_error(RONDO_ERR_WIRE,
                           "shared memory was received that its sender did not sign");
    }
    if (found->status == RONDO_ERR_SYSTEM) {
        return lost_descriptor();
    }
    if (found->status == RONDO_ERR_MEMORY) {
        return rondo_error(RONDO_ERR_MEMORY,
                           "%zu bytes of shared memory could not be mapped",
                           spec->bytes);
    }
    if (found->status != RONDO_OK) {
        return rondo_error(RONDO_ERR_WIRE,
                           "a descriptor that is no sealed shared memory was received");
    }
    if (found->shared.bytes < spec->bytes) {
        return rondo_error(RONDO_ERR_WIRE,
                           "shared memory of %zu bytes was received where %zu were due",
                           found->shared.bytes, spec->bytes);
    }
    return RONDO_OK;
}

/* The segment is there already: made here, or taken by another rank of this process. */
static rondo_status
take_known(segment *known, const rondo_segment_spec *spec, void **memory)
{
    if (sodium_memcmp(known->key.bytes, spec->key.bytes, sizeof spec->key.bytes) != 0) {
        return check_arrival(NULL, spec);
    }
    if (known->shared.bytes < spec->bytes) {
        return rondo_error(RONDO_ERR_WIRE,
                           "shared memory is %zu bytes where %zu are due",
                           known->shared.bytes, spec->bytes);
    }
    known->users++;
    *memory = known->shared.memory;
    return RONDO_OK;
}

/* The lock is held. What is left over is chained behind `rest`. */
static rondo_status
take_arrived(rondo_service *service, const rondo_segment_spec *spec, arrival **rest,
             void **memory)
{
    arrival *const found = collect(service, spec, rest);
    void *room = NULL;

    if (found == NULL && *rest == NULL) {
        return RONDO_BUSY;
    }
    rondo_status status = check_arrival(found, spec);
    if (status == RONDO_OK) {
        status = rondo_alloc_zero(sizeof(segment), &room);
    }
    if (found != NULL) {
        found->next = *rest;
        *rest = found;
    }
    if (status != RONDO_OK) {
        return status;
    }
    segment *const added = room;
    *added = (segment){
        .name = spec->name, .key = spec->key, .shared = found->shared, .users = 1};
    *rondo_segment_place(service, &spec->name) = added;
    found->status = RONDO_BUSY; /* its mapping has moved on */
    *memory = added->shared.memory;
    return RONDO_OK;
}

rondo_status
rondo_segment_take(rondo_service *service, const rondo_segment_spec *spec,
                   void **memory)
{
    arrival *rest = NULL;

    (void)pthread_mutex_lock(&service->lock);
    segment *const known = *rondo_segment_place(service, &spec->name);
    const rondo_status status = known != NULL
                                    ? take_known(known, spec, memory)
                                    : take_arrived(service, spec, &rest, memory);
    (void)pthread_mutex_unlock(&service->lock);
    while (rest != NULL) {
        arrival *const gone = rest;
        rest = gone->next;
        free_arrival(gone);
    }
    return status;
}

/* Room for one more: the oldest is given up. The lock is held. */
static arrival *
evict(rondo_service *service)
{
    arrival *const oldest = service->arrivals;

    if (service->narrivals < ARRIVALS_MAX) {
        return NULL;
    }
    service->arrivals = oldest->next;
    service->narrivals--;
    return oldest;
}

/* The lock is held. */
static void
append(rondo_service *service, arrival *added)
{
    arrival **place = &service->arrivals;

    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = added;
    service->narrivals++;
    rondo_service_event(service);
}

void
rondo_segment_arrived(rondo_service *service, const letter *message, int fd)
{
    void *memory = NULL;

    if (rondo_alloc_zero(sizeof(arrival), &memory) != RONDO_OK) {
        rondo_log(RONDO_LOG_ERROR, "shared memory was received, but: %s",
                  rondo_error_text());
        if (fd >= 0) {
            (void)close(fd);
        }
        return;
    }
    arrival *const added = memory;
    added->message = *message;
    added->status = RONDO_ERR_SYSTEM;
    if (fd >= 0) {
        /* Mapped at once, so that no descriptor waits for somebody to ask. */
        added->status = rondo_shared_map(fd, 1, &added->shared);
        (void)close(fd);
        added->shared.fd = -1;
    }
    if (added->status == RONDO_OK) {
        (void)madvise(added->shared.memory, added->shared.bytes, MADV_DONTFORK);
    }
    (void)pthread_mutex_lock(&service->lock);
    arrival *const gone = evict(service);
    service->given_up += gone != NULL ? 1 : 0;
    const uint64_t given_up = service->given_up;
    append(service, added);
    (void)pthread_mutex_unlock(&service->lock);
    if (gone != NULL) {
        /* Said at powers of two: whoever sends so much sends more. */
        if (__builtin_popcountll(given_up) == 1) {
            rondo_log(RONDO_LOG_WARN,
                      "shared memory that no rank asked for was given up, %llu so far",
                      (unsigned long long)given_up);
        }
        free_arrival(gone);
    }
}

void
rondo_segment_free_arrivals(rondo_service *service)
{
    while (service->arrivals != NULL) {
        arrival *const gone = service->arrivals;
        service->arrivals = gone->next;
        if (rondo_service_forked(service)) {
            gone->status = RONDO_BUSY;
        }
        free_arrival(gone);
    }
}
