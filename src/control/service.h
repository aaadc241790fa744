/*
 * service.h - the one service thread of a process: asleep in epoll, no data touched.
 *
 * It watches the processes of peers (pidfds), answers "are you there?", receives the
 * descriptors of shared memory that peers publish, and serves the rendezvous. It talks
 * over one abstract Unix datagram socket per process; every datagram is checked: the
 * sender's user id, its length, and a keyed hash with the key of the communicator.
 */
#ifndef CONTROL_SERVICE_H
#define CONTROL_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

#define RONDO_KEY_BYTES  32
#define RONDO_NAME_BYTES 16

typedef struct rondo_service rondo_service;

/* A key only the ranks of one communicator know. */
typedef struct rondo_key {
    unsigned char bytes[RONDO_KEY_BYTES];
} rondo_key;

/* A random name: of a communicator, of a block of memory. */
typedef struct rondo_name {
    unsigned char bytes[RONDO_NAME_BYTES];
} rondo_name;

/* How to reach the service of a process of this machine. Plain bytes, sent around. */
typedef struct rondo_address {
    rondo_name socket; /* its abstract name, in hexadecimal behind "rondo-" */
    uint32_t pid;
    uint32_t reserved; /* 0 */
    uint64_t started;  /* start time of the process, so that a reused pid is noticed */
} rondo_address;

/* rondo_service_acquire - the service of this process, started when there is none.
 * Counted; the last release ends thread and socket. */
RONDO_MUST_USE rondo_status
rondo_service_acquire(rondo_service **service);
void
rondo_service_release(rondo_service *service);

/* rondo_service_address - our own. */
void
rondo_service_address(const rondo_service *service, rondo_address *address);

/* rondo_service_forked - true in a child of the process that made it. */
bool
rondo_service_forked(const rondo_service *service);

/* rondo_random - `bytes` unpredictable bytes. */
void
rondo_random(void *memory, size_t bytes);

/* rondo_name_derive - a name that all who know `key` derive alike from a label. */
rondo_name
rondo_name_derive(const rondo_key *key, const char *label, uint64_t number);

/* rondo_key_derive - a key for a part of the group `key` belongs to. */
rondo_key
rondo_key_derive(const rondo_key *key, const char *label, uint64_t number);

/*
 * Segments: shared memory by name. Within a process every rank that takes a name gets
 * the same mapping, counted.
 */

/* How a segment is made. */
typedef struct rondo_segment_spec {
    rondo_name name;
    rondo_key key;
    size_t bytes; /* at least; sparse memory, zeroed */
} rondo_segment_spec;

/* rondo_segment_publish - make it, map it, and send it to the processes at
 * `addresses` (our own and repeated ones are left out). `memory` is counted for us.
 * RONDO_ERR_PEER: a process cannot be reached; RONDO_ERR_MEMORY, RONDO_ERR_SYSTEM. */
RONDO_MUST_USE rondo_status
rondo_segment_publish(rondo_service *service, const rondo_segment_spec *spec,
                      const rondo_address *addresses, uint32_t naddresses,
                      void **memory);

/* rondo_segment_share - send a memfd that exists already (a registered block) under a
 * name; `memory` is where this process has it mapped, and stays the caller's. */
RONDO_MUST_USE rondo_status
rondo_segment_share(rondo_service *service, const rondo_segment_spec *spec, int fd,
                    void *memory, const rondo_address *addresses, uint32_t naddresses);

/* rondo_segment_take - map what was published under the name. RONDO_BUSY: not there
 * yet; RONDO_ERR_WIRE: not sealed, too small, or not signed with the key. */
RONDO_MUST_USE rondo_status
rondo_segment_take(rondo_service *service, const rondo_segment_spec *spec,
                   void **memory);

/* rondo_segment_release - one publish, share or take less; unmapped with the last. */
void
rondo_segment_release(rondo_service *service, const rondo_name *name);

/* rondo_segment_wait - sleep until something may have arrived, at most `wait_ns`. */
void
rondo_segment_wait(rondo_service *service, uint64_t wait_ns);

/*
 * Watching. `died` is called once, on the service thread, when the process has ended,
 * also when it had ended before. It must be short and must not call the service.
 */
typedef void (*rondo_died_function)(const rondo_address *address, void *user);
typedef struct rondo_watch rondo_watch;

RONDO_MUST_USE rondo_status
rondo_service_watch(rondo_service *service, const rondo_address *address,
                    rondo_died_function died, void *user, rondo_watch **watch);
/* rondo_service_unwatch - when it returns `died` is not running and will not be called.
 * Null is allowed. */
void
rondo_service_unwatch(rondo_service *service, rondo_watch *watch);

/* rondo_service_ask - ask each process whether its service thread answers; waits at
 * most `wait_ns`. answered[i] is set for each. Our own process answers. */
void
rondo_service_ask(rondo_service *service, const rondo_address *addresses,
                  uint32_t naddresses, uint64_t wait_ns, bool *answered);

/*
 * Descriptors the service thread polls for somebody else (the rendezvous server).
 * `ready` is called on the service thread with the epoll events, and with events 0 at
 * the moment asked for by rondo_service_alarm.
 */
typedef void (*rondo_ready_function)(int fd, uint32_t events, void *user);

RONDO_MUST_USE rondo_status
rondo_service_poll_add(rondo_service *service, int fd, uint32_t events,
                       rondo_ready_function ready, void *user);
/* rondo_service_poll_until - the same, with an alarm from the first moment on. */
RONDO_MUST_USE rondo_status
rondo_service_poll_until(rondo_service *service, int fd, uint32_t events,
                         rondo_ready_function ready, void *user, uint64_t moment_ns);
/* rondo_service_poll_change - wait for other events; the alarm stays. */
RONDO_MUST_USE rondo_status
rondo_service_poll_change(rondo_service *service, int fd, uint32_t events);
/* rondo_service_poll_remove - after it returns `ready` is not running for `fd` (may be
 * called from inside `ready`). The descriptor stays open. */
void
rondo_service_poll_remove(rondo_service *service, int fd);
/* rondo_service_alarm - call `ready` of `fd` with events 0 at `moment_ns`. */
void
rondo_service_alarm(rondo_service *service, int fd, uint64_t moment_ns);

#endif /* CONTROL_SERVICE_H */
