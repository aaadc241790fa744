/*
 * rendezvous_inside.h - the state of a rank on its way to a meeting.
 */
#ifndef BOOTSTRAP_RENDEZVOUS_INSIDE_H
#define BOOTSTRAP_RENDEZVOUS_INSIDE_H

#include "base/error.h"
#include "bootstrap/address.h"
#include "bootstrap/wire.h"

/* How long a listener may take to say its first word. */
#define RONDO_GREETING_MS 5000

typedef enum rondo_arrival_state {
    STATE_PAUSE,      /* until the next attempt */
    STATE_CONNECTING, /* until the socket is writable */
    STATE_GREETING,   /* until the listener has spoken */
    STATE_PROVING,    /* our hello is sent; until the meeting point has proved itself */
    STATE_WAITING,    /* until all ranks are there */
    STATE_DONE,
    STATE_FAILED
} rondo_arrival_state;

struct rondo_rendezvous {
    rondo_arrival_state state;
    uint32_t rank;
    uint32_t nranks;
    rondo_key secret;
    rondo_name job;
    bool by_id;
    char where[RONDO_PLACE_TEXT_MAX];
    rondo_places places;
    uint32_t place; /* the one that is tried */
    uint64_t deadline_ns;
    uint64_t wake_ns; /* next attempt, or end of patience with a silent listener */
    uint64_t pause_ns;
    int fd;
    int last_errno; /* why the last attempt failed */
    bool was_cut;   /* somebody listened, but closed */
    bool asked;     /* who is missing */

    rondo_nonces nonces;
    union {
        unsigned char bytes[sizeof(rondo_greeting)];
        rondo_greeting greeting;
    } in;
    rondo_frame frame;
    size_t in_bytes; /* of greeting, or of frame and body */
    unsigned char *body;
    size_t body_bytes; /* of the result */
    rondo_result result;

    uint32_t card_bytes;
    unsigned char card[RONDO_CARD_BYTES_MAX];

    rondo_status failure_status;
    char failure[RONDO_ERROR_TEXT_MAX];
};

/* rendezvous.c: keep the thread's error text as ours, and hand the status back. */
rondo_status
rondo_rendezvous_failed(rondo_rendezvous *here, rondo_status status);

/* connecting.c; statuses as in reading.c. */
rondo_status
rondo_rendezvous_pause(rondo_rendezvous *here);
rondo_status
rondo_rendezvous_connect(rondo_rendezvous *here);
rondo_status
rondo_rendezvous_cut(rondo_rendezvous *here, int number);
void
rondo_rendezvous_disconnect(rondo_rendezvous *here);

/* reading.c: RONDO_OK: there may be more to do at once; RONDO_BUSY; or an error. */
rondo_status
rondo_rendezvous_read_greeting(rondo_rendezvous *here);
rondo_status
rondo_rendezvous_read_frame(rondo_rendezvous *here);

#endif /* BOOTSTRAP_RENDEZVOUS_INSIDE_H */
