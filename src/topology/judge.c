/* judge.c - which interface can carry traffic between hosts, which is best, and why
 * each other was refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config.h"
#include "topology/facts.h"
#include "topology/judge.h"
#include "topology/wanted.h"

/* An address, or a link without one, on its way into the result. */
typedef struct candidate {
    const rondo_link *link;
    const rondo_link_address *address; /* null: the link has none */
    uint32_t number;                   /* in the facts */
    uint32_t preference;               /* number of the part that asked for it */
    rondo_objection objection;
} candidate;

static bool
is_link_local(const rondo_link_address *address)
{
    const unsigned char *const bytes = address->address;

    return address->family == 4 ? bytes[0] == 169 && bytes[1] == 254
                                : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

static bool
is_loopback_address(const rondo_link_address *address)
{
    return address->family == 4 && address->address[0] == 127;
}

/* What no wish can change; without an objection the verdict stays USABLE. */
static rondo_objection
hard_objection(const candidate *one)
{
    if (!one->link->up) {
        return (rondo_objection){RONDO_INTERFACE_DOWN, "is down"};
    }
    if (!one->link->running) {
        return (rondo_objection){RONDO_INTERFACE_DOWN, "has no carrier"};
    }
    if (one->address == NULL) {
        return (rondo_objection){RONDO_INTERFACE_NO_ADDRESS,
                                 one->link->master != 0
                                     ? "has no address: it is part of another interface"
                                     : "has no address"};
    }
    if ((one->address->state & RONDO_ADDRESS_DUPLICATE) != 0) {
        return (rondo_objection){RONDO_INTERFACE_NO_ADDRESS,
                                 "has an address that another host has as well"};
    }
    if (one->address->family == 6 && is_link_local(one->address)) {
        return (rondo_objection){RONDO_INTERFACE_LINK_LOCAL,
                                 "has an address for this link only (fe80::/10)"};
    }
    return (rondo_objection){RONDO_INTERFACE_USABLE, ""};
}

/* What "auto" refuses and RONDO_INTERFACE may ask for nevertheless. */
static rondo_objection
soft_objection(const rondo_network_facts *facts, const candidate *one)
{
    if (one->link->loopback || is_loopback_address(one->address)) {
        return (rondo_objection){RONDO_INTERFACE_LOOPBACK,
                                 "ends at this host (loopback)"};
    }
    const rondo_objection nature = rondo_link_objection(facts, one->link);
    if (nature.verdict != RONDO_INTERFACE_USABLE) {
        return nature;
    }
    if (is_link_local(one->address)) {
        return (rondo_objection){RONDO_INTERFACE_LINK_LOCAL,
                                 "has an address for this link only (169.254/16)"};
    }
    return nature;
}

/* The part that asks for the candidate by name or range; nparts when none does. */
static uint32_t
asked_by(const rondo_wanted *wanted, const candidate *one)
{
    for (uint32_t i = 0; i < wanted->nparts; i++) {
        if (!wanted->parts[i].out &&
            rondo_wanted_fits(&wanted->parts[i], one->link->name, one->address->family,
                              one->address->address)) {
            return i;
        }
    }
    return wanted->nparts;
}

static bool
taken_out(const rondo_wanted *wanted, const candidate *one)
{
    for (uint32_t i = 0; i < wanted->nparts; i++) {
        if (wanted->parts[i].out &&
            rondo_wanted_fits(&wanted->parts[i], one->link->name, one->address->family,
                              one->address->address)) {
            return true;
        }
    }
    return false;
}

/* The place of "auto" in the list. A list that only takes out begins with it, unsaid;
 * nparts: it is not there. */
static uint32_t
auto_part(const rondo_wanted *wanted)
{
    for (uint32_t i = 0; i < wanted->nparts; i++) {
        if (wanted->parts[i].form == RONDO_WANTED_AUTO) {
            return i;
        }
    }
    return wanted->parts[0].out ? 0 : wanted->nparts;
}

static void
judge(const rondo_network_facts *facts, const rondo_wanted *wanted, candidate *one)
{
    one->objection = hard_objection(one);
    if (one->objection.verdict != RONDO_INTERFACE_USABLE) {
        return;
    }
    const uint32_t automatic = auto_part(wanted);
    const uint32_t part = asked_by(wanted, one);
    const rondo_objection left_out = {RONDO_INTERFACE_NOT_ASKED,
                                      "is left out by RONDO_INTERFACE"};

    if (taken_out(wanted, one)) {
        one->objection = left_out;
    } else if (part < wanted->nparts) {
        one->preference = part;
    } else if (automatic < wanted->nparts) {
        one->preference = automatic;
        one->objection = soft_objection(facts, one);
    } else {
        one->objection = left_out;
    }
}

static int
compare(uint64_t left, uint64_t right)
{
    return left < right ? -1 : left > right ? 1 : 0;
}

/* An address that will not last comes behind the others of its link. */
static uint32_t
weakness(const rondo_link_address *address)
{
    return (is_link_local(address) ? 8u : 0u) |
           ((address->state & RONDO_ADDRESS_DEPRECATED) != 0 ? 4u : 0u) |
           ((address->state & RONDO_ADDRESS_TENTATIVE) != 0 ? 2u : 0u) |
           ((address->state & RONDO_ADDRESS_TEMPORARY) != 0 ? 1u : 0u);
}

static int
compare_usable(const candidate *left, const candidate *right)
{
    const int orders[] = {
        compare(left->preference, right->preference),
        compare(right->link->speed_mbit, left->link->speed_mbit),
        compare(left->link->metric, right->link->metric),
        compare(left->link->index, right->link->index),
        compare(weakness(left->address), weakness(right->address)),
        compare(left->address->family, right->address->family),
        compare(left->number, right->number),
    };

    for (uint32_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (orders[i] != 0) {
            return orders[i];
        }
    }
    return 0;
}

/* Usable ones best first; then the refused, those without an address last: a host of
 * containers has hundreds of them. */
static int
compare_candidates(const void *first, const void *second)
{
    const candidate *const left = first;
    const candidate *const right = second;
    const bool left_fits = left->objection.verdict == RONDO_INTERFACE_USABLE;
    const bool right_fits = right->objection.verdict == RONDO_INTERFACE_USABLE;

    if (left_fits != right_fits) {
        return left_fits ? -1 : 1;
    }
    if (left_fits) {
        return compare_usable(left, right);
    }
    if ((left->address == NULL) != (right->address == NULL)) {
        return left->address == NULL ? 1 : -1;
    }
    const int order = compare(left->link->index, right->link->index);
    return order != 0 ? order : compare(left->number, right->number);
}

static void
fill(const candidate *one, rondo_interface *interface)
{
    memset(interface, 0, sizeof *interface);
    memcpy(interface->name, one->link->name, sizeof interface->name);
    interface->index = one->link->index;
    interface->mtu = one->link->mtu;
    interface->speed_mbit = one->link->speed_mbit;
    interface->metric = one->link->metric;
    interface->part = one->preference;
    interface->verdict = one->objection.verdict;
    (void)snprintf(interface->reason, sizeof interface->reason, "%s",
                   one->objection.reason);
    if (one->address != NULL) {
        interface->family = one->address->family;
        interface->prefix = one->address->prefix;
        memcpy(interface->address, one->address->address, sizeof interface->address);
    }
}

/* Every address, and every link that has none. */
static uint32_t
collect(const rondo_network_facts *facts, candidate *all)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < facts->naddresses; i++) {
        const rondo_link_address *const address = &facts->addresses[i];

        all[count++] = (candidate){
            .link = &facts->links[address->link], .address = address, .number = i};
    }
    for (uint32_t i = 0; i < facts->nlinks; i++) {
        bool bare = true;

        for (uint32_t k = 0; k < facts->naddresses && bare; k++) {
            bare = facts->addresses[k].link != i;
        }
        if (bare) {
            all[count++] = (candidate){.link = &facts->links[i], .number = i};
        }
    }
    return count;
}

rondo_status
rondo_network_judge(const rondo_network_facts *facts, const char *wanted,
                    rondo_network *network)
{
    rondo_wanted parts;
    candidate *all = NULL;

    rondo_status status = rondo_wanted_parse(wanted, &parts);
    if (status == RONDO_OK) {
        status = rondo_alloc_zero((RONDO_LINKS_MAX + RONDO_ADDRESSES_MAX) * sizeof *all,
                                  (void **)&all);
    }
    if (status != RONDO_OK) {
        return status;
    }
    const uint32_t count = collect(facts, all);
    for (uint32_t i = 0; i < count; i++) {
        judge(facts, &parts, &all[i]);
    }
    qsort(all, count, sizeof *all, compare_candidates);
    memset(network, 0, sizeof *network);
    for (uint32_t i = 0; i < count && i < RONDO_INTERFACES_MAX; i++) {
        fill(&all[i], &network->interfaces[network->ninterfaces++]);
        network->nusable += all[i].objection.verdict == RONDO_INTERFACE_USABLE ? 1 : 0;
    }
    rondo_free(all);
    rondo_ports_judge(facts, network);
    return RONDO_OK;
}
