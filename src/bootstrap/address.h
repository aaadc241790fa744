/*
 * address.h - where a meeting point may be: names resolved, addresses as text.
 */
#ifndef BOOTSTRAP_ADDRESS_H
#define BOOTSTRAP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rondo/status.h>

#define RONDO_PLACES_MAX      8
#define RONDO_PLACE_TEXT_MAX  360
#define RONDO_HOST_BYTES      256
#define RONDO_PEER_TEXT_BYTES 80 /* an IPv6 address with its interface, and a port */

typedef struct rondo_place {
    struct sockaddr_storage address;
    socklen_t bytes;
} rondo_place;

/* The addresses a name stands for, in the resolver's order, each once. */
typedef struct rondo_places {
    rondo_place at[RONDO_PLACES_MAX];
    uint32_t count;
} rondo_places;

/* rondo_host_read - a host as users write it, without the brackets that an IPv6 address
 * may have. RONDO_ERR_ARG, which names `variable`: too long for RONDO_HOST_BYTES, or it
 * holds a port. */
RONDO_MUST_USE rondo_status
rondo_host_read(const char *variable, const char *text, char *host);

/* rondo_places_find - RONDO_ERR_START: the name cannot be resolved, or is a link-local
 * address that does not say on which interface. */
RONDO_MUST_USE rondo_status
rondo_places_find(const char *host, uint16_t port, rondo_places *places);

/* rondo_places_are_loopback - none of them can be reached from another machine. */
bool
rondo_places_are_loopback(const rondo_places *places);

/* rondo_places_named - `host` is a name, not the only address itself. */
bool
rondo_places_named(const rondo_places *places, const char *host);

/* rondo_place_of - from an address of any family, with its port. */
bool
rondo_place_of(const struct sockaddr *address, uint16_t port, rondo_place *place);

/* rondo_place_text - "127.0.0.1:29500", "[::1]:29500", "[fe80::1%eth0]:29500". */
void
rondo_place_text(const rondo_place *place, char *text, size_t text_bytes);

/* rondo_place_host - the same without port and brackets. */
void
rondo_place_host(const rondo_place *place, char *text, size_t text_bytes);

/* rondo_host_text - the same as rondo_place_text, from a host as the user wrote it. */
void
rondo_host_text(const char *host, uint16_t port, char *text, size_t text_bytes);

/* rondo_family_missing - ", which has no IPv6 address" when this host has none of the
 * place's family but loopback; "" otherwise. */
const char *
rondo_family_missing(const rondo_place *place);

/* rondo_socket_tend - small messages go at once, and when the host at the other end has
 * not been heard of for RONDO_LINK_SILENCE the connection ends with ETIMEDOUT. */
void
rondo_socket_tend(int fd);

#endif /* BOOTSTRAP_ADDRESS_H */
