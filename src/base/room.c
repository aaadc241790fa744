/* room.c - memory that is left: the kernel rather kills than refuses, so we ask
 * first. */
#include "base/room.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 512

/* Where the two kinds of memory controllers keep their numbers. */
typedef struct controller {
    const char *mount;
    const char *limit;
    const char *used;
    const char *reclaimable; /* row of memory.stat: given back on demand */
} controller;

static const controller unified = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                   "inactive_file"};
static const controller old = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file"};

/* The number behind `row` in a file of "row number" lines; `row` "" is a bare number.
 * False where there is none, or it is "max". */
static bool
read_row(const char *path, const char *row, uint64_t *value)
{
    char line[128] = ""; /* compared in words, also behind its end */
    const size_t row_bytes = strlen(row);
    unsigned long long number = 0;
    bool found = false;
    FILE *const file = fopen(path, "re");

    if (file == NULL) {
        return false;
    }
    while (!found && fgets(line, sizeof line, file) != NULL) {
        const char *const behind = line + row_bytes;

        if (row_bytes == 0) {
            found = sscanf(line, "%llu", &number) == 1;
        } else if (strncmp(line, row, row_bytes) == 0) {
            found = (*behind == ' ' || *behind == ':') &&
                    sscanf(behind, "%*[: ]%llu", &number) == 1;
        }
    }
    (void)fclose(file);
    *value = number;
    return found;
}

static uint64_t
left_of(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

static uint64_t
machine_room(void)
{
    uint64_t available_kib = 0;
    uint64_t swap_kib = 0;

    if (!read_row("/proc/meminfo", "MemAvailable", &available_kib)) {
        return UINT64_MAX;
    }
    (void)read_row("/proc/meminfo", "SwapFree", &swap_kib);
    return (available_kib + swap_kib) * 1024;
}

/* What one group leaves; the group's folder is `path`. */
static uint64_t
group_room(const controller *kind, const char *path)
{
    char file[PATH_BYTES + 128];
    uint64_t limit = 0;
    uint64_t used = 0;
    uint64_t reclaimable = 0;

    (void)snprintf(file, sizeof file, "%s/%s", path, kind->limit);
    if (!read_row(file, "", &limit)) {
        return UINT64_MAX;
    }
    (void)snprintf(file, sizeof file, "%s/%s", path, kind->used);
    if (!read_row(file, "", &used)) {
        return UINT64_MAX;
    }
    (void)snprintf(file, sizeof file, "%s/memory.stat", path);
    (void)read_row(file, kind->reclaimable, &reclaimable);
    return left_of(limit, left_of(used, reclaimable));
}

/* Every group above ours has its say as well. */
static uint64_t
groups_room(const controller *kind, const char *group)
{
    char path[PATH_BYTES + 64];
    uint64_t room = UINT64_MAX;
    const size_t top = strlen(kind->mount);

    (void)snprintf(path, sizeof path, "%s%s", kind->mount, group);
    for (;;) {
        const uint64_t here = group_room(kind, path);
        room = here < room ? here : room;
        char *const slash = strrchr(path, '/');
        if (slash == NULL || (size_t)(slash - path) < top) {
            return room;
        }
        *slash = '\0';
    }
}

uint64_t
rondo_room_bytes(void)
{
    char line[PATH_BYTES];
    uint64_t room = machine_room();
    FILE *const groups = fopen("/proc/self/cgroup", "re");

    if (groups == NULL) {
        return room;
    }
    while (fgets(line, sizeof line, groups) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *const memory = strstr(line, ":memory:");
        uint64_t here = UINT64_MAX;
        if (strncmp(line, "0::", 3) == 0) {
            here = groups_room(&unified, line + 3);
        } else if (memory != NULL) {
            here = groups_room(&old, memory + strlen(":memory:"));
        }
        room = here < room ? here : room;
    }
    (void)fclose(groups);
    return room;
}
