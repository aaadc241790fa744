/* numa.c - the memory node a rank belongs to. */
#include "topology/numa.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether `list`, such as "0-3,8,10-11", holds all processors of `mask`, of which there
 * is one at least. */
static bool
holds(const char *list, const uint64_t mask[RONDO_CPUS_MAX / 64])
{
    uint64_t left[RONDO_CPUS_MAX / 64];
    uint64_t any = 0;

    memcpy(left, mask, sizeof left);
    for (uint32_t word = 0; word < RONDO_CPUS_MAX / 64; word++) {
        any |= left[word];
    }
    while (*list >= '0' && *list <= '9') {
        char *end = NULL;
        const unsigned long first = strtoul(list, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        for (unsigned long cpu = first; cpu <= last && cpu < RONDO_CPUS_MAX; cpu++) {
            left[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
        }
        list = *end == ',' ? end + 1 : end;
    }
    for (uint32_t word = 0; word < RONDO_CPUS_MAX / 64; word++) {
        if (left[word] != 0) {
            return false;
        }
    }
    return any != 0;
}

static bool
read_list(const char *folder, const char *node, char *list, int list_bytes)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%.240s/%.60s/cpulist", folder, node);
    FILE *const file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const bool got = fgets(list, list_bytes, file) != NULL;
    (void)fclose(file);
    return got;
}

uint32_t
rondo_numa_node_in(const char *folder, const uint64_t mask[RONDO_CPUS_MAX / 64])
{
    uint32_t found = RONDO_NO_NUMA_NODE;
    DIR *const nodes = opendir(folder);
    char list[4096];

    if (nodes == NULL) {
        return found;
    }
    for (struct dirent *at = readdir(nodes); at != NULL; at = readdir(nodes)) {
        unsigned number = 0;

        if (sscanf(at->d_name, "node%u", &number) == 1 &&
            read_list(folder, at->d_name, list, sizeof list) && holds(list, mask)) {
            found = number;
        }
    }
    (void)closedir(nodes);
    return found;
}

uint32_t
rondo_numa_node(const uint64_t mask[RONDO_CPUS_MAX / 64])
{
    return rondo_numa_node_in("/sys/devices/system/node", mask);
}
