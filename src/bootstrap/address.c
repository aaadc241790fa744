/* address.c - names to addresses and back to text. */
#include "bootstrap/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

rondo_status
rondo_host_read(const char *variable, const char *text, char *host)
{
    const size_t bytes = strlen(text);
    const char *const colon = strchr(text, ':');
    const bool open = text[0] == '[';
    const bool closed = open && text[bytes - 1] == ']';

    if (bytes >= RONDO_HOST_BYTES) {
        return rondo_error(RONDO_ERR_ARG, "%s is %zu characters long; allowed are %d",
                           variable, bytes, RONDO_HOST_BYTES - 1);
    }
    if (open != closed || (!open && colon != NULL && strchr(colon + 1, ':') == NULL)) {
        return rondo_error(RONDO_ERR_ARG,
                           "%s is \"%s\"; allowed is a name or an address without a "
                           "port, IPv6 addresses also in brackets",
                           variable, text);
    }
    (void)snprintf(host, RONDO_HOST_BYTES, "%.*s", (int)(open ? bytes - 2 : bytes),
                   text + (open ? 1 : 0));
    return RONDO_OK;
}

bool
rondo_place_of(const struct sockaddr *address, uint16_t port, rondo_place *place)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    memset(place, 0, sizeof *place);
    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        four.sin_port = htons(port);
        memcpy(&place->address, &four, sizeof four);
        place->bytes = sizeof four;
        return true;
    }
    if (address->sa_family == AF_INET6) {
        memcpy(&six, address, sizeof six);
        six.sin6_port = htons(port);
        memcpy(&place->address, &six, sizeof six);
        place->bytes = sizeof six;
        return true;
    }
    return false;
}

/* One that can be connected to: link-local addresses are of an interface. */
static bool
is_whole(const rondo_place *place)
{
    struct sockaddr_in6 six;

    if (place->address.ss_family != AF_INET6) {
        return true;
    }
    memcpy(&six, &place->address, sizeof six);
    return !IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr) || six.sin6_scope_id != 0;
}

static void
add_place(const rondo_place *place, rondo_places *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (memcmp(&places->at[i], place, sizeof *place) == 0) {
            return;
        }
    }
    if (places->count < RONDO_PLACES_MAX) {
        places->at[places->count++] = *place;
    }
}

rondo_status
rondo_places_find(const char *host, uint16_t port, rondo_places *places)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    bool halves = false;

    const int failed = getaddrinfo(host, NULL, &hints, &found);
    if (failed != 0) {
        return rondo_error(RONDO_ERR_START,
                           "the meeting point \"%s\" cannot be resolved: %s", host,
                           gai_strerror(failed));
    }
    memset(places, 0, sizeof *places);
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        rondo_place place;
        if (!rondo_place_of(at->ai_addr, port, &place)) {
            continue;
        }
        if (is_whole(&place)) {
            add_place(&place, places);
        } else {
            halves = true;
        }
    }
    freeaddrinfo(found);
    if (places->count == 0) {
        return rondo_error(RONDO_ERR_START,
                           halves ? "the meeting point \"%s\" is a link-local address: "
                                    "write the interface behind it, as in %%eth0"
                                  : "the meeting point \"%s\" has no address",
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

bool
rondo_places_named(const rondo_places *places, const char *host)
{
    unsigned char number[sizeof(struct in6_addr)];

    return places->count != 1 ||
           (strchr(host, ':') == NULL && inet_pton(AF_INET, host, number) != 1);
}

void
rondo_host_text(const char *host, uint16_t port, char *text, size_t text_bytes)
{
    const bool six = strchr(host, ':') != NULL;

    (void)snprintf(text, text_bytes, six ? "[%s]:%u" : "%s:%u", host, port);
}

void
rondo_place_host(const rondo_place *place, char *text, size_t text_bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";
    char interface[IF_NAMESIZE];

    if (place->address.ss_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, &place->address, sizeof four);
        (void)inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
    } else if (place->address.ss_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, &place->address, sizeof six);
        (void)inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        if (six.sin6_scope_id != 0 &&
            if_indextoname(six.sin6_scope_id, interface) != NULL) {
            (void)snprintf(text, text_bytes, "%s%%%s", host, interface);
            return;
        }
    }
    (void)snprintf(text, text_bytes, "%s", host);
}

void
rondo_place_text(const rondo_place *place, char *text, size_t text_bytes)
{
    char host[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE];
    struct sockaddr_in four;

    /* Both families have their port at the same place. */
    memcpy(&four, &place->address, sizeof four);
    rondo_place_host(place, host, sizeof host);
    rondo_host_text(host, ntohs(four.sin_port), text, text_bytes);
}

const char *
rondo_family_missing(const rondo_place *place)
{
    const sa_family_t family = place->address.ss_family;
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0) {
        return "";
    }
    for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
        found = at->ifa_addr != NULL && at->ifa_addr->sa_family == family &&
                (at->ifa_flags & IFF_LOOPBACK) == 0;
    }
    freeifaddrs(all);
    if (found) {
        return "";
    }
    return family == AF_INET6 ? ", which has no IPv6 address"
                              : ", which has no IPv4 address";
}
