/*
 * fakewire.h - a wire without a network: several "processes" in one, each with a wire
 * of its own, parcels in order, everything else as a seed decides.
 *
 * Parcels are read when they are done, not when they are sent, so a sender that changes
 * them too early is found; what arrives lies in memory of exactly its size, freed as
 * soon as it may be. Wires may be driven by different threads.
 */
#ifndef LIB_FAKEWIRE_H
#define LIB_FAKEWIRE_H

#include "transport/ucx/wire.h"

#define FAKEWIRES_MAX 64

typedef struct fakewire_plan {
    uint64_t seed;
    uint32_t late_percent;   /* parcels that are not done when send returns */
    uint32_t idle_percent;   /* progress calls that move nothing on a link */
    uint32_t nested_percent; /* sends from inside which parcels arrive */
    size_t parcel_bytes;     /* 0: 8000 */
    bool maps;               /* registering memory is of use */
} fakewire_plan;

/* What a wire holds or has done. */
typedef struct fakewire_state {
    uint64_t kept;      /* parcels that arrived and were kept, not released yet */
    uint64_t kept_peak; /* the most there were */
    uint64_t waiting;   /* parcels that have not been looked at */
    uint64_t sent;      /* parcels handed to send */
    uint64_t links;     /* open */
    uint64_t maps;      /* open */
} fakewire_state;

/* fakewire_begin - no wires yet; they are numbered from 0 as they are opened. */
void
fakewire_begin(const fakewire_plan *plan);

/* fakewire_end - how much was left behind: wires not closed, links, maps and kept
 * parcels of those that were. */
uint64_t
fakewire_end(void);

/* fakewire_ops - the table. */
const rondo_wire_ops *
fakewire_ops(void);

/* fakewire_cut - every link between two wires is lost, once what has arrived has been
 * looked at. */
void
fakewire_cut(uint32_t a, uint32_t b, const char *why);

/* fakewire_stop - the links from a wire take no more parcels, without being lost: what
 * is sent stays under way. */
void
fakewire_stop(uint32_t wire, bool stopped);

/* fakewire_inject - a parcel from nowhere. */
void
fakewire_inject(uint32_t to, const void *header, size_t header_bytes, const void *data,
                size_t bytes);

/* fakewire_look - a copy. */
fakewire_state
fakewire_look(uint32_t wire);

#endif /* LIB_FAKEWIRE_H */
