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
    STATE_REACHING, /* until one of the addresses answers */
    STATE_GREETING, /* until the listener has spoken */
    STATE_PROVING,  /* our hello is sent; until the meeting point has proved itself */
    STATE_WAITING,  /* until all ranks are there */
    STATE_DONE,
    STATE_FAILED
} rondo_arrival_state;

/* One address of the meeting point. All are tried side by side, so that a dead one
 * holds nobody up. */
typedef struct rondo_attempt {
    int fd;            /* -1: none under way */
    int failed;        /* error number of the last one; 0: none has ended yet */
    bool unreachable;  /* this host knew at once that there is no way */
    bool was_cut;      /* somebody listened, but closed */
    uint64_t wake_ns;  /* the next one begins, or this one is given up */
    uint64_t pause_ns; /* before the next one */
} rondo_attempt;

struct rondo_rendezvous {
    rondo_arrival_state state;
    uint32_t rank;
    uint32_t nranks;
    rondo_key secret;
    rondo_name job;
    bool by_id;
    char host[RONDO_HOST_BYTES]; /* as the user wrote it */
    char where[RONDO_PLACE_TEXT_MAX];
    rondo_places places;
    rondo_attempt attempts[RONDO_PLACES_MAX];
    uint32_t place;   /* the one that answered */
    uint64_t hope_ns; /* when there last seemed to be a way to one of them */
    uint64_t deadline_ns;
    uint64_t wake_ns; /* end of patience with a silent listener */
    int fd;
    bool asked; /* who is missing */

    rondo_nonces nonces;
    union {
        unsigned char bytes[sizeof(rondo_greeting)];
        rondo_greeting greeting;
    } in;
    rondo_wire_frame frame;
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
void
rondo_rendezvous_set_out(rondo_rendezvous *here);
rondo_status
rondo_rendezvous_reach(rondo_rendezvous *here);
rondo_status
rondo_rendezvous_cut(rondo_rendezvous *here, int number);
void
rondo_rendezvous_disconnect(rondo_rendezvous *here);
/* rondo_rendezvous_sleep - until a socket or a moment of ours is due, or `until_ns`. */
void
rondo_rendezvous_sleep(const rondo_rendezvous *here, uint64_t until_ns);

/* reading.c: RONDO_OK: there may be more to do at once; RONDO_BUSY; or an error. */
rondo_status
rondo_rendezvous_read_greeting(rondo_rendezvous *here);
rondo_status
rondo_rendezvous_read_frame(rondo_rendezvous *here);

/* nobody.c: the sentence about a meeting point that was never found. */
rondo_status
rondo_rendezvous_nobody(const rondo_rendezvous *here);
rondo_status
rondo_rendezvous_unreachable(const rondo_rendezvous *here);

#endif /* BOOTSTRAP_RENDEZVOUS_INSIDE_H */
