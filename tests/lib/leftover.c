/* leftover.c - counting descriptors, threads, children, mappings and files. */
#include "lib/leftover.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/ranks.h"

#define PATH_BYTES 64

static uint32_t
entries(const char *path, const char *part)
{
    uint32_t count = 0;
    DIR *const folder = opendir(path);

    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        count += entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL;
    }
    (void)closedir(folder);
    return count;
}

/* Lines of a file that contain `part`. */
static uint32_t
lines_with(const char *path, const char *part)
{
    char line[512];
    uint32_t count = 0;
    FILE *const file = fopen(path, "r");

    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, part) != NULL;
    }
    (void)fclose(file);
    return count;
}

static uint32_t
children(void)
{
    char path[64];
    uint32_t count = 0;
    int pid = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *const file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    while (fscanf(file, "%d", &pid) == 1) {
        count++;
    }
    (void)fclose(file);
    return count;
}

static void *
tell_path(void *path)
{
    (void)snprintf(path, PATH_BYTES, "/proc/self/task/%d", (int)gettid());
    return path;
}

/* The first thread of a process may bring another one that stays (a sanitizer's).
 * Itself it is to be seen for a moment after it was joined. */
static void
first_thread(void)
{
    static _Atomic pid_t done_in;
    char path[PATH_BYTES] = "";
    pthread_t thread;

    if (done_in != getpid() && pthread_create(&thread, NULL, tell_path, path) == 0) {
        (void)pthread_join(thread, NULL);
        for (int wait = 0; wait < 500 && access(path, F_OK) == 0; wait++) {
            rank_pause(1);
        }
    }
    done_in = getpid();
}

leftover
leftover_take(void)
{
    first_thread();
    return (leftover){
        .descriptors = entries("/proc/self/fd", ""),
        .threads = entries("/proc/self/task", ""),
        .children = children(),
        .shared_maps = lines_with("/proc/self/maps", "memfd:"),
        .shm_files = entries("/dev/shm", "rondo"),
    };
}

bool
leftover_same(const leftover *before, char *text, uint64_t text_bytes)
{
    leftover now = leftover_take();

    for (int wait = 0; wait < 200 && memcmp(&now, before, sizeof now) != 0; wait++) {
        rank_pause(10);
        now = leftover_take();
    }
    (void)snprintf(text, text_bytes,
                   "descriptors %u -> %u, threads %u -> %u, children %u -> %u, shared "
                   "mappings %u -> %u, files in /dev/shm %u -> %u",
                   before->descriptors, now.descriptors, before->threads, now.threads,
                   before->children, now.children, before->shared_maps, now.shared_maps,
                   before->shm_files, now.shm_files);
    return memcmp(&now, before, sizeof now) == 0;
}

uint64_t
leftover_resident_kib(void)
{
    unsigned long long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");

    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%*u %llu", &pages) != 1) {
        pages = 0;
    }
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}
