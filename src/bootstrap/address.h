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
#define RONDO_PLACE_TEXT_MAX  272
#define RONDO_HOST_BYTES      256
#define RONDO_PEER_TEXT_BYTES 64

typedef struct rondo_place {
    struct sockaddr_storage address;
    socklen_t bytes;
} rondo_place;

/* The addresses a name stands for, in the resolver's order. */
typedef struct rondo_places {
    rondo_place at[RONDO_PLACES_MAX];
    uint32_t count;
} rondo_places;

/* rondo_places_find - RONDO_ERR_START: the name cannot be resolved. */
RONDO_MUST_USE rondo_status
rondo_places_find(const char *host, uint16_t port, rondo_places *places);

/* rondo_places_are_loopback - none of them can be reached from another machine. */
bool
rondo_places_are_loopback(const rondo_places *places);

/* rondo_place_text - "127.0.0.1:29500", "[::1]:29500". */
void
rondo_place_text(const rondo_place *place, char *text, size_t text_bytes);

/* rondo_host_text - the same from a host as the user wrote it. */
void
rondo_host_text(const char *host, uint16_t port, char *text, size_t text_bytes);

#endif /* BOOTSTRAP_ADDRESS_H */
