/* guest.c - into the guest with two RDMA devices, and what its kernel counts there. */
#include "lib/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define INSIDE  "RONDO_GUEST"
#define NO_VM   125
#define TIME_UP 124
#define SKIPPED 77

bool
guest_inside(void)
{
    return getenv(INSIDE) != NULL;
}

/* Status of a command; NO_VM if it did not even start. */
static int
run(char *const *command)
{
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        (void)execv(command[0], command);
        _exit(NO_VM);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return NO_VM;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int
guest_boot(const char *program, uint32_t seconds)
{
    const char *const source = getenv("RONDO_SOURCE");
    const char *const build = getenv("RONDO_BUILD");
    char vm[512];
    char cache[512];
    char limit[32];
    char prepare[] = "--prepare";
    char cache_option[] = "--cache";
    char limit_option[] = "--timeout";
    char env_option[] = "--env";
    char inside[] = INSIDE "=1";
    char rest[] = "--";
    char itself[512];

    if (source == NULL || build == NULL) {
        (void)printf("skipped: RONDO_SOURCE and RONDO_BUILD are not set (see ctest)\n");
        return SKIPPED;
    }
    (void)snprintf(vm, sizeof vm, "%s/tests/rdma/vm", source);
    (void)snprintf(cache, sizeof cache, "%s/rdma-vm", build);
    (void)snprintf(limit, sizeof limit, "%u", seconds);
    (void)snprintf(itself, sizeof itself, "%s", program);
    char *const first[] = {vm, cache_option, cache, prepare, NULL};
    char *const second[] = {vm,         cache_option, cache, limit_option, limit,
                            env_option, inside,       rest,  itself,       NULL};
    if (run(first) != 0) {
        (void)printf("skipped: no virtual machine with RDMA devices (reason above)\n");
        return SKIPPED;
    }
    const int status = run(second);
    return status == NO_VM || status == TIME_UP ? 1 : status;
}

void
guest_host(bool b)
{
    (void)setenv("RONDO_HOST_ID", b ? "b" : "a", 1);
    (void)setenv("RONDO_RDMA", b ? "rxe2:1" : "rxe1:1", 1);
    (void)setenv("RONDO_INTERFACE", b ? "veth2" : "veth1", 1);
    (void)setenv("MASTER_ADDR", "10.99.0.1", 1);
}

/* --- counters --------------------------------------------------------------------- */

/* A counter of a device. */
static uint64_t
counter(uint32_t device, const char *name)
{
    char path[128];
    char text[64] = "";

    (void)snprintf(path, sizeof path,
                   "/sys/class/infiniband/rxe%u/ports/1/hw_counters/%s", device, name);
    FILE *const file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        fail_msg("%s cannot be read", path);
    }
    (void)fclose(file);
    return strtoull(text, NULL, 10);
}

/* OutSegs: the 11th number of the second line that begins with "Tcp:". */
static uint64_t
tcp_segments(void)
{
    char line[1024];
    FILE *const file = fopen("/proc/net/snmp", "r");
    uint64_t segments = UINT64_MAX;
    uint32_t lines = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Tcp: ", 5) != 0 || ++lines < 2) {
            continue;
        }
        char *at = line + 5;
        for (uint32_t field = 0; field < 11; field++) {
            segments = (uint64_t)strtoll(at, &at, 10);
        }
        break;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    assert_true(segments != UINT64_MAX);
    return segments;
}

guest_traffic
guest_traffic_now(void)
{
    guest_traffic now = {.tcp_segments = tcp_segments()};

    for (uint32_t device = 1; device <= 2; device++) {
        now.rdma_packets += counter(device, "sent_pkts");
        now.rdma_sends += counter(device, "rdma_sends");
    }
    return now;
}
