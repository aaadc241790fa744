/*
 * facts.h - what was read of a host's network, before anything is judged: so that a
 * judgement can be repeated elsewhere, on facts written down.
 */
#ifndef TOPOLOGY_FACTS_H
#define TOPOLOGY_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/network.h"

#define RONDO_LINKS_MAX     512
#define RONDO_ADDRESSES_MAX 1024

/* What the kernel says of an address of IPv6. */
enum {
    RONDO_ADDRESS_TENTATIVE = 1,  /* being checked for a duplicate */
    RONDO_ADDRESS_DUPLICATE = 2,  /* the check failed */
    RONDO_ADDRESS_DEPRECATED = 4, /* not for new connections */
    RONDO_ADDRESS_TEMPORARY = 8   /* changes every few hours */
};

/* No default route leads through a link. */
#define RONDO_NO_METRIC UINT32_MAX

/* One interface as the kernel has it. */
typedef struct rondo_link {
    char name[16];
    char kind[16]; /* "bridge", "veth", "vxlan", ...; "" for hardware or not known */
    uint32_t index;
    uint32_t master; /* index of the bridge or bond it is part of; 0: none */
    uint32_t mtu;
    uint32_t speed_mbit; /* 0: not known */
    uint32_t metric;     /* of the best default route through it, or RONDO_NO_METRIC */
    bool loopback;
    bool up;      /* switched on */
    bool running; /* and can carry: there is a carrier */
} rondo_link;

/* One address; `link` counts in the table of links. */
typedef struct rondo_link_address {
    uint32_t link;
    uint16_t family; /* 4 or 6 */
    uint16_t prefix;
    uint32_t state; /* RONDO_ADDRESS_... together */
    unsigned char address[16];
} rondo_link_address;

/* One port of an RDMA device as sysfs shows it. */
typedef struct rondo_port_fact {
    char device[64];
    uint32_t port;
    char state[16];       /* "ACTIVE", "DOWN", ... */
    char fabric[16];      /* "InfiniBand", "Ethernet" */
    char kind[16];        /* of the node: "CA", "RNIC" (iWARP), ... */
    char interfaces[128]; /* of its GIDs, "eth0,eth0.7"; "" when none is to be seen */
} rondo_port_fact;

typedef struct rondo_network_facts {
    uint32_t nlinks;
    uint32_t naddresses;
    uint32_t nports;
    rondo_link links[RONDO_LINKS_MAX];
    rondo_link_address addresses[RONDO_ADDRESSES_MAX];
    rondo_port_fact ports[RONDO_RDMA_PORTS_MAX];
} rondo_network_facts;

/* rondo_network_read - look at this host; what cannot be read stays unknown. Some
 * hundred kilobytes: `facts` belongs on the heap. RONDO_ERR_SYSTEM: not even the
 * interfaces can be listed. */
RONDO_MUST_USE rondo_status
rondo_network_read(rondo_network_facts *facts);

/* rondo_network_judge - what rondo_network_find decides, from facts. A pure
 * function. */
RONDO_MUST_USE rondo_status
rondo_network_judge(const rondo_network_facts *facts, const char *wanted,
                    rondo_network *network);

/* The parts of rondo_network_read. */
void
rondo_facts_read_kinds(rondo_network_facts *facts);
void
rondo_facts_read_routes(rondo_network_facts *facts);
void
rondo_facts_read_states(rondo_network_facts *facts);
void
rondo_facts_read_ports(rondo_network_facts *facts);

/* rondo_facts_link - the link of this name; null when there is none. */
rondo_link *
rondo_facts_link(rondo_network_facts *facts, const char *name);

#endif /* TOPOLOGY_FACTS_H */
