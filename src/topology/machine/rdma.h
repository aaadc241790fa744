/*
 * rdma.h - RDMA ports in detail, as libibverbs shows them, for tools. Not part of the
 * library, which reads sysfs (topology/network.h).
 */
#ifndef TOPOLOGY_MACHINE_RDMA_H
#define TOPOLOGY_MACHINE_RDMA_H

#include <stdint.h>

#define RONDO_RDMA_DETAILS_MAX 16
#define RONDO_RDMA_GIDS_MAX    16

typedef struct rondo_rdma_gid {
    uint32_t index;
    char type[16]; /* "IB", "RoCE v1", "RoCE v2" */
    char text[48]; /* "fe80::1", or "::ffff:10.0.0.1" */
    char interface[16];
} rondo_rdma_gid;

typedef struct rondo_rdma_detail {
    char name[80];  /* "mlx5_0:1" */
    char state[16]; /* "active", "down", ... */
    char fabric[16];
    uint32_t mtu;        /* bytes; 0: not known */
    uint32_t rate_mbit;  /* 0: not known */
    uint32_t ngids_seen; /* GIDs of the port; may be more than are kept */
    uint32_t ngids;
    rondo_rdma_gid gids[RONDO_RDMA_GIDS_MAX];
} rondo_rdma_detail;

typedef struct rondo_rdma {
    uint32_t nports;
    rondo_rdma_detail ports[RONDO_RDMA_DETAILS_MAX];
} rondo_rdma;

/* rondo_rdma_read - every port of every device that can be opened; a machine without
 * any has none, which is no error. */
void
rondo_rdma_read(rondo_rdma *rdma);

#endif /* TOPOLOGY_MACHINE_RDMA_H */
