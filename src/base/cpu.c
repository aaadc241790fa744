/* cpu.c - processor features, affinity and cgroup quota. */
#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"

bool
rondo_cpu_has_avx2(void)
{
#if defined(__x86_64__)
    if (strcmp(rondo_config_text(RONDO_CONFIG_CPU), "plain") == 0) {
        return false;
    }
    unsigned int eax = 0;
    unsigned int ebx = 0;
    unsigned int ecx = 0;
    unsigned int edx = 0;

    /* Not every compiler knows the name "f16c"; leaf 1 has had the bit since 2011. */
    return __builtin_cpu_supports("avx2") != 0 &&
           __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
#else
    return false;
#endif
}

uint32_t
rondo_cpu_quota(void)
{
    char path[512] = "/sys/fs/cgroup";
    char line[448];
    unsigned long long quota = 0;
    unsigned long long period = 0;

    FILE *const group = fopen("/proc/self/cgroup", "re");
    if (group != NULL) {
        if (fgets(line, sizeof line, group) != NULL && strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(path + strlen(path), sizeof path - strlen(path), "%s",
                           line + 3);
        }
        (void)fclose(group);
    }
    (void)strncat(path, "/cpu.max", sizeof path - strlen(path) - 1);
    FILE *const file = fopen(path, "re");
    if (file == NULL) {
        return UINT32_MAX;
    }
    const int read = fscanf(file, "%llu %llu", &quota, &period);
    (void)fclose(file);
    if (read != 2 || period == 0) {
        return UINT32_MAX;
    }
    return quota < period ? 1 : (uint32_t)(quota / period);
}

void
rondo_cpu_mask(uint64_t mask[RONDO_CPUS_MAX / 64])
{
    cpu_set_t set;

    memset(mask, 0, RONDO_CPUS_MAX / 8);
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        mask[0] = 1;
        return;
    }
    for (uint32_t cpu = 0; cpu < RONDO_CPUS_MAX && cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
    }
}
