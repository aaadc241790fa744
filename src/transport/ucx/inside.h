/*
 * inside.h - what the transport between hosts is made of; nobody outside includes it.
 *
 * "Lock" is the process's wire's: it guards the wire, the links, the pools, and those
 * fields that say so. Everything else of an instance belongs to the thread that drives
 * it. Arrived pieces go from one to the other through a queue with one writer (whoever
 * has the lock) and one reader (the owner), so that a piece that is there is found
 * without the lock.
 */
#ifndef TRANSPORT_UCX_INSIDE_H
#define TRANSPORT_UCX_INSIDE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "transport/framing.h"
#include "transport/ucx/parcel.h"
#include "transport/ucx/ucx.h"

#define RONDO_UCX_LINE    64
#define RONDO_UCX_BUCKETS 64 /* of the table of instances */
#define RONDO_UCX_SPENT   32 /* consumed parcels that are given back together */
#define RONDO_UCX_RETIRED 64 /* nodes, likewise */
#define RONDO_UCX_FLIGHT  64 /* parcels of a channel that the wire may hold at once */

struct rondo_ucx_instance;

/* A piece that has arrived. The last one consumed stays as the head of its queue. */
struct rondo_ucx_node {
    _Atomic(struct rondo_ucx_node *) next;
    const void *data;
    void *parcel; /* of the wire, kept; null: the bytes are in `near` */
    uint64_t token;
    uint64_t bytes;
    bool last;
    unsigned char near[RONDO_PARCEL_NEAR];
};

/* A parcel on its way out, with its header. */
struct rondo_ucx_entry {
    rondo_wire_parcel parcel;
    rondo_parcel_header header;
    struct rondo_ucx_entry *next;
    struct rondo_ucx_instance *owner; /* whose caller's memory it holds, or null */
    struct rondo_ucx_outlet *outlet;  /* of the owner */
    unsigned char *buffer;            /* of its own, piece_bytes long, or null */
    unsigned char near[RONDO_PARCEL_NEAR];
};

/* To the wire of another process. Lock, but for `lost`. */
struct rondo_ucx_link {
    rondo_wire_link *wire; /* null once disconnected */
    uint32_t users;        /* pairs of ranks behind it */
    bool failing;          /* it took a parcel no more, but why is not told yet */
    atomic_bool lost;      /* then `why` is written and stays */
    char why[160];
    struct rondo_ucx_entry *head; /* parcels under way, in order */
    struct rondo_ucx_entry *tail;
    size_t address_bytes;
    unsigned char address[RONDO_WIRE_ADDRESS_MAX];
};

/* The sending side of a channel. */
struct rondo_ucx_outlet {
    rondo_parcel_outflow flow; /* lock */
    uint32_t pending;          /* lock: parcels that hold the caller's memory */
    bool midway;               /* a message has begun and is not taken */
};

/* The receiving side. */
struct rondo_ucx_inlet {
    rondo_parcel_inflow flow;    /* lock; `told` is written by the owner */
    struct rondo_ucx_node *tail; /* lock */

    alignas(RONDO_UCX_LINE) struct rondo_ucx_node *head;
    struct rondo_ucx_node *shown; /* peeked; null: none */
    uint64_t consumed;            /* charges */
    struct rondo_ucx_node stub;   /* the first head */
};

struct rondo_ucx_peer {
    struct rondo_ucx_link *link; /* null: not needed yet */
    struct rondo_ucx_outlet out[RONDO_LANES];
    struct rondo_ucx_inlet in[RONDO_LANES];
};

/* Registered memory. */
struct rondo_ucx_block {
    unsigned char *memory;
    uint64_t bytes;
    rondo_wire_map *map;
};

typedef struct rondo_ucx_instance {
    rondo_transport transport; /* first: an instance is a transport */
    rondo_ucx_setup setup;
    struct rondo_ucx_instance *next; /* lock: in its bucket */
    uint64_t windows[RONDO_LANES];
    uint64_t pieces[RONDO_LANES]; /* bytes of the longest */
    struct rondo_ucx_peer *peers; /* by rank */
    rondo_framing *framing;
    rondo_transport_counters counters;
    struct rondo_ucx_block *blocks;
    uint64_t nblocks;
    uint64_t blocks_room;

    void *spent[RONDO_UCX_SPENT]; /* consumed parcels, not given back yet */
    uint32_t nspent;
    uint32_t nretired;
    struct rondo_ucx_node *retired; /* nodes, likewise */

    _Atomic int32_t broken; /* a status; then `why` is written and stays */
    char why[160];
} rondo_ucx_instance;

struct rondo_ucx {
    pthread_mutex_t lock;
    atomic_uint waiting; /* threads that want the lock: pollers make room */
    atomic_bool forked;  /* the wire is the parent's */
    uint32_t users;      /* guard of the process */
    struct rondo_ucx *next;
    const rondo_wire_ops *ops;
    rondo_wire *wire;
    uint64_t piece_bytes;
    rondo_ucx_spec spec;

    struct rondo_ucx_link **links;
    uint64_t nlinks;
    uint64_t links_room;
    uint64_t nflying; /* entries that links hold */
    bool losses;      /* links were lost since the last look */
    bool failures;    /* links are failing */
    rondo_ucx_instance *buckets[RONDO_UCX_BUCKETS];
    uint64_t dropped; /* parcels nobody could take */

    struct rondo_ucx_node *nodes;     /* free */
    struct rondo_ucx_entry *plain;    /* free, without a buffer */
    struct rondo_ucx_entry *buffered; /* free, with one */
    void **slabs;                     /* what they were cut from */
    uint64_t nslabs;
    uint64_t slabs_room;
};

#endif /* TRANSPORT_UCX_INSIDE_H */
