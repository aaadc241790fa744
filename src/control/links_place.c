/* links_place.c - addresses of links: as endpoints, for the kernel, for people. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "control/links_parts.h"

socklen_t
rondo_links_place(const rondo_endpoint *at, struct sockaddr_storage *place)
{
    memset(place, 0, sizeof *place);
    if (at->family == 6) {
        struct sockaddr_in6 *const six = (struct sockaddr_in6 *)place;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(at->port);
        memcpy(&six->sin6_addr, at->address, sizeof six->sin6_addr);
        return sizeof *six;
    }
    struct sockaddr_in *const four = (struct sockaddr_in *)place;
    four->sin_family = AF_INET;
    four->sin_port = htons(at->port);
    memcpy(&four->sin_addr, at->address, sizeof four->sin_addr);
    return sizeof *four;
}

bool
rondo_links_endpoint(const struct sockaddr_storage *place, rondo_endpoint *at)
{
    memset(at, 0, sizeof *at);
    if (place->ss_family == AF_INET6) {
        const struct sockaddr_in6 *const six = (const struct sockaddr_in6 *)place;
        at->family = 6;
        at->port = ntohs(six->sin6_port);
        memcpy(at->address, &six->sin6_addr, sizeof six->sin6_addr);
    } else if (place->ss_family == AF_INET) {
        const struct sockaddr_in *const four = (const struct sockaddr_in *)place;
        at->family = 4;
        at->port = ntohs(four->sin_port);
        memcpy(at->address, &four->sin_addr, sizeof four->sin_addr);
    }
    return at->family != 0;
}

bool
rondo_links_same_address(const rondo_endpoint *one, const rondo_endpoint *other)
{
    return one->family == other->family &&
           memcmp(one->address, other->address, one->family == 4 ? 4 : 16) == 0;
}

bool
rondo_links_usable(const rondo_endpoint *at)
{
    if (at->family == 6) {
        /* fe80::/10 needs to be told an interface, which is another one elsewhere. */
        return !(at->address[0] == 0xfe && (at->address[1] & 0xc0) == 0x80);
    }
    return at->family == 4;
}

void
rondo_links_address_text(const rondo_endpoint *at, char *text, size_t text_bytes)
{
    char address[INET6_ADDRSTRLEN] = "?";

    (void)inet_ntop(at->family == 6 ? AF_INET6 : AF_INET, at->address, address,
                    sizeof address);
    (void)snprintf(text, text_bytes, "%s", address);
}

static void
ask_system(rondo_endpoint *here)
{
    struct ifaddrs *all = NULL;
    rondo_endpoint at;

    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        struct sockaddr_storage place = {0};
        if (i->ifa_addr == NULL ||
            (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) {
            continue;
        }
        memcpy(&place, i->ifa_addr,
               i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                 : sizeof(struct sockaddr_in6));
        if (rondo_links_endpoint(&place, &at) && rondo_links_same_address(&at, here)) {
            (void)snprintf(here->interface, sizeof here->interface, "%s", i->ifa_name);
            break;
        }
    }
    freeifaddrs(all);
}

void
rondo_links_interface(const rondo_endpoint *mine, rondo_endpoint *here)
{
    for (uint32_t i = 0; i < RONDO_ENDPOINTS_MAX; i++) {
        if (mine[i].family != 0 && mine[i].interface[0] != '\0' &&
            rondo_links_same_address(&mine[i], here)) {
            memcpy(here->interface, mine[i].interface, sizeof here->interface);
            here->interface[sizeof here->interface - 1] = '\0';
            return;
        }
    }
    ask_system(here);
}
