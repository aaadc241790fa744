/*
 * wires.h - wires of the real module in several processes, linked each with each, and
 * parcels that say what they must be: who sent them, as which, with which bytes.
 */
#ifndef LIB_WIRES_H
#define LIB_WIRES_H

#include "lib/ranks.h"
#include "transport/ucx/wire.h"

#define WIRES_MAX      8
#define WIRES_KEPT_MAX 32

/* Where addresses are laid out; test_shared memory. */
typedef struct wires_board {
    struct {
        size_t bytes;
        unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    } of[WIRES_MAX];
    const char *devices;   /* of all; null: lo */
    int spaces[WIRES_MAX]; /* namespaces to go to; 0: none */
    _Atomic bool go;       /* for a test's director */
} wires_board;

typedef struct wires_header {
    uint32_t from;
    uint32_t bytes;
    uint64_t number; /* of the parcels from there to here */
} wires_header;

/* A parcel on its way out. */
typedef struct wires_parcel {
    wires_header header;
    rondo_wire_parcel parcel;
    unsigned char *data;
} wires_parcel;

typedef struct wires_kept {
    void *parcel;
    const void *data;
    wires_header header;
} wires_kept;

typedef struct wires_end {
    rank_self *self;
    const rondo_wire_ops *ops;
    rondo_wire *wire;
    size_t parcel_bytes;
    struct {
        rondo_wire_link *link;
        uint64_t sent;    /* parcels */
        uint64_t arrived; /* parcels */
        uint32_t lost;    /* times */
        char why[128];
    } of[WIRES_MAX];
    uint32_t keep_every; /* every so many'th parcel is kept; 0: none */
    uint32_t nkept;
    wires_kept kept[WIRES_KEPT_MAX];
} wires_end;

/* wires_ops - of the module; null (with a message) when it was not built. */
const rondo_wire_ops *
wires_ops(void);

/* wires_open - a wire of this rank, with its address on the board. */
bool
wires_open(rank_self *self, wires_board *board, wires_end *end);
/* wires_join - the same, and links to all other ranks, all made at the same moment. */
bool
wires_join(rank_self *self, wires_board *board, wires_end *end);
/* wires_link - to one rank. */
bool
wires_link(wires_end *end, const wires_board *board, uint32_t peer);
void
wires_close(wires_end *end);

/* wires_send - a parcel of so many bytes, made up. It may be sent again once done.
 * wires_room - memory for it. */
void
wires_send(wires_end *end, uint32_t peer, size_t bytes, wires_parcel *parcel);
bool
wires_room(wires_parcel *parcel, size_t bytes);

/* wires_pump - progress once; true when something happened. */
bool
wires_pump(wires_end *end);
/* wires_nap - progress, or sleep by the event descriptor until something may have
 * arrived. False: nothing in `wait_ms`. */
bool
wires_nap(wires_end *end, int wait_ms);
/* wires_arrived, wires_lost, wires_done, wires_flushed - pump until it is so; false,
 * and noted, after `wait_ms`. */
bool
wires_arrived(wires_end *end, uint32_t peer, uint64_t parcels, uint64_t wait_ms);
bool
wires_lost(wires_end *end, uint32_t peer, uint64_t wait_ms);
bool
wires_done(wires_end *end, const wires_parcel *parcel, uint64_t wait_ms);
bool
wires_flushed(wires_end *end, uint32_t peer, uint64_t wait_ms);
/* wires_linger - pump for a while. */
void
wires_linger(wires_end *end, uint64_t ms);

#endif /* LIB_WIRES_H */
