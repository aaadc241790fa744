/* numa.h - the memory node a rank belongs to: the parts of a host that algorithms
 * see. */
#ifndef TOPOLOGY_NUMA_H
#define TOPOLOGY_NUMA_H

#include <stdint.h>

#include "base/cpu.h"

#define RONDO_NO_NUMA_NODE UINT32_MAX

/* rondo_numa_node - the one memory node whose processors hold all of `mask`;
 * RONDO_NO_NUMA_NODE where there is none, as for a rank that may run anywhere. */
uint32_t
rondo_numa_node(const uint64_t mask[RONDO_CPUS_MAX / 64]);

/* rondo_numa_node_in - the same from a folder in the form of
 * /sys/devices/system/node. */
uint32_t
rondo_numa_node_in(const char *folder, const uint64_t mask[RONDO_CPUS_MAX / 64]);

#endif /* TOPOLOGY_NUMA_H */
