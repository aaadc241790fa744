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

/*
 * run_cores_find - processors this process may use, one of each core first.
 *
 * Returns false, having said so, when there are fewer than `wanted`: binding several
 * ranks to one processor would only make them wait for each other.
 */
bool
run_cores_find(uint32_t wanted, run_cores *cores);

#endif /* RONDO_RUN_CORES_H */
