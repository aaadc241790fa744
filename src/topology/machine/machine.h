/*
 * machine.h - what this machine is made of, for tools: processors, cores, caches,
 * memory nodes, and which node a device is near to. hwloc finds it, or reads it from
 * XML that another machine wrote. Not part of the library.
 */
#ifndef TOPOLOGY_MACHINE_MACHINE_H
#define TOPOLOGY_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/status.h>

#include "base/cpu.h"

#define RONDO_NODES_MAX   64
#define RONDO_CACHES_MAX  8
#define RONDO_DEVICES_MAX 128

/* No memory node is nearer than another, or none is known. */
#define RONDO_NO_NODE UINT32_MAX

/* A processor: what the operating system counts; a core may have several. */
typedef struct rondo_machine_cpu {
    uint32_t cpu;  /* the system's number */
    uint32_t core; /* counted from 0 through the machine */
    uint32_t node; /* the system's number of its memory node, or RONDO_NO_NODE */
    uint32_t package;
    bool allowed; /* by the cgroup's cpuset */
} rondo_machine_cpu;

typedef struct rondo_machine_cache {
    uint32_t level;
    uint32_t count;      /* of this kind in the machine */
    uint32_t cores_each; /* cores that share one */
    uint64_t bytes;      /* of one */
} rondo_machine_cache;

typedef struct rondo_machine_node {
    uint32_t node; /* the system's number */
    uint64_t memory_bytes;
} rondo_machine_node;

/* A network or RDMA device that hwloc has a place for. */
typedef struct rondo_machine_device {
    char name[64];
    uint32_t node; /* RONDO_NO_NODE: equally near to all */
} rondo_machine_device;

typedef struct rondo_machine {
    char model[96]; /* of the processor; may be "" */
    uint32_t npackages;
    uint32_t ncores;
    uint32_t ncpus;
    uint32_t nnodes;
    uint32_t ncaches;
    uint32_t ndevices;
    rondo_machine_cpu cpus[RONDO_CPUS_MAX]; /* core by core */
    rondo_machine_node nodes[RONDO_NODES_MAX];
    uint32_t distances[RONDO_NODES_MAX][RONDO_NODES_MAX]; /* by place; 0: not known */
    rondo_machine_cache caches[RONDO_CACHES_MAX];
    rondo_machine_device devices[RONDO_DEVICES_MAX];
    char *xml; /* all that hwloc knows */
} rondo_machine;

/* rondo_machine_read - look at this machine, or at what `xml` says of another (null:
 * this one). RONDO_ERR_SYSTEM, or RONDO_ERR_ARG for XML that cannot be read. */
RONDO_MUST_USE rondo_status
rondo_machine_read(const char *xml, rondo_machine **machine);

/* rondo_machine_free - null is allowed. */
void
rondo_machine_free(rondo_machine *machine);

/* rondo_machine_near - the memory node a device ("mlx5_0", "eth0") is near to. */
uint32_t
rondo_machine_near(const rondo_machine *machine, const char *device);

/* rondo_machine_distance - between two nodes by the system's numbers; 10 is a node and
 * itself, 0 not known. */
uint32_t
rondo_machine_distance(const rondo_machine *machine, uint32_t from, uint32_t to);

#endif /* TOPOLOGY_MACHINE_MACHINE_H */
