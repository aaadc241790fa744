/* cpu.h - what this processor can do and how much of the machine we may use. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/* rondo_cpu_has_avx2 - AVX2 and F16C are there and RONDO_CPU does not forbid them. */
bool
rondo_cpu_has_avx2(void);

/* Processors that an affinity mask has room for. */
#define RONDO_CPUS_MAX 1024

/* rondo_cpu_mask - the processors this thread may run on, one bit each. */
void
rondo_cpu_mask(uint64_t mask[RONDO_CPUS_MAX / 64]);

/* rondo_cpu_quota - whole cores of the cgroup's quota; UINT32_MAX without one. */
uint32_t
rondo_cpu_quota(void);

/* A pause inside a polling loop. */
static inline void
rondo_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif /* BASE_CPU_H */
