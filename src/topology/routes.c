/* routes.c - default routes and the states of IPv6 addresses, from /proc/self/net. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "topology/facts.h"

/* Of a route: it is up; it only refuses. */
#define ROUTE_UP     0x0001u
#define ROUTE_REJECT 0x0200u

/* Of an IPv6 address, in the kernel's if_inet6. */
#define KERNEL_TEMPORARY  0x01u
#define KERNEL_DAD_FAILED 0x08u
#define KERNEL_DEPRECATED 0x20u
#define KERNEL_TENTATIVE  0x40u

static void
take_metric(rondo_network_facts *facts, const char *name, uint32_t metric)
{
    rondo_link *const link = rondo_facts_link(facts, name);

    if (link != NULL && metric < link->metric) {
        link->metric = metric;
    }
}

static void
read_routes4(rondo_network_facts *facts)
{
    FILE *const file = fopen("/proc/self/net/route", "re");
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char name[16];
        unsigned int target = 0;
        unsigned int flags = 0;
        unsigned int metric = 0;
        unsigned int mask = 0;

        if (sscanf(line, "%15s %x %*x %x %*d %*d %u %x", name, &target, &flags, &metric,
                   &mask) == 5 &&
            target == 0 && mask == 0 &&
            (flags & (ROUTE_UP | ROUTE_REJECT)) == ROUTE_UP) {
            take_metric(facts, name, metric);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void
read_routes6(rondo_network_facts *facts)
{
    FILE *const file = fopen("/proc/self/net/ipv6_route", "re");
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char target[33];
        unsigned int length = 0;
        unsigned int metric = 0;
        unsigned int flags = 0;
        char name[16];

        if (sscanf(line, "%32s %x %*s %*x %*s %x %*x %*x %x %15s", target, &length,
                   &metric, &flags, name) == 5 &&
            length == 0 && strspn(target, "0") == 32 &&
            (flags & (ROUTE_UP | ROUTE_REJECT)) == ROUTE_UP) {
            take_metric(facts, name, metric);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

void
rondo_facts_read_routes(rondo_network_facts *facts)
{
    read_routes4(facts);
    read_routes6(facts);
}

static uint32_t
state_of(uint32_t flags)
{
    uint32_t state = 0;

    state |= (flags & KERNEL_TEMPORARY) != 0 ? RONDO_ADDRESS_TEMPORARY : 0u;
    state |= (flags & KERNEL_DAD_FAILED) != 0 ? RONDO_ADDRESS_DUPLICATE : 0u;
    state |= (flags & KERNEL_DEPRECATED) != 0 ? RONDO_ADDRESS_DEPRECATED : 0u;
    state |= (flags & KERNEL_TENTATIVE) != 0 ? RONDO_ADDRESS_TENTATIVE : 0u;
    return state;
}

/* 32 hexadecimal digits, as if_inet6 writes an address. */
static bool
read_address6(const char *digits, unsigned char *address)
{
    for (uint32_t i = 0; i < 16; i++) {
        unsigned int byte = 0;

        if (sscanf(digits + (size_t)2 * i, "%2x", &byte) != 1) {
            return false;
        }
        address[i] = (unsigned char)byte;
    }
    return true;
}

static void
take_state(rondo_network_facts *facts, const char *name, const unsigned char *address,
           uint32_t flags)
{
    for (uint32_t i = 0; i < facts->naddresses; i++) {
        rondo_link_address *const one = &facts->addresses[i];

        if (one->family == 6 && memcmp(one->address, address, 16) == 0 &&
            strcmp(facts->links[one->link].name, name) == 0) {
            one->state = state_of(flags);
        }
    }
}

void
rondo_facts_read_states(rondo_network_facts *facts)
{
    FILE *const file = fopen("/proc/self/net/if_inet6", "re");
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char digits[33];
        char name[16];
        unsigned int flags = 0;
        unsigned char address[16];

        if (sscanf(line, "%32s %*x %*x %*x %x %15s", digits, &flags, name) == 3 &&
            strlen(digits) == 32 && read_address6(digits, address)) {
            take_state(facts, name, address, flags);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}
