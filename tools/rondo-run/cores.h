/* cores.h - which processor each rank is bound to. */
#ifndef RONDO_RUN_CORES_H
#define RONDO_RUN_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct run_cores {
    uint32_t count;
    uint16_t processor[CPU_SETSIZE];
} run_cores;

/* run_cores_find - processors this process may use, one of each core first. False: not
 * known; said. */
bool
run_cores_find(run_cores *cores);

/*
 * run_cores_share - the part of rank `rank` of `nranks`, at most as many as there are
 * processors: every nranks-th from its own on, so that a core and its sibling stay
 * together; or the first of these only.
 */
void
run_cores_share(const run_cores *cores, uint32_t rank, uint32_t nranks, bool only_first,
                cpu_set_t *part);

#endif /* RONDO_RUN_CORES_H */
