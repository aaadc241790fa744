/* interface.c - which address of this host RONDO_INTERFACE means, for a unique id. */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bootstrap/identity.h"

/* The longest part of the list that can mean anything: an IPv6 range. */
#define PART_BYTES 64

/* Addresses in the order in which they are taken; the last is none. */
enum { PLAIN_FOUR, PLAIN_SIX, LINK_LOCAL, LOOPBACK_FOUR, LOOPBACK_SIX, NO_ADDRESS };

static bool
address_bytes(const struct ifaddrs *of, unsigned char *bytes)
{
    if (of->ifa_addr != NULL && of->ifa_addr->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, of->ifa_addr, sizeof four);
        memcpy(bytes, &four.sin_addr, sizeof four.sin_addr);
        return true;
    }
    if (of->ifa_addr != NULL && of->ifa_addr->sa_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, of->ifa_addr, sizeof six);
        memcpy(bytes, &six.sin6_addr, sizeof six.sin6_addr);
        return true;
    }
    return false;
}

static int
order_of(const struct ifaddrs *of)
{
    unsigned char bytes[16];

    if (!address_bytes(of, bytes) || (of->ifa_flags & IFF_UP) == 0) {
        return NO_ADDRESS;
    }
    const bool six = of->ifa_addr->sa_family == AF_INET6;
    if ((of->ifa_flags & IFF_LOOPBACK) != 0) {
        return six ? LOOPBACK_SIX : LOOPBACK_FOUR;
    }
    if (six && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) {
        return LINK_LOCAL;
    }
    return six ? PLAIN_SIX : PLAIN_FOUR;
}

/* "10.1.0.0/16", and "10.1.0.7" as a range of one; false: it is neither. */
static bool
read_range(const char *part, int *family, unsigned char *bytes, unsigned *bits)
{
    char text[PART_BYTES];

    (void)snprintf(text, sizeof text, "%s", part);
    char *const slash = strchr(text, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    *family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
    const unsigned most = *family == AF_INET6 ? 128 : 32;
    if (inet_pton(*family, text, bytes) != 1) {
        return false;
    }
    *bits = most;
    if (slash != NULL) {
        char *end = NULL;
        const unsigned long wanted = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end != '\0' || wanted > most) {
            return false;
        }
        *bits = (unsigned)wanted;
    }
    return true;
}

static bool
same_bits(const unsigned char *one, const unsigned char *other, unsigned bits)
{
    const unsigned whole = bits / 8;
    const unsigned rest = bits % 8;

    return memcmp(one, other, whole) == 0 &&
           (rest == 0 || (one[whole] ^ other[whole]) >> (8 - rest) == 0);
}

static bool
matches(const char *part, const struct ifaddrs *of)
{
    unsigned char wanted[16];
    unsigned char bytes[16];
    unsigned bits = 0;
    int family = AF_UNSPEC;

    if (read_range(part, &family, wanted, &bits)) {
        return of->ifa_addr->sa_family == family && address_bytes(of, bytes) &&
               same_bits(wanted, bytes, bits);
    }
    return fnmatch(part, of->ifa_name, 0) == 0;
}

/* The next part of a list; false: there is none. One that is too long to mean anything
 * becomes one that nothing matches. */
static bool
next_part(const char **list, char *part)
{
    const size_t bytes = strcspn(*list, ",");

    if (**list == '\0') {
        return false;
    }
    (void)snprintf(part, PART_BYTES, "%.*s", bytes < PART_BYTES ? (int)bytes : 0,
                   *list);
    *list += (*list)[bytes] == ',' ? bytes + 1 : bytes;
    return true;
}

static bool
is_taken_out(const char *list, const struct ifaddrs *of)
{
    char part[PART_BYTES];

    while (next_part(&list, part)) {
        if (part[0] == '^' && matches(part + 1, of)) {
            return true;
        }
    }
    return false;
}

static const struct ifaddrs *
best_of(const struct ifaddrs *all, const char *part, const char *list)
{
    const struct ifaddrs *best = NULL;
    int order = NO_ADDRESS;

    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        const int its = order_of(at);
        if (its < order && matches(part, at) && !is_taken_out(list, at)) {
            best = at;
            order = its;
        }
    }
    return best;
}

/* The list's parts are asked in turn; one that only takes out means all others. */
static const struct ifaddrs *
find_address(const struct ifaddrs *all, const char *list)
{
    const struct ifaddrs *found = NULL;
    const char *rest = list;
    char part[PART_BYTES];
    bool asked = false;

    while (found == NULL && next_part(&rest, part)) {
        if (part[0] != '^') {
            asked = true;
            found = best_of(all, part, list);
        }
    }
    return asked ? found : best_of(all, "*", list);
}

static rondo_status
say_none(const struct ifaddrs *all, const char *wanted)
{
    char there[320] = "";
    char name[RONDO_HOST_NAME_BYTES];
    size_t used = 0;

    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        rondo_place place;
        char host[RONDO_PEER_TEXT_BYTES];
        if (order_of(at) == NO_ADDRESS || used >= sizeof there ||
            !rondo_place_of(at->ifa_addr, 0, &place)) {
            continue;
        }
        rondo_place_host(&place, host, sizeof host);
        const int wrote = snprintf(there + used, sizeof there - used, "%s%s %s",
                                   used > 0 ? ", " : "", at->ifa_name, host);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    rondo_host_name(name, sizeof name);
    return rondo_error(RONDO_ERR_ARG,
                       "RONDO_INTERFACE is \"%.100s\": no interface of this host (%s) "
                       "that is up has such a name or address; there are: %s",
                       wanted, name, there);
}

rondo_status
rondo_interface_place(const char *wanted, rondo_place *place)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0) {
        return rondo_error(RONDO_ERR_SYSTEM, "the interfaces cannot be listed");
    }
    const struct ifaddrs *const found = find_address(all, wanted);
    const rondo_status status =
        found != NULL && rondo_place_of(found->ifa_addr, 0, place)
            ? RONDO_OK
            : say_none(all, wanted);
    freeifaddrs(all);
    return status;
}
