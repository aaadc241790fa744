/*
 * listening.h - the sockets of a meeting point: one for each address of this host that
 * its name stands for, and none anywhere else.
 */
#ifndef BOOTSTRAP_LISTENING_H
#define BOOTSTRAP_LISTENING_H

#include "bootstrap/server.h"

typedef struct rondo_listeners {
    int fd; /* becomes readable when any of the others does; -1: closed */
    int fds[RONDO_PLACES_MAX];
    uint32_t count;
    rondo_place place; /* the first of them */
    char trap[256];    /* "; node0 is 127.0.1.1 on ...", or empty */
} rondo_listeners;

/* rondo_listeners_open - RONDO_ERR_SYSTEM: a port is taken (by whom, if it can be
 * seen), none of the addresses is this host's; RONDO_ERR_ARG: without a secret only
 * loopback is served. */
RONDO_MUST_USE rondo_status
rondo_listeners_open(const rondo_server_spec *spec, rondo_listeners *listeners);

/* rondo_listeners_accept - the next connection, not blocking; -1 and errno. */
int
rondo_listeners_accept(const rondo_listeners *listeners, rondo_place *from);

void
rondo_listeners_close(rondo_listeners *listeners);

/* rondo_holder_text - which process of this host has the port of `place`: ", by process
 * 4711 (python3)", ", by a process of user 1000", or "". */
void
rondo_holder_text(const rondo_place *place, char *text, size_t text_bytes);

#endif /* BOOTSTRAP_LISTENING_H */
