/*
 * server.h - the meeting point: it runs on the service thread, and when every rank has
 * its result (or has been told why there is none) it ends by itself.
 */
#ifndef BOOTSTRAP_SERVER_H
#define BOOTSTRAP_SERVER_H

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"

/* What is to be served. */
typedef struct rondo_server_spec {
    char host[RONDO_HOST_BYTES];
    uint16_t port;   /* 0: any free one */
    uint32_t nranks; /* 0: as the first rank says */
    rondo_key secret;
    rondo_name job;
    uint64_t deadline_ns;
} rondo_server_spec;

/* rondo_server_open - listen and return; `place` is where. Takes its own hold of the
 * service. RONDO_ERR_SYSTEM: address, port and the system's reason;
 * RONDO_ERR_ARG: without a secret only loopback is served. */
RONDO_MUST_USE rondo_status
rondo_server_open(const rondo_server_spec *spec, rondo_place *place);

/* rondo_key_given - whether there is a secret at all. */
bool
rondo_key_given(const rondo_key *key);

#endif /* BOOTSTRAP_SERVER_H */
