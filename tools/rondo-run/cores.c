/* cores.c - orders the usable processors: first one of each core, then siblings. */
#include "cores.h"

#include <stdio.h>

/* The first processor of its core that we may use; itself where nothing is known. */
static bool
is_first_of_core(uint32_t processor, const cpu_set_t *usable)
{
    char path[96];
    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", processor);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return true;
    }
    /* The list reads like "0,4" or "0-1"; its first usable member decides. */
    bool first = true;
    unsigned low = 0;
    while (fscanf(file, "%u", &low) == 1) {
        unsigned high = low;
        int mark = fgetc(file);
        if (mark == '-' && fscanf(file, "%u", &high) == 1) {
            mark = fgetc(file);
        }
        for (unsigned one = low; one <= high && one < processor; one++) {
            first = first && !CPU_ISSET(one, usable);
        }
        if (mark != ',') {
            break;
        }
    }
    fclose(file);
    return first;
}

bool
run_cores_find(run_cores *cores)
{
    cpu_set_t usable;
    cores->count = 0;
    if (sched_getaffinity(0, sizeof(usable), &usable) != 0) {
        perror("rondo-run: --bind: the usable processors are not known");
        return false;
    }
    for (int siblings = 0; siblings < 2; siblings++) {
        for (uint32_t i = 0; i < CPU_SETSIZE; i++) {
            if (CPU_ISSET(i, &usable) &&
                is_first_of_core(i, &usable) == (siblings == 0)) {
                cores->processor[cores->count++] = (uint16_t)i;
            }
        }
    }
    return true;
}

void
run_cores_share(const run_cores *cores, uint32_t rank, uint32_t nranks, bool only_first,
                cpu_set_t *part)
{
    CPU_ZERO(part);
    CPU_SET(cores->processor[rank], part);
    for (uint32_t i = rank + nranks; i < cores->count && !only_first; i += nranks) {
        CPU_SET(cores->processor[i], part);
    }
}
