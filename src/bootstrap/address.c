/* address.c - names to addresses and back to text. */
#include "bootstrap/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

rondo_status
rondo_places_find(const char *host, uint16_t port, rondo_places *places)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[8];

    (void)snprintf(service, sizeof service, "%u", port);
    const int failed = getaddrinfo(host, service, &hints, &found);
    if (failed != 0) {
        return rondo_error(RONDO_ERR_START,
                           "the meeting point \"%s\" cannot be resolved: %s", host,
                           gai_strerror(failed));
    }
    places->count = 0;
    for (const struct addrinfo *at = found;
         at != NULL && places->count < RONDO_PLACES_MAX; at = at->ai_next) {
        rondo_place *const place = &places->at[places->count];
        if (at->ai_addrlen <= sizeof place->address) {
            memset(place, 0, sizeof *place);
            memcpy(&place->address, at->ai_addr, at->ai_addrlen);
            place->bytes = at->ai_addrlen;
            places->count++;
        }
    }
    freeaddrinfo(found);
    if (places->count == 0) {
        return rondo_error(RONDO_ERR_START, "the meeting point \"%s\" has no address",
                           host);
    }
    return RONDO_OK;
}

static bool
is_loopback(const rondo_place *place)
{
    if (place->address.ss_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, &place->address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    if (place->address.ss_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, &place->address, sizeof six);
        return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) &&
                six.sin6_addr.s6_addr[12] == 127);
    }
    return false;
}

bool
rondo_places_are_loopback(const rondo_places *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (!is_loopback(&places->at[i])) {
            return false;
        }
    }
    return true;
}

void
rondo_host_text(const char *host, uint16_t port, char *text, size_t text_bytes)
{
    const bool six = strchr(host, ':') != NULL;

    (void)snprintf(text, text_bytes, six ? "[%s]:%u" : "%s:%u", host, port);
}

void
rondo_place_text(const rondo_place *place, char *text, size_t text_bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";
    uint16_t port = 0;

    if (place->address.ss_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, &place->address, sizeof four);
        (void)inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
        port = ntohs(four.sin_port);
    } else if (place->address.ss_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, &place->address, sizeof six);
        (void)inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        port = ntohs(six.sin6_port);
    }
    rondo_host_text(host, port, text, text_bytes);
}
