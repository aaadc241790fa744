/*
 * server_inside.h - the meeting point's state. Everything here happens on the service
 * thread, so that there is no lock.
 */
#ifndef BOOTSTRAP_SERVER_INSIDE_H
#define BOOTSTRAP_SERVER_INSIDE_H

#include "bootstrap/listening.h"
#include "bootstrap/wire.h"

typedef enum rondo_guest_state {
    RONDO_GUEST_UNKNOWN, /* has not proved that it knows the secret */
    RONDO_GUEST_JOINED,  /* its card is here */
    RONDO_GUEST_ENDING   /* its last frame is under way */
} rondo_guest_state;

/* One connection. */
typedef struct rondo_guest {
    struct rondo_guest *next; /* the oldest is last */
    struct rondo_server *server;
    int fd;
    rondo_guest_state state;
    bool counted; /* sits in by_rank */
    rondo_nonces nonces;
    uint32_t rank;
    uint32_t pid;
    char from[RONDO_PEER_TEXT_BYTES];
    unsigned char in[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];
    size_t in_bytes;
    rondo_wire_frame frame; /* the last one */
    const void *body;
    size_t done_bytes; /* of frame and body */
    bool blocked;      /* waits for room in the socket */
} rondo_guest;

typedef struct rondo_server {
    rondo_service *service;
    rondo_listeners listeners; /* closed: the meeting is over, for good or bad */
    rondo_key secret;
    rondo_name job;
    char where[RONDO_PEER_TEXT_BYTES];

    uint32_t nranks; /* 0: not known yet */
    uint32_t card_bytes;
    uint32_t njoined;
    rondo_guest **by_rank;
    unsigned char *body; /* rondo_result and the cards */
    size_t body_bytes;
    unsigned char body_hash[RONDO_HASH_BYTES];

    rondo_guest *guests;
    uint32_t nunknown;
    uint32_t refused;
    char refusal[160]; /* why the last one was */
    char failure[RONDO_FAILURE_BYTES];
    rondo_status failure_status;
} rondo_server;

/* server.c */
void
rondo_server_fail(rondo_server *server, rondo_status status, const char *text);
void
rondo_server_refused(rondo_server *server, const rondo_guest *guest, const char *why);
/* rondo_server_close - listen no longer; rondo_server_drop_unknown - and forget those
 * who have not said who they are. */
void
rondo_server_close(rondo_server *server);
void
rondo_server_drop_unknown(rondo_server *server);
/* rondo_server_late - the deadline, ours or a guest's: all are told who is missing. */
void
rondo_server_late(rondo_server *server);
/* rondo_server_settle - end the server when nothing is left; the last act of a call. */
void
rondo_server_settle(rondo_server *server);

/* guest.c: a connection's bytes; joining.c: what its hello means. */
void
rondo_guest_add(rondo_server *server, int fd, const rondo_place *from);
void
rondo_guest_drop(rondo_guest *guest);
void
rondo_guest_end(rondo_guest *guest, rondo_frame_kind kind);
RONDO_MUST_USE bool
rondo_guest_welcome(rondo_guest *guest);
void
rondo_server_join(rondo_guest *guest, const rondo_hello *hello, const void *card);

/* waiting.c: "ranks 3, 5-9 of 12"; `present` is null where a rank is missing. */
void
rondo_waiting_text(void *const *present, uint32_t nranks, char *text,
                   size_t text_bytes);

#endif /* BOOTSTRAP_SERVER_INSIDE_H */
