/* spaces.c - making, entering and removing network namespaces. */
#include "lib/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void
insist(bool fact, const char *what)
{
    if (!fact) {
        (void)fprintf(stderr, "spaces: %s failed: %s\n", what, strerror(errno));
        _exit(99);
    }
}

static void
name_of(uint32_t host, char *name, size_t name_bytes)
{
    (void)snprintf(name, name_bytes, "rondo-%d-%u", (int)getpid(), host);
}

static bool
shell(const char *command)
{
    return system(command) == 0; /* NOLINT: commands of our own making */
}

void
spaces_ip(uint32_t host, const char *words)
{
    char name[32];
    char command[256];

    name_of(host, name, sizeof name);
    (void)snprintf(command, sizeof command, "ip -n %s %s", name, words);
    insist(shell(command), command);
}

void
spaces_link(uint32_t host, bool up)
{
    char words[64];

    (void)snprintf(words, sizeof words, "link set p%u %s", host, up ? "up" : "down");
    spaces_ip(SPACES_MAX, words);
}

static bool
add_space(uint32_t host)
{
    char name[32];
    char command[96];

    name_of(host, name, sizeof name);
    (void)snprintf(command, sizeof command, "ip netns add %s 2>/dev/null", name);
    return shell(command);
}

static void
del_space(uint32_t host)
{
    char name[32];
    char command[96];

    name_of(host, name, sizeof name);
    (void)snprintf(command, sizeof command, "ip netns del %s", name);
    insist(shell(command), command);
}

static void
add_addresses(uint32_t host, spaces_families families)
{
    char words[128];

    if (families == SPACES_SIX) {
        spaces_ip(host, "addr del 127.0.0.1/8 dev lo");
    } else {
        (void)snprintf(words, sizeof words, "addr add 10.77.0.%u/24 dev e0", host + 1);
        spaces_ip(host, words);
    }
    if (families == SPACES_FOUR) {
        char name[32];
        name_of(host, name, sizeof name);
        (void)snprintf(words, sizeof words,
                       "ip netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
                       name);
        insist(shell(words), words);
        return;
    }
    (void)snprintf(words, sizeof words, "addr add fd77::%u/64 dev e0 nodad", host + 1);
    spaces_ip(host, words);
    (void)snprintf(words, sizeof words, "addr add fe80::77:%u/64 dev e0 nodad",
                   host + 1);
    spaces_ip(host, words);
}

static void
add_host(uint32_t host, spaces_families families)
{
    char words[128];
    char name[32];

    name_of(SPACES_MAX, name, sizeof name);
    (void)snprintf(words, sizeof words, "link add e0 type veth peer name p%u netns %s",
                   host, name);
    spaces_ip(host, words);
    (void)snprintf(words, sizeof words, "link set p%u master br0", host);
    spaces_ip(SPACES_MAX, words);
    spaces_ip(host, "link set lo up");
    spaces_ip(host, "link set e0 up");
    spaces_link(host, true);
    add_addresses(host, families);
}

bool
spaces_open(uint32_t count, spaces_families families, spaces *made)
{
    char path[64] = "/run/netns/";

    if (!add_space(SPACES_MAX)) {
        return false;
    }
    made->count = count;
    spaces_ip(SPACES_MAX, "link add br0 type bridge forward_delay 0");
    spaces_ip(SPACES_MAX, "link set br0 up");
    for (uint32_t host = 0; host < count; host++) {
        insist(add_space(host), "ip netns add");
        add_host(host, families);
        name_of(host, path + 11, sizeof path - 11);
        made->fds[host] = open(path, O_RDONLY | O_CLOEXEC);
        insist(made->fds[host] >= 0, path);
    }
    return true;
}

void
spaces_close(spaces *made)
{
    for (uint32_t host = 0; host < made->count; host++) {
        (void)close(made->fds[host]);
        del_space(host);
    }
    del_space(SPACES_MAX);
}

void
space_enter(int fd, const char *hosts)
{
    char path[] = "/tmp/rondo-hosts-XXXXXX";

    insist(setns(fd, CLONE_NEWNET) == 0, "setns");
    if (hosts == NULL) {
        return;
    }
    const int file = mkostemp(path, O_CLOEXEC);
    insist(file >= 0, "mkostemp");
    insist(write(file, hosts, strlen(hosts)) == (ssize_t)strlen(hosts), "write");
    insist(fchmod(file, 0644) == 0, "fchmod");
    (void)close(file);
    insist(unshare(CLONE_NEWNS) == 0, "unshare");
    insist(mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0, "mount /");
    insist(mount(path, "/etc/hosts", "none", MS_BIND, NULL) == 0, "mount /etc/hosts");
    (void)unlink(path);
}

int
space_own(void)
{
    const int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

    insist(fd >= 0, "the own namespace");
    return fd;
}
