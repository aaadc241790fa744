/*
 * network.h - the interfaces and RDMA ports of this host: what there is, which can
 * carry traffic between hosts, why each other was refused, and what is decided from it.
 * Part of the library: it asks the kernel only.
 */
#ifndef TOPOLOGY_NETWORK_H
#define TOPOLOGY_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

#define RONDO_INTERFACES_MAX 64
#define RONDO_RDMA_PORTS_MAX 16

typedef enum rondo_interface_verdict {
    RONDO_INTERFACE_USABLE = 0,
    RONDO_INTERFACE_LOOPBACK,
    RONDO_INTERFACE_DOWN,       /* administratively, or no carrier */
    RONDO_INTERFACE_LINK_LOCAL, /* 169.254/16, fe80::/10 */
    RONDO_INTERFACE_CONTAINER,  /* docker0, br-*, virbr*, veth of a container, cni... */
    RONDO_INTERFACE_NOT_ASKED,  /* RONDO_INTERFACE leaves it out */
    RONDO_INTERFACE_VIRTUAL,    /* a tunnel or a dummy */
    RONDO_INTERFACE_NO_ADDRESS
} rondo_interface_verdict;

/* One address of one interface; family 0 for an interface without any, which is never
 * usable. */
typedef struct rondo_interface {
    char name[16];
    uint16_t family; /* 4 or 6 */
    uint16_t prefix; /* bits */
    unsigned char address[16];
    uint32_t index;
    uint32_t mtu;
    uint32_t speed_mbit; /* 0: unknown */
    rondo_interface_verdict verdict;
    char reason[96]; /* "has no carrier"; "" when usable */
    uint32_t metric; /* of the default route through it; UINT32_MAX without one */
    uint32_t part;   /* number of the part of `wanted` that it is usable for */
} rondo_interface;

/* A port of an RDMA device. */
typedef struct rondo_rdma_port {
    char name[80];        /* as UCX calls it: "mlx5_0:1" */
    char interface[16];   /* of a RoCE port, "?" if it has none; "" on other fabrics */
    char interfaces[128]; /* all of its GIDs, with commas: VLANs share a port */
    char fabric[16];      /* "InfiniBand" or "Ethernet" */
    char reason[64];      /* why not: "is down"; "" when it can be used */
} rondo_rdma_port;

typedef struct rondo_network {
    rondo_interface interfaces[RONDO_INTERFACES_MAX]; /* usable first, best first */
    uint32_t ninterfaces;
    uint32_t nusable;
    rondo_rdma_port ports[RONDO_RDMA_PORTS_MAX]; /* those that can be used first */
    uint32_t nports;                             /* these */
    uint32_t nports_seen;                        /* and all */
} rondo_network;

/* rondo_network_find - look at this host. `wanted` is RONDO_INTERFACE: "auto", or a
 * comma separated list of names, patterns and address ranges ("eth0,ib*,10.1.0.0/16",
 * "^docker0" takes out), which may ask for what auto refuses (loopback, a bridge), but
 * not for what is down. What is named first is preferred; then the faster, then the one
 * with the default route. RONDO_ERR_ARG names the part that cannot be read. */
RONDO_MUST_USE rondo_status
rondo_network_find(const char *wanted, rondo_network *network);

/* rondo_network_address_text - "10.77.0.4", "fd00::4". */
void
rondo_network_address_text(uint16_t family, const unsigned char *address, char *text,
                           size_t text_bytes);

/* What UCX is given. */
typedef struct rondo_network_choice {
    char devices[256];
    char transports[64];
    char reason[160]; /* "RDMA port mlx5_0:1 is active" */
} rondo_network_choice;

/* rondo_network_choose - from the interfaces that connections have proved ("eth0,eth1")
 * and RONDO_RDMA: auto takes active ports that belong to one of them, or to no
 * interface, and TCP as well; off takes TCP only; names take those alone, without TCP.
 * RONDO_ERR_ARG: a named port is not there or not active; the text lists what there
 * is. */
RONDO_MUST_USE rondo_status
rondo_network_choose(const rondo_network *network, const char *interfaces,
                     const char *rdma, rondo_network_choice *choice);

#endif /* TOPOLOGY_NETWORK_H */
