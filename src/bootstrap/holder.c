/* holder.c - who has the port that we want, as far as this process may see it. */
#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/listening.h"

/* A socket of the kernel's table. */
typedef struct holder {
    unsigned long inode;
    unsigned uid;
} holder;

/* The socket that has the port, the listening one if there is one. */
static bool
find_socket(const char *table, unsigned wanted, holder *found)
{
    char line[512];
    bool any = false;
    FILE *const file = fopen(table, "re");

    if (file == NULL) {
        return false;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        holder one;
        unsigned port = 0;
        unsigned state = 0;
        const int fields =
            sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %u %*u %lu", &port,
                   &state, &one.uid, &one.inode);
        const bool listens = state == 10;
        if (fields == 4 && port == wanted && one.inode != 0 && (listens || !any)) {
            *found = one;
            any = true;
        }
    }
    (void)fclose(file);
    return any;
}

/* Whether process `pid` has the socket open. */
static bool
has_open(const char *pid, unsigned long inode)
{
    char path[64];
    char want[64];
    char link[64];
    bool found = false;

    (void)snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    (void)snprintf(want, sizeof want, "socket:[%lu]", inode);
    DIR *const folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    for (struct dirent *at = readdir(folder); at != NULL && !found;
         at = readdir(folder)) {
        const ssize_t bytes =
            readlinkat(dirfd(folder), at->d_name, link, sizeof link - 1);
        link[bytes > 0 ? bytes : 0] = '\0';
        found = strcmp(link, want) == 0;
    }
    (void)closedir(folder);
    return found;
}

static long
find_process(unsigned long inode)
{
    long pid = 0;
    DIR *const folder = opendir("/proc");

    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *at = readdir(folder); at != NULL && pid == 0;
         at = readdir(folder)) {
        if (isdigit((unsigned char)at->d_name[0]) && has_open(at->d_name, inode)) {
            pid = strtol(at->d_name, NULL, 10);
        }
    }
    (void)closedir(folder);
    return pid;
}

static void
read_command(long pid, char *text, size_t text_bytes)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    FILE *const file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    if (fgets(text, (int)text_bytes, file) == NULL) {
        text[0] = '\0';
    }
    text[strcspn(text, "\n")] = '\0';
    (void)fclose(file);
}

void
rondo_holder_text(const rondo_place *place, char *text, size_t text_bytes)
{
    char command[32] = "";
    struct sockaddr_in four; /* both families have their port at the same place */
    holder found;

    text[0] = '\0';
    memcpy(&four, &place->address, sizeof four);
    const unsigned port = ntohs(four.sin_port);
    /* This thread's, should it be in another network namespace than the process. */
    if (!find_socket("/proc/thread-self/net/tcp", port, &found) &&
        !find_socket("/proc/thread-self/net/tcp6", port, &found)) {
        return;
    }
    const long pid = find_process(found.inode);
    if (pid == 0) {
        (void)snprintf(text, text_bytes, ", by a process of user %u", found.uid);
        return;
    }
    read_command(pid, command, sizeof command);
    (void)snprintf(text, text_bytes, ", by process %ld (%s)", pid, command);
}
