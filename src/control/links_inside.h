/*
 * links_inside.h - the state of the links between hosts; for their own files only.
 *
 * All of it belongs to the service thread, but for what is said to be guarded by the
 * service's lock or atomic. Other threads set a flag and wake the service thread.
 */
#ifndef CONTROL_LINKS_INSIDE_H
#define CONTROL_LINKS_INSIDE_H

#include <stdatomic.h>

#include "control/links.h"
#include "control/links_wire.h"
#include "control/service_parts.h"

#define PAIRS_MAX     (RONDO_ENDPOINTS_MAX * RONDO_ENDPOINTS_MAX)
#define LISTENERS_MAX 32
#define LINK_IN_BYTES ((size_t)8 << 10)

typedef enum link_state {
    LINK_HELLO,      /* accepted: its hello is awaited */
    LINK_UNCLAIMED,  /* its hello is here, its communicator not yet */
    LINK_PROOF,      /* answered: the proof is awaited */
    LINK_CONNECTING, /* ours, on the way */
    LINK_ANSWER,     /* hello said */
    LINK_WELCOME,    /* proof said */
    LINK_UP,
    LINK_LEAVING, /* BYE said: nothing is sent any more, what comes is thrown away */
    LINK_ENDED    /* about to be freed */
} link_state;

/* How a connection ended. */
typedef struct link_end {
    int number;         /* error number, or 0 */
    const char *phrase; /* instead of its text, or null */
    bool orderly;       /* after a BYE */
} link_end;

/* What the other side of a link knows. */
typedef struct link_told {
    uint8_t presence; /* by rank */
    uint64_t stage;   /* by rank */
    bool wire;        /* by rank */
    bool host;        /* by host */
} link_told;

typedef struct rondo_link {
    struct rondo_link *next;
    rondo_service *service;
    rondo_links *owner; /* null: a guest */
    int fd;
    bool blocked; /* polls for room */
    bool mute;    /* sending failed; what is to be read tells why */
    link_state state;
    link_end end;
    uint32_t pair; /* of an attempt */
    uint32_t host; /* at the other end */
    uint32_t rank;
    rondo_endpoint here;
    rondo_endpoint there;
    uint64_t since_ns; /* of the state, for guests and attempts */

    rondo_link_hello hello;
    rondo_link_answer answer;
    rondo_key in_key;
    rondo_key out_key;
    uint64_t in_count;
    uint64_t out_count;
    unsigned char in[LINK_IN_BYTES];
    size_t in_bytes;
    unsigned char *out;
    size_t out_at;
    size_t out_bytes;
    size_t out_room;

    link_told *told;      /* by rank */
    bool told_break;      /* by either side to the other */
    uint64_t told_word;   /* the decision it was last told */
    uint64_t quiet_bytes; /* sent since it was last heard */
    uint64_t asked_ns;    /* when it was last sent ASK */
    bool asks;            /* it has sent ASK */
} rondo_link;

/* A way from one of our addresses to one of the hub's, and what came of it. */
typedef struct link_pair {
    uint8_t mine; /* RONDO_ENDPOINTS_MAX: no address of ours in particular */
    uint8_t hub;
    bool tried;
    link_end end;
} link_pair;

struct rondo_links {
    struct rondo_links *next; /* guarded; removed by the service thread only */
    rondo_service *service;   /* held */
    rondo_name name;
    rondo_key key;
    rondo_board board;
    uint32_t rank;
    uint32_t nranks;
    uint32_t *host_of;
    rondo_address *addresses;
    char (*host_names)[64];
    rondo_endpoint hub[RONDO_ENDPOINTS_MAX];
    rondo_endpoint mine[RONDO_ENDPOINTS_MAX];
    uint64_t deadline_ns;
    uint64_t silence_ms;
    uint32_t host; /* mine */
    uint32_t nhosts;
    uint32_t *leaders; /* by host */
    int wake;

    _Atomic bool news;
    _Atomic bool asked;
    _Atomic uint64_t asked_ns; /* by this rank */
    _Atomic bool *died;        /* by rank of my host */
    rondo_watch **watches;     /* by rank */

    bool begun;
    bool failed;
    rondo_link *links;
    uint32_t nlinks;
    uint64_t look_ns; /* next look at the board */
    uint64_t retry_ns;

    rondo_link *attempts;
    link_pair pairs[PAIRS_MAX];
    uint32_t npairs;
    uint32_t pair; /* the next one */
    uint64_t attempt_ns;
    uint64_t pause_ns;
    char interfaces[RONDO_BOARD_INTERFACES_MAX];

    bool asked_far;    /* by another host */
    uint64_t round_ns; /* next sending of lines */
    uint64_t round_began_ns;
    uint32_t round_step;
    rondo_board_line *sent; /* by rank: what it was when last sent */

    /* Closing. The four flags are guarded. */
    bool closing;
    bool detached; /* the caller's board is not used any more */
    bool done;
    bool orphan; /* nobody waits: the service thread frees it */
    bool leaving;
    uint64_t closing_ns;
    uint64_t leaving_ns;
    uint64_t end_ns; /* when to look again */
    void *own_board;
};

/* What a process has once. */
typedef struct links_home {
    rondo_service *service;
    rondo_links *all; /* guarded */
    int listeners[LISTENERS_MAX];
    rondo_endpoint at[LISTENERS_MAX];
    uint32_t nlisteners; /* guarded */
    rondo_link *guests;
    uint32_t nguests;
} links_home;

static inline bool
rondo_links_is_hub(const rondo_links *links)
{
    return links->rank == 0;
}

static inline bool
rondo_links_is_leader(const rondo_links *links)
{
    return links->leaders[links->host] == links->rank;
}

#endif /* CONTROL_LINKS_INSIDE_H */
