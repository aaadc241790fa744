/*
 * wire.h - what the module librondo_ucx.so gives: parcels between processes, reliable
 * and in order, over UCX. The module is the only code that knows UCX, and it knows
 * nothing of Rondo: C and UCX only, errors as text, so that it can be loaded when a
 * pair of ranks needs it, and replaced by a stand-in in tests.
 *
 * A wire is one UCX context and worker of a process. None of its functions may be
 * called by two threads at once: the caller has a lock. `arrived` and `lost` are called
 * from inside progress, arm, flush or send, with that lock held; they must be short and
 * must not call the wire, but for `release`.
 */
#ifndef TRANSPORT_UCX_WIRE_H
#define TRANSPORT_UCX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of this table; a module of another version is refused. */
#define RONDO_WIRE_OPS_VERSION 1

/* The longest header of a parcel, and the longest address of a wire. */
#define RONDO_WIRE_HEADER_MAX  64
#define RONDO_WIRE_ADDRESS_MAX 1000

/* The module's one symbol: rondo_wire_ops_function. */
#define RONDO_WIRE_SYMBOL "rondo_ucx_wire"

typedef struct rondo_wire rondo_wire;
typedef struct rondo_wire_link rondo_wire_link; /* to the wire of another process */
typedef struct rondo_wire_map rondo_wire_map;   /* registered memory */

/* A parcel has come. `data` lies in the wire's memory. True: kept until `release` of
 * `parcel`, from any later call; false: done with. Kept parcels hold receive buffers,
 * so whoever keeps them bounds them. */
typedef bool (*rondo_wire_arrived)(void *user, const void *header, size_t header_bytes,
                                   const void *data, size_t bytes, void *parcel);

/* A link is lost: whatever is sent on it fails from now on. `why` is a phrase. */
typedef void (*rondo_wire_lost)(void *user, void *link_user, const char *why);

typedef struct rondo_wire_setup {
    const char *devices;    /* UCX_NET_DEVICES, such as "eth0" or "mlx5_0:1,eth0" */
    const char *transports; /* UCX_TLS, such as "tcp" or "rc,ud,tcp" */
    uint32_t peers;         /* processes it will talk to, about */
    rondo_wire_arrived arrived;
    rondo_wire_lost lost;
    void *user; /* for both */
} rondo_wire_setup;

/* A parcel on its way out: header and data stay the caller's and unchanged until `done`
 * is set. */
typedef struct rondo_wire_parcel {
    const void *header; /* at most RONDO_WIRE_HEADER_MAX bytes */
    size_t header_bytes;
    const void *data;          /* may be null when bytes is 0 */
    size_t bytes;              /* at most parcel_bytes() */
    const rondo_wire_map *map; /* memory that holds all of data, or null */
    bool done;                 /* set by the wire: the memory is the caller's again */
    bool failed;               /* set with `done`: the link is lost */
} rondo_wire_parcel;

typedef struct rondo_wire_ops {
    uint32_t version;
    const char *name; /* "UCX 1.13.1" */

    /* open - 0, or -1 with a sentence in `why`. Leaves signal dispositions as they
     * were. */
    int (*open)(const rondo_wire_setup *setup, rondo_wire **wire, char *why,
                size_t why_bytes);
    /* close - disconnects what is left, does not wait for peers (300 ms at most). */
    void (*close)(rondo_wire *wire);

    /* address - how other processes reach it; `bytes` is the room, then the length. */
    int (*address)(rondo_wire *wire, void *address, size_t *bytes, char *why,
                   size_t why_bytes);
    /* connect - does not wait; the connection is made by the first parcels. */
    int (*connect)(rondo_wire *wire, const void *address, size_t bytes, void *link_user,
                   rondo_wire_link **link, char *why, size_t why_bytes);
    /* disconnect - frees the link; parcels not done yet are set done and failed. */
    void (*disconnect)(rondo_wire *wire, rondo_wire_link *link);

    /* parcel_bytes - the longest data of one parcel that travels in one piece. */
    size_t (*parcel_bytes)(const rondo_wire *wire);
    /* send - parcels of one link arrive in the order of their sends. `done` may be set
     * when it returns (always for short ones that find room), or later by progress. */
    void (*send)(rondo_wire *wire, rondo_wire_link *link, rondo_wire_parcel *parcel);
    /* progress - how much has happened; 0: nothing. */
    uint32_t (*progress)(rondo_wire *wire);
    void (*release)(rondo_wire *wire, void *parcel);
    /* flushed - begin flushing at the first call; true once all parcels of the link
     * have left this process for good (call progress in between), or it is lost. */
    bool (*flushed)(rondo_wire *wire, rondo_wire_link *link);

    /* event_fd - becomes readable when something may have arrived after arm() said
     * true;
     * -1: there is none. arm - false: there is something to do already. */
    int (*event_fd)(rondo_wire *wire);
    bool (*arm)(rondo_wire *wire);

    /* map, unmap - register memory for sending without a copy. Null on transports that
     * gain nothing. */
    rondo_wire_map *(*map)(rondo_wire *wire, void *memory, size_t bytes);
    void (*unmap)(rondo_wire *wire, rondo_wire_map *map);
    /* zero_copy_bytes - sent from registered memory so far. */
    uint64_t (*zero_copy_bytes)(const rondo_wire *wire);
} rondo_wire_ops;

typedef const rondo_wire_ops *(*rondo_wire_ops_function)(void);

#endif /* TRANSPORT_UCX_WIRE_H */
