/*
 * instance.h - one rank's private side of a segment: what it has sent and consumed on
 * each channel, so that the shared lines are looked at only when they must be.
 */
#ifndef TRANSPORT_SHM_INSTANCE_H
#define TRANSPORT_SHM_INSTANCE_H

#include "transport/framing.h"
#include "transport/shm/copy.h"
#include "transport/shm/segment.h"

/* The sending side of a channel. The first line is all a small message needs. */
typedef struct rondo_shm_outlet {
    alignas(RONDO_SHM_LINE) struct rondo_shm_cell *cells;
    uint64_t position;           /* pieces sent */
    uint64_t limit;              /* position at which the ring seems full */
    struct rondo_shm_desk *desk; /* of the receiver */
    uint32_t cell_mask;
    uint32_t peer; /* the receiver's rank */
    bool midway;   /* the message being sent has more to come */
    bool open;     /* the ring's memory is there */

    struct rondo_shm_consumed *consumed;
    unsigned char *store;
    uint64_t bytes;       /* of the store taken by all pieces so far */
    uint64_t bytes_limit; /* bytes at which the store seems full */
    uint64_t offset;      /* of the store: where the next piece may begin */
    rondo_shm_pace pace;  /* how copies into the store go */
    uint64_t reserved;    /* bytes of the store that have memory behind them */
} rondo_shm_outlet;

/* The receiving side. */
typedef struct rondo_shm_inlet {
    alignas(RONDO_SHM_LINE) struct rondo_shm_cell *cells;
    uint64_t position;           /* pieces consumed */
    uint64_t published;          /* of them, told to the sender */
    struct rondo_shm_desk *desk; /* of the sender */
    struct rondo_shm_consumed *consumed;
    uint32_t cell_mask;
    uint32_t peer;        /* the sender's rank */
    uint32_t shown_bytes; /* of the piece last peeked */
    bool shown_in_cell;
    bool shown_last;
    bool midway; /* the message being received has more to come */

    unsigned char *store;
    uint64_t bytes;  /* of the store given back by all pieces so far */
    uint64_t offset; /* of the store: where the next piece may begin */
    uint64_t mapped; /* bytes of the store that are in our page table */
} rondo_shm_inlet;

typedef struct rondo_shm {
    rondo_transport transport; /* first: an instance is a transport */
    rondo_shm_outlet *outlets; /* by place and lane */
    rondo_shm_inlet *inlets;   /* by place and lane */
    uint32_t *places;          /* by rank; UINT32_MAX: does not share the segment */
    rondo_transport_counters counters;
    rondo_framing *framing;
    rondo_shm_segment segment;
    struct rondo_shm_desk *desk; /* mine */
    uint32_t me;                 /* my place */
    uint32_t nranks;             /* of the communicator */
    bool armed;                  /* my desk says that I am waiting */
    bool settled;                /* and has said so for long: see bell.c */
} rondo_shm;

/* channel.c: the operations of the same names. */
rondo_status
rondo_shm_send(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_outgoing *message);
rondo_status
rondo_shm_peek(rondo_transport *transport, uint32_t peer, rondo_lane lane,
               rondo_incoming *piece);
void
rondo_shm_consume(rondo_transport *transport, uint32_t peer, rondo_lane lane);

/* bell.c: the operations of the same names. */
uint32_t
rondo_shm_arm(rondo_transport *transport);
void
rondo_shm_sleep(rondo_transport *transport, uint32_t ticket, uint64_t wait_ns);
void
rondo_shm_disarm(rondo_transport *transport);

/* rondo_shm_ring_bell - wake the owner of `desk`, asleep or about to be. */
void
rondo_shm_ring_bell(struct rondo_shm_desk *desk);

/* Have the line of `at` ready to be written. By hand: compilers only read it ahead,
 * unless they are told of a processor that has the instruction, which every one of 64
 * bits has or skips. */
static inline void
rondo_shm_fetch(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

/* Wake the owner of `desk` if it says that it waits. The flag's line is shared and
 * cached while nobody goes to sleep, so this costs next to nothing. */
static inline void
rondo_shm_nudge(struct rondo_shm_desk *desk)
{
    if (__builtin_expect(atomic_load_explicit(&desk->waiting, memory_order_relaxed),
                         0)) {
        rondo_shm_ring_bell(desk);
    }
}

#endif /* TRANSPORT_SHM_INSTANCE_H */
