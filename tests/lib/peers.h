/*
 * peers.h - peer processes with a service of their own, that follow orders by pipe.
 */
#ifndef LIB_PEERS_H
#define LIB_PEERS_H

#include <sys/types.h>

#include "control/service.h"

/* A peer, seen from the test; inside the peer `from` and `to` are the other ends. */
typedef struct peer {
    pid_t pid;
    int from; /* what the other side says */
    int to;   /* what we say */
    rondo_address address;
    void *user;
} peer;

/* What a peer does; its process exits with what this returns. */
typedef int (*peer_body)(rondo_service *service, peer *test);

/* peer_start - fork, acquire a service, run `body`. */
void
peer_start(peer_body body, void *user, peer *started);

/* peer_idle - a body that lives until it is ended. */
int
peer_idle(rondo_service *service, peer *test);

/* peer_say, peer_hear - one byte; peer_hear is 0 when the other side has gone. */
void
peer_say(const peer *to, char word);
char
peer_hear(const peer *from);

/* peer_signal - send a signal; after SIGSTOP returns when it has stopped. */
void
peer_signal(const peer *to, int number);

/* peer_end - SIGKILL; peer_join - its exit status, 100 + the signal that ended it. Both
 * reap it and close the pipes. */
void
peer_end(peer *ended);
int
peer_join(peer *joined);

/* descriptors_open, threads_alive, shared_maps - of this process. */
uint32_t
descriptors_open(void);
uint32_t
threads_alive(void);
uint32_t
shared_maps(void);

#endif /* LIB_PEERS_H */
