/*
 * wire_state.h - what the files of the module share: the wire, its links, parcels on
 * their way out, and parcels that are kept.
 */
#ifndef TRANSPORT_UCX_MODULE_WIRE_STATE_H
#define TRANSPORT_UCX_MODULE_WIRE_STATE_H

#include <sys/types.h>

#include "transport/ucx/module/calls.h"
#include "transport/ucx/wire.h"

#define RONDO_UCX_PARCEL_ID 1 /* of our active message */

/* Ends of doubly linked lists; a list is empty when it points to itself. */
typedef struct rondo_ucx_node {
    struct rondo_ucx_node *next;
    struct rondo_ucx_node *previous;
} rondo_ucx_node;

/* A parcel handed to UCX that was not finished at once; its node comes first. */
typedef struct rondo_ucx_sending {
    rondo_ucx_node node; /* on its link's list, or on the wire's of free ones */
    rondo_wire *wire;
    rondo_wire_parcel *parcel; /* null once the link let go of it */
} rondo_ucx_sending;

/* A parcel that its receiver keeps: UCX's memory, or a copy in our own. */
typedef struct rondo_ucx_kept {
    rondo_ucx_node node; /* on the wire's list of kept ones, or of free ones */
    void *held;          /* UCX's memory; null: `room` is used */
    size_t room_bytes;
    _Alignas(64) unsigned char room[];
} rondo_ucx_kept;

struct rondo_wire_link {
    rondo_ucx_node node; /* on the wire's list */
    rondo_wire *wire;
    void *user;
    ucp_ep_h endpoint; /* null: it could not be made, and the link is lost */
    void *flush;       /* UCX's request; null: none */
    rondo_ucx_node sending;
    ucs_status_t failure; /* UCS_OK while it lives */
    bool told;            /* `lost` was called */
    bool flushing;        /* flushed() has been asked */
    bool fresh;           /* something was sent since the last flush began */
    bool unflushed;       /* something was sent that no flush has seen off */
    char reason[160];     /* of a link that could not be made */
};

struct rondo_wire_map {
    rondo_ucx_node node;
    ucp_mem_h memory;
};

/* Buffers of kept parcels come in these sizes: credits and small messages, and all. */
#define RONDO_UCX_ROOMS 2

struct rondo_wire {
    ucp_context_h context;
    ucp_worker_h worker;
    rondo_ucx_workers others; /* that were there before it */
    rondo_wire_arrived arrived;
    rondo_wire_lost lost;
    void *user;
    pid_t owner; /* nothing of UCX may run in a child */
    int event_fd;
    bool registers;   /* a memory domain gains by registered memory */
    uint32_t news;    /* happened since progress began */
    uint32_t failing; /* links whose loss has not been told */
    size_t parcel_bytes;
    uint64_t zero_copy_bytes;
    ucp_datatype_t copied; /* data that UCX is to copy; see rdma.c */
    size_t zero_copy_from; /* bytes; 0: never */
    rondo_ucx_node links;
    rondo_ucx_node maps;
    rondo_ucx_node free_sending;
    rondo_ucx_node kept;
    rondo_ucx_node free_kept[RONDO_UCX_ROOMS];
    rondo_ucx_node closing; /* endpoints; rondo_ucx_closing */
};

/* An endpoint that is being closed, and its request. */
typedef struct rondo_ucx_closing {
    rondo_ucx_node node;
    void *request;
} rondo_ucx_closing;

static inline void
rondo_ucx_list_init(rondo_ucx_node *list)
{
    list->next = list;
    list->previous = list;
}

static inline bool
rondo_ucx_list_empty(const rondo_ucx_node *list)
{
    return list->next == list;
}

static inline void
rondo_ucx_list_add(rondo_ucx_node *list, rondo_ucx_node *node)
{
    node->next = list->next;
    node->previous = list;
    list->next->previous = node;
    list->next = node;
}

static inline void
rondo_ucx_list_remove(rondo_ucx_node *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
}

/* --- settings.c ------------------------------------------------------------------- */

/* rondo_ucx_settings - UCX's configuration for this wire; what the user has set in the
 * environment stays. `parcel_bytes`: the longest parcel that is one fragment. */
ucs_status_t
rondo_ucx_settings(const rondo_wire_setup *setup, ucp_config_t **config,
                   size_t *parcel_bytes);

/* --- quiet.c ---------------------------------------------------------------------- */

/* Signal dispositions, in the kernel's words: the C library's would add to them. */
typedef struct rondo_ucx_signals {
    _Alignas(8) unsigned char was[65][64];
    bool known[65];
} rondo_ucx_signals;

void
rondo_ucx_signals_save(rondo_ucx_signals *signals);
void
rondo_ucx_signals_restore(const rondo_ucx_signals *signals);

/* rondo_ucx_quiet - from now on UCX's messages are kept instead of printed. */
void
rondo_ucx_quiet(void);
/* rondo_ucx_forget_message - before a call whose messages matter. */
void
rondo_ucx_forget_message(void);
/* rondo_ucx_sentence - "<what>: <status>", and UCX's own last message when it has one;
 * `what` may be null. */
void
rondo_ucx_sentence(char *why, size_t why_bytes, const char *what, ucs_status_t status);

/* --- inbox.c ---------------------------------------------------------------------- */

ucs_status_t
rondo_ucx_inbox_open(rondo_wire *wire);
void
rondo_ucx_inbox_close(rondo_wire *wire);
void
rondo_ucx_release(rondo_wire *wire, void *parcel);

/* --- link.c ----------------------------------------------------------------------- */

int
rondo_ucx_connect(rondo_wire *wire, const void *address, size_t bytes, void *link_user,
                  rondo_wire_link **link, char *why, size_t why_bytes);
void
rondo_ucx_disconnect(rondo_wire *wire, rondo_wire_link *link);
bool
rondo_ucx_flushed(rondo_wire *wire, rondo_wire_link *link);
/* rondo_ucx_link_failed - marks it; the loss is told by the next progress. */
void
rondo_ucx_link_failed(rondo_wire_link *link, ucs_status_t status);
/* rondo_ucx_links_tell - `lost` for every link that has failed since. */
void
rondo_ucx_links_tell(rondo_wire *wire);
/* rondo_ucx_links_close - all of them, 300 ms at most. */
void
rondo_ucx_links_close(rondo_wire *wire);
/* rondo_ucx_closing_poll - frees what has been closed. */
void
rondo_ucx_closing_poll(rondo_wire *wire);

/* --- send.c ----------------------------------------------------------------------- */

void
rondo_ucx_send(rondo_wire *wire, rondo_wire_link *link, rondo_wire_parcel *parcel);
/* rondo_ucx_sending_drop - all unfinished parcels of a link are done and failed. */
void
rondo_ucx_sending_drop(rondo_wire_link *link);
void
rondo_ucx_sending_free(rondo_wire *wire);

/* --- map.c ------------------------------------------------------------------------ */

rondo_wire_map *
rondo_ucx_map(rondo_wire *wire, void *memory, size_t bytes);
void
rondo_ucx_unmap(rondo_wire *wire, rondo_wire_map *map);
void
rondo_ucx_maps_close(rondo_wire *wire);

#endif /* TRANSPORT_UCX_MODULE_WIRE_STATE_H */
