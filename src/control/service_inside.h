/*
 * service_inside.h - the state of the service; for its own files only.
 *
 * One lock guards everything but `users`. Callbacks run without it, one at a time, on
 * the service thread; `running_fd` and `running_watch` say which, so that a thread that
 * takes one away can wait for its end.
 */
#ifndef CONTROL_SERVICE_INSIDE_H
#define CONTROL_SERVICE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/shared.h"
#include "control/service.h"

#define RONDO_MAC_BYTES 32
#define SEGMENT_BUCKETS 256
#define ARRIVALS_MAX    4096
#define REPLIES_MAX     64

/* What a datagram is about. */
typedef enum message_kind {
    MESSAGE_PING = 1,      /* are you there? */
    MESSAGE_PONG = 2,      /* yes; nonce and index come back */
    MESSAGE_SEGMENT = 3,   /* carries one descriptor */
    MESSAGE_LINK_NEWS = 4, /* to the leader of a host: look at the board */
    MESSAGE_LINK_ASK = 5,  /* to the leader: ask the other hosts */
    MESSAGE_LINK_PULSE = 6 /* from the leader: show that you are there */
} message_kind;

/* A datagram. No padding: all of it is sent. */
typedef struct letter {
    uint32_t magic;
    uint32_t kind;
    uint64_t nonce;  /* of an ask */
    uint64_t index;  /* which address of the ask; which rank of the links */
    uint64_t bytes;  /* of a segment */
    rondo_name name; /* of a segment, of the communicator of links */
    unsigned char mac[RONDO_MAC_BYTES]; /* over all before it; zero without a key */
} letter;

/* A descriptor in the epoll set. */
typedef struct poller {
    int fd;
    uint32_t generation;     /* an event of an earlier poller of this number is stale */
    bool private_to_process; /* a forked child closes it at once */
    bool dropped;            /* to be freed when its call returns */
    rondo_ready_function ready;
    void *user;
    uint64_t alarm_ns;
} poller;

/* Memory this process has under a name. */
typedef struct segment {
    struct segment *next;
    rondo_name name;
    rondo_key key;
    rondo_shared shared; /* fd -1 */
    bool borrowed;       /* mapped by a caller: not ours to unmap */
    uint64_t users;
} segment;

/* A segment message nobody has asked for yet: mapped, but not verified. */
typedef struct arrival {
    struct arrival *next;
    letter message;
    rondo_status status; /* RONDO_OK, or why there is no memory */
    rondo_shared shared;
} arrival;

/* A peer process, however many watch it. */
typedef struct process {
    struct process *next;
    rondo_service *service;
    rondo_address address;
    int pidfd;    /* -1: ended */
    bool by_time; /* pidfd is a timer instead: see watch.c */
    bool ended;
    bool orphan; /* no watch is left; about to be freed */
    uint32_t watches;
} process;

struct rondo_watch {
    struct rondo_watch *next;
    rondo_address address;
    process *process; /* null: our own process */
    bool called;
    rondo_died_function died;
    void *user;
};

/* A question under way; lives on the stack of the thread that asks. */
typedef struct ask {
    struct ask *next;
    uint64_t nonce;
    const rondo_address *addresses;
    uint32_t naddresses;
    uint32_t left;
    bool *answered;
} ask;

/* An answer the asker had no room for yet. */
typedef struct reply {
    struct sockaddr_un to;
    socklen_t to_bytes;
    letter message;
    uint64_t expires_ns;
} reply;

struct rondo_service {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a callback ended, something arrived, was answered */
    uint64_t users;         /* guarded by the guard of service.c */
    _Atomic bool forked;
    bool stopping;
    bool frees_itself; /* the last release came from the service thread */

    int epoll;
    int wake;
    int socket;
    rondo_address address;

    poller **pollers; /* by descriptor */
    uint64_t pollers_room;
    uint32_t generation;
    uint64_t next_alarm_ns; /* no alarm is earlier */
    int running_fd;
    poller *running;
    uint64_t runs;

    segment *segments[SEGMENT_BUCKETS];
    arrival *arrivals; /* oldest first */
    uint32_t narrivals;
    uint64_t given_up; /* arrivals */

    process *processes;
    rondo_watch *watches;
    rondo_watch *running_watch;
    bool deaths; /* some watch may have to be called */

    struct links_home *links; /* between hosts; null: none yet */

    ask *asks;
    reply replies[REPLIES_MAX];
    uint32_t nreplies;
};

#endif /* CONTROL_SERVICE_INSIDE_H */
