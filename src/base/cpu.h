/* cpu.h - what this processor can do and how much of the machine we may use. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/* rondo_cpu_has_avx2 - AVX2 and F16C are there and RONDO_CPU does not forbid them. */
bool
rondo_cpu_has_avx2(void);

/* rondo_cpu_usable - cores this process may really use: affinity mask and cgroup quota,
 * rounded down, at least 1. */
uint32_t
rondo_cpu_usable(void);

/* A pause inside a polling loop. */
static inline void
rondo_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif /* BASE_CPU_H */
