/*
 * parcel.h - the header of a parcel between hosts, and what is believed of one that
 * arrives: nothing that was not counted here.
 *
 * Every number in it is checked as if an enemy had written it; these functions touch no
 * memory but the two sides of a channel, so that they can be fuzzed by themselves.
 */
#ifndef TRANSPORT_UCX_PARCEL_H
#define TRANSPORT_UCX_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The other byte order gives another number, so such hosts refuse each other. */
#define RONDO_PARCEL_MAGIC   UINT16_C(0x0d52)
#define RONDO_PARCEL_VERSION UINT8_C(1)

/* Whether the message ends with this parcel. */
#define RONDO_PARCEL_LAST UINT8_C(1)

typedef enum rondo_parcel_kind {
    RONDO_PARCEL_DATA = 1,  /* a piece of a message */
    RONDO_PARCEL_CREDIT = 2 /* nothing but `credit` */
} rondo_parcel_kind;

/* As it is on the wire. */
typedef struct rondo_parcel_header {
    uint16_t magic;
    uint8_t version;
    uint8_t kind;
    uint8_t lane;
    uint8_t flags;
    uint16_t reserved; /* 0 */
    uint64_t comm;
    uint32_t from;
    uint32_t to;
    uint64_t token;    /* of the message; 0 in a credit */
    uint64_t total;    /* bytes of the message; 0 in a credit */
    uint64_t sequence; /* data parcels of this channel before this one; 0 in a credit */
    uint64_t credit;   /* charges of the other direction consumed so far */
} rondo_parcel_header;

_Static_assert(sizeof(rondo_parcel_header) == 56, "no padding, and short");

/* What the receiving side of a channel has been promised so far. */
typedef struct rondo_parcel_inflow {
    uint64_t sequence; /* data parcels taken */
    uint64_t received; /* their charges */
    uint64_t told;     /* charges consumed, as the sender has been told */
    uint64_t window;   /* charges that may be under way */
    uint64_t token;    /* of the message that has begun */
    uint64_t total;    /* its bytes */
    uint64_t filled;   /* of them, taken */
    bool midway;       /* a message has begun and not ended */
} rondo_parcel_inflow;

/* What the sending side has used of its window. */
typedef struct rondo_parcel_outflow {
    uint64_t sequence; /* data parcels sent */
    uint64_t charged;  /* their charges */
    uint64_t credit;   /* of them, consumed, as far as we were told */
} rondo_parcel_outflow;

/* The least and the usual step of what a parcel is charged. The short ones are copied
 * on arrival, the others keep one of the wire's receive buffers. */
#define RONDO_PARCEL_NEAR        128
#define RONDO_PARCEL_NEAR_CHARGE UINT64_C(256)
#define RONDO_PARCEL_FAR_CHARGE  UINT64_C(4096)

/* rondo_parcel_charge - what a parcel of so many bytes counts against the window: about
 * the memory it holds at the receiver until it is consumed. */
static inline uint64_t
rondo_parcel_charge(uint64_t bytes)
{
    if (bytes <= RONDO_PARCEL_NEAR) {
        return RONDO_PARCEL_NEAR_CHARGE;
    }
    return bytes > RONDO_PARCEL_FAR_CHARGE ? bytes : RONDO_PARCEL_FAR_CHARGE;
}

/* rondo_parcel_read - copy the header out; false: no parcel of ours. */
bool
rondo_parcel_read(const void *data, size_t data_bytes, size_t payload_bytes,
                  rondo_parcel_header *header);

/* rondo_parcel_admit - count a data parcel in; null, or what is wrong with it, and then
 * nothing has changed. */
const char *
rondo_parcel_admit(rondo_parcel_inflow *inflow, const rondo_parcel_header *header,
                   uint64_t bytes);

/* rondo_parcel_credit - the same for the credit of any parcel. */
const char *
rondo_parcel_credit(rondo_parcel_outflow *outflow, uint64_t credit);

#endif /* TRANSPORT_UCX_PARCEL_H */
