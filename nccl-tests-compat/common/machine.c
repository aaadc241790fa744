/* machine.c - reads what the system tells about itself under /proc and /sys. */
#include "common/machine.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void
perf_host_name(char *name, size_t name_size)
{
    char whole[256] = "";
    if (gethostname(whole, sizeof(whole) - 1) != 0 || whole[0] == '\0') {
        snprintf(whole, sizeof(whole), "host");
    }
    whole[strcspn(whole, ".")] = '\0';
    snprintf(name, name_size, "%.*s", (int)name_size - 1, whole);
}

/* The value behind `key` in a file of lines "key value" or "key : value". */
static bool
read_key(const char *path, const char *key, char *value, size_t value_size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[512];
    bool found = false;
    const size_t key_length = strlen(key);
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, key, key_length) != 0 ||
            strchr(" \t:", line[key_length]) == NULL) {
            continue;
        }
        const char *rest = line + key_length + strspn(line + key_length, " \t:");
        snprintf(value, value_size, "%.*s", (int)strcspn(rest, "\n"), rest);
        found = true;
    }
    fclose(file);
    return found;
}

void
perf_processor_name(char *name, size_t name_size)
{
    if (!read_key("/proc/cpuinfo", "model name", name, name_size)) {
        snprintf(name, name_size, "processor");
    }
}

static uint64_t
read_number_of(const char *path, const char *key, uint64_t otherwise)
{
    char value[64];
    if (!read_key(path, key, value, sizeof(value))) {
        return otherwise;
    }
    return strtoull(value, NULL, 10);
}

/* A file that holds one number, or "max" for none. */
static uint64_t
read_number(const char *path, uint64_t otherwise)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return otherwise;
    }
    unsigned long long number = 0;
    const bool found = fscanf(file, "%llu", &number) == 1;
    fclose(file);
    return found ? number : otherwise;
}

/* What a control group of either version calls the same things. */
typedef struct group_files {
    const char *limit;
    const char *used;
    const char *cache; /* in memory.stat: file pages the kernel can drop */
} group_files;

static uint64_t
left_in_group(const char *folder, const group_files *files)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, files->limit);
    const uint64_t limit = read_number(path, UINT64_MAX);
    /* Version 1 writes "no limit" as a number near 2^63. */
    if (limit >= (uint64_t)1 << 60) {
        return UINT64_MAX;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, files->used);
    const uint64_t used = read_number(path, 0);
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    const uint64_t cache = read_number_of(path, files->cache, 0);
    const uint64_t kept = used > cache ? used - cache : 0;
    return limit > kept ? limit - kept : 0;
}

/* The least that is left in our group and in those around it. */
static uint64_t
left_below(const char *root, const char *group, const group_files *files)
{
    char folder[PATH_MAX];
    const size_t root_length = strlen(root);
    snprintf(folder, sizeof(folder), "%s%s", root, group);
    uint64_t least = UINT64_MAX;
    for (;;) {
        const uint64_t left = left_in_group(folder, files);
        least = left < least ? left : least;
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < root_length) {
            return least;
        }
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "0::/path" (version 2), "4:memory:/path" (version 1). */
static uint64_t
left_in_groups(void)
{
    static const group_files second = {"memory.max", "memory.current", "inactive_file"};
    static const group_files first = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                      "total_inactive_file"};
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    char line[PATH_MAX];
    uint64_t least = UINT64_MAX;
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *group = strchr(line, '/');
        uint64_t left = UINT64_MAX;
        if (group == NULL) {
            continue;
        }
        if (strncmp(line, "0::", 3) == 0) {
            left = left_below("/sys/fs/cgroup", group, &second);
        } else if (strstr(line, ":memory:") != NULL) {
            left = left_below("/sys/fs/cgroup/memory", group, &first);
        }
        least = left < least ? left : least;
    }
    fclose(file);
    return least;
}

void
perf_memory_available(perf_memory *memory)
{
    uint64_t kib = read_number_of("/proc/meminfo", "MemAvailable", UINT64_MAX >> 10);
    const uint64_t system_bytes = kib << 10;
    const uint64_t group_bytes = left_in_groups();
    memory->machine_bytes = system_bytes < group_bytes ? system_bytes : group_bytes;

    struct rlimit space;
    memory->process_bytes = UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
        kib = read_number_of("/proc/self/status", "VmSize", 0);
        const uint64_t used = kib << 10;
        memory->process_bytes = space.rlim_cur > used ? space.rlim_cur - used : 0;
    }
}

uint64_t
perf_resident_bytes(void)
{
    return read_number_of("/proc/self/status", "VmRSS", 0) << 10;
}

static uint64_t
read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
perf_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t
perf_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
