/*
 * puppet.h - a transport whose every answer the test decides: what is there to be
 * received, whether a send is taken, which signals are seen.
 */
#ifndef LIB_PUPPET_H
#define LIB_PUPPET_H

#include "transport/transport.h"

#define PUPPET_RANKS  4
#define PUPPET_PIECES 16

struct puppet {
    rondo_transport transport; /* first: a puppet is a transport */

    /* Set by the test, by peer. */
    bool takes[PUPPET_RANKS];         /* sends are taken whole */
    rondo_status fails[PUPPET_RANKS]; /* not RONDO_OK: what send and peek answer */
    uint64_t signalled[PUPPET_RANKS]; /* signal counters of the peers */
    rondo_incoming pieces[PUPPET_RANKS][PUPPET_PIECES];
    uint32_t npieces[PUPPET_RANKS];

    /* What was done to it. */
    uint32_t consumed[PUPPET_RANKS]; /* pieces */
    uint32_t sends[PUPPET_RANKS];    /* messages taken */
    uint32_t send_calls[PUPPET_RANKS];
    rondo_outgoing sent[PUPPET_RANKS]; /* the message last offered */
    uint64_t signal;
};

/* puppet_init - takes nothing, has nothing. */
void
puppet_init(struct puppet *puppet);

/* puppet_give - one more piece from `peer`; the data must live until it is consumed. */
void
puppet_give(struct puppet *puppet, uint32_t peer, rondo_incoming piece);

#endif /* LIB_PUPPET_H */
