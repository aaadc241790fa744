/* machine.h - the host's name, its processor, its memory. */
#ifndef PERF_MACHINE_H
#define PERF_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* perf_host_name - without the domain, as nccl-tests prints it. */
void
perf_host_name(char *name, size_t name_size);

/* perf_processor_name - "AMD EPYC 7763 64-Core Processor". */
void
perf_processor_name(char *name, size_t name_size);

/* What still can be had, and who says so. */
typedef struct perf_memory {
    uint64_t machine_bytes; /* all processes together: the system, the cgroup */
    uint64_t process_bytes; /* this process: RLIMIT_AS */
} perf_memory;

/* perf_memory_available - UINT64_MAX where there is no limit. */
void
perf_memory_available(perf_memory *memory);

/* perf_resident_bytes - physical memory of this process. */
uint64_t
perf_resident_bytes(void);

/* perf_now_ns - a clock that only moves forward. */
uint64_t
perf_now_ns(void);

/* perf_thread_cpu_ns - processor time of the calling thread. */
uint64_t
perf_thread_cpu_ns(void);

#endif /* PERF_MACHINE_H */
