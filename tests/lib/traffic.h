/*
 * traffic.h - messages that can be told from each other, sent and checked step by step:
 * what the tests of every transport have in common.
 *
 * A flow is all messages of one lane from one rank to another. Sizes, tokens and bytes
 * follow from its seed and the number of the message, so sender and receiver need not
 * talk to agree, also when they are processes.
 */
#ifndef LIB_TRAFFIC_H
#define LIB_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

#define TRAFFIC_WHY_MAX 256

/* One side of a flow. The caller sets the first group; the rest begins as zero. */
typedef struct traffic_flow {
    rondo_transport *transport;
    uint32_t peer;
    rondo_lane lane;
    uint64_t seed;         /* the same on both sides */
    const uint64_t *sizes; /* message k has sizes[k % nsizes] bytes */
    uint64_t nsizes;
    uint64_t nmessages;

    uint64_t done;             /* messages sent or received */
    uint64_t filled;           /* bytes of the current one received */
    rondo_outgoing sending;    /* the current one */
    unsigned char *data;       /* what is being sent: exactly as long as the message */
    char why[TRAFFIC_WHY_MAX]; /* what was wrong, once a step has said so */
} traffic_flow;

/* traffic_byte - byte `at` of message `number`. */
unsigned char
traffic_byte(uint64_t seed, uint64_t number, uint64_t at);

/* traffic_token - the token of message `number`. */
uint64_t
traffic_token(uint64_t seed, uint64_t number);

/* traffic_send - one call of send. RONDO_OK: all messages are sent. */
rondo_status
traffic_send(traffic_flow *flow);

/* traffic_receive - one peek; the piece, if any, is checked and consumed. RONDO_OK: all
 * messages are received. RONDO_ERR_INTERNAL: `why` says what was wrong. */
rondo_status
traffic_receive(traffic_flow *flow);

/* traffic_bytes - of all messages of the flow together. */
uint64_t
traffic_bytes(const traffic_flow *flow);

/* traffic_end - frees what is left of an unfinished flow. */
void
traffic_end(traffic_flow *flow);

#endif /* LIB_TRAFFIC_H */
