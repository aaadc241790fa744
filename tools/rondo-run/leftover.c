/* leftover.c - finds our living children in /proc, since orphans come to us unasked. */
#include "leftover.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* More children than this from a former life: the rest are treated as leftovers. */
#define FORMER_MAX 64

static pid_t former[FORMER_MAX];
static uint32_t former_count;

static bool
is_former(pid_t pid)
{
    for (uint32_t i = 0; i < former_count; i++) {
        if (former[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Alive and ours, by /proc/PID/stat: "pid (name) state parent ...". */
static bool
is_living_child(const char *pid)
{
    char path[64];
    char text[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    /* The name may hold anything, also brackets; the last one ends it. */
    const char *rest = strrchr(text, ')');
    char state = 'Z';
    int parent = 0;
    if (rest == NULL || sscanf(rest + 1, " %c %d", &state, &parent) != 2) {
        return false;
    }
    return parent == (int)getpid() && state != 'Z' && state != 'X';
}

typedef void (*child_function)(pid_t pid, int number);

static uint32_t
for_each_child(child_function function, int number)
{
    uint32_t count = 0;
    DIR *processes = opendir("/proc");
    if (processes == NULL) {
        return 0;
    }
    for (;;) {
        const struct dirent *entry = readdir(processes);
        if (entry == NULL) {
            break;
        }
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (is_living_child(entry->d_name) && !is_former(pid)) {
            function(pid, number);
            count++;
        }
    }
    closedir(processes);
    return count;
}

static void
note(pid_t pid, int number)
{
    (void)number;
    if (former_count < FORMER_MAX) {
        former[former_count++] = pid;
    }
}

/* Only we reap our children, so the number cannot have gone to somebody else. */
static void
end_child(pid_t pid, int number)
{
    if (number != 0) {
        kill(pid, number);
        kill(pid, SIGCONT);
    }
}

void
run_leftover_init(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for_each_child(note, 0);
}

uint32_t
run_leftover_signal(int number)
{
    return for_each_child(end_child, number);
}
