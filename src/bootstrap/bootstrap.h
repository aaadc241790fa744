/*
 * bootstrap.h - who are we, and who are the others: identity from the environment or a
 * unique id, and the rendezvous: every rank leaves a card and takes all cards home.
 */
#ifndef BOOTSTRAP_BOOTSTRAP_H
#define BOOTSTRAP_BOOTSTRAP_H

#include <rondo/comm.h>

#include "control/service.h"

#define RONDO_CARD_BYTES_MAX 1024

/* Where and as whom to meet. */
typedef struct rondo_meeting {
    uint32_t rank;
    uint32_t nranks;
    char host[256]; /* name or address of the meeting point, without brackets */
    uint16_t port;
    bool serve;       /* this rank's process opens the meeting point */
    bool by_id;       /* came from a unique id (for messages) */
    rondo_key secret; /* of the job; all zero: none was given */
    rondo_name job;   /* distinguishes meetings at one port; zero by environment */
    uint64_t deadline_ns;
} rondo_meeting;

/* rondo_meeting_from_config - fill a meeting from a communicator's config and the
 * environment. RONDO_ERR_ARG names the variable or field, its value, what is allowed:
 * rank >= nranks, WORLD_SIZE without RANK, nranks > 1 without a port, no such secret
 * file, ... Without a secret only loopback addresses are served. */
RONDO_MUST_USE rondo_status
rondo_meeting_from_config(const rondo_comm_config *config, rondo_meeting *meeting);

/* rondo_meeting_open_id - open a meeting point in this process and write its id. It
 * holds the service until the meeting is over or `timeout_ms` has passed. */
RONDO_MUST_USE rondo_status
rondo_meeting_open_id(uint64_t timeout_ms, rondo_unique_id *id);

/* What a meeting gives. */
typedef struct rondo_cards {
    uint32_t nranks;
    uint32_t card_bytes;  /* of each card */
    unsigned char *cards; /* nranks * card_bytes, by rank */
    rondo_name name;      /* random, equal on all ranks */
    rondo_key key;        /* secret, equal on all ranks */
} rondo_cards;

typedef struct rondo_rendezvous rondo_rendezvous;

/* rondo_rendezvous_start - come with `card` (copied; equal length on all ranks). Opens
 * the server if meeting->serve (RONDO_ERR_SYSTEM with address, port and "Address
 * already in use"). Never blocks; a name is resolved here. nranks 1 meets nobody, but
 * by an id it still goes to the meeting point, so that that is over. */
RONDO_MUST_USE rondo_status
rondo_rendezvous_start(rondo_service *service, const rondo_meeting *meeting,
                       const void *card, uint32_t card_bytes,
                       rondo_rendezvous **rendezvous);

/* rondo_rendezvous_poll - RONDO_BUSY, or RONDO_OK: `cards` is filled, its memory is
 * the rendezvous'. RONDO_ERR_START: "waiting for ranks 3, 5 of 8" after the deadline,
 * another version, a wrong secret, a rank that came twice, another number of ranks, a
 * listener that does not speak our protocol, a rank that gave up (all get its text). */
RONDO_MUST_USE rondo_status
rondo_rendezvous_poll(rondo_rendezvous *rendezvous, rondo_cards *cards);

/* rondo_rendezvous_wait - sleep until poll may have something to do. */
void
rondo_rendezvous_wait(rondo_rendezvous *rendezvous, uint64_t wait_ns);

/* rondo_rendezvous_destroy - null is allowed; an unfinished one tells the others. */
void
rondo_rendezvous_destroy(rondo_rendezvous *rendezvous);

/* rondo_host_key - equal for processes that may share memory and abstract sockets
 * (same boot, same network namespace, same user, same RONDO_HOST_ID). */
void
rondo_host_key(rondo_name *key);

/* rondo_host_name - what sentences call this host: RONDO_HOST_ID, or the host's name;
 * printable, cut to fit, never empty. RONDO_HOST_NAME_BYTES hold any. */
#define RONDO_HOST_NAME_BYTES 65
void
rondo_host_name(char *text, size_t text_bytes);

#endif /* BOOTSTRAP_BOOTSTRAP_H */
