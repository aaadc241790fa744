/* read.c - looks at the interfaces of this host: addresses, flags, speed. */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "topology/facts.h"

/* Of one link that are looked at. */
#define ADDRESSES_OF_LINK_MAX 32

rondo_link *
rondo_facts_link(rondo_network_facts *facts, const char *name)
{
    for (uint32_t i = 0; i < facts->nlinks; i++) {
        if (strcmp(facts->links[i].name, name) == 0) {
            return &facts->links[i];
        }
    }
    return NULL;
}

/* The link an entry speaks of; made when it is new. An address with a label is listed
 * under "eth0:label". */
static rondo_link *
link_of(rondo_network_facts *facts, const struct ifaddrs *entry)
{
    char name[sizeof facts->links[0].name] = "";
    const size_t letters = strcspn(entry->ifa_name, ":");

    if (letters == 0 || letters >= sizeof name) {
        return NULL;
    }
    memcpy(name, entry->ifa_name, letters);
    rondo_link *link = rondo_facts_link(facts, name);
    if (link != NULL || facts->nlinks == RONDO_LINKS_MAX) {
        return link;
    }
    link = &facts->links[facts->nlinks++];
    memcpy(link->name, name, sizeof name);
    link->index = if_nametoindex(name);
    link->metric = RONDO_NO_METRIC;
    link->loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    link->up = (entry->ifa_flags & IFF_UP) != 0;
    link->running = link->up && (entry->ifa_flags & IFF_RUNNING) != 0;
    return link;
}

static uint16_t
prefix_bits(const unsigned char *mask, size_t bytes)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < bytes; i++) {
        bits += (uint32_t)__builtin_popcount(mask[i]);
    }
    return (uint16_t)bits;
}

/* Where the bytes of an address are, by its family. */
static const void *
address_bytes(const struct sockaddr *address, uint16_t family)
{
    return family == 4
               ? (const void *)&((const struct sockaddr_in *)(const void *)address)
                     ->sin_addr
               : (const void *)&((const struct sockaddr_in6 *)(const void *)address)
                     ->sin6_addr;
}

/* A host that forwards services has thousands of addresses on one link; they must not
 * take the places of others. */
static bool
has_room(const rondo_network_facts *facts, uint32_t link)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < facts->naddresses; i++) {
        count += facts->addresses[i].link == link ? 1 : 0;
    }
    return count < ADDRESSES_OF_LINK_MAX && facts->naddresses < RONDO_ADDRESSES_MAX;
}

static void
add_address(rondo_network_facts *facts, const rondo_link *link,
            const struct ifaddrs *entry)
{
    const int kind = entry->ifa_addr->sa_family;

    if ((kind != AF_INET && kind != AF_INET6) ||
        !has_room(facts, (uint32_t)(link - facts->links))) {
        return;
    }
    rondo_link_address *const address = &facts->addresses[facts->naddresses++];
    const size_t bytes = kind == AF_INET ? 4 : 16;

    address->link = (uint32_t)(link - facts->links);
    address->family = kind == AF_INET ? 4 : 6;
    memcpy(address->address, address_bytes(entry->ifa_addr, address->family), bytes);
    address->prefix =
        entry->ifa_netmask == NULL
            ? (uint16_t)(8 * bytes)
            : prefix_bits(address_bytes(entry->ifa_netmask, address->family), bytes);
}

/* The driver's own word, by the ioctl: sysfs may show another network namespace. */
static void
ask_driver(int fd, rondo_link *link)
{
    struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
    struct ifreq request;

    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, link->name, sizeof link->name);
    if (ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0) {
        link->mtu = (uint32_t)request.ifr_mtu;
    }
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, link->name, sizeof link->name);
    request.ifr_data = (void *)&command;
    if (ioctl(fd, SIOCETHTOOL, &request) == 0) {
        /* The header's own function shifts into the sign. */
        const uint32_t speed = (uint32_t)command.speed_hi << 16 | command.speed;
        link->speed_mbit = speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
    }
}

static void
read_drivers(rondo_network_facts *facts)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    }
    for (uint32_t i = 0; fd >= 0 && i < facts->nlinks; i++) {
        ask_driver(fd, &facts->links[i]);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

rondo_status
rondo_network_read(rondo_network_facts *facts)
{
    struct ifaddrs *entries = NULL;

    if (getifaddrs(&entries) != 0) {
        return rondo_error_errno(RONDO_ERR_SYSTEM, errno,
                                 "the network interfaces cannot be listed");
    }
    memset(facts, 0, sizeof *facts);
    for (const struct ifaddrs *entry = entries; entry != NULL;
         entry = entry->ifa_next) {
        const rondo_link *const link = link_of(facts, entry);

        if (link != NULL && entry->ifa_addr != NULL) {
            add_address(facts, link, entry);
        }
    }
    freeifaddrs(entries);
    read_drivers(facts);
    rondo_facts_read_kinds(facts);
    rondo_facts_read_routes(facts);
    rondo_facts_read_states(facts);
    rondo_facts_read_ports(facts);
    return RONDO_OK;
}
