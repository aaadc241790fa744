/* peers.c - starting, ordering about and ending peer processes. */
#include "lib/peers.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
/* Peers are forked from processes with threads and start threads of their own, which
 * the sanitizer otherwise refuses. */
const char *
__tsan_default_options(void);

const char *
__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

static void
insist(bool fact, const char *what)
{
    if (!fact) {
        (void)fprintf(stderr, "peers: %s failed: %s\n", what, strerror(errno));
        _exit(99);
    }
}

/* Whether every other thread of this process sleeps in the kernel's epoll or futex. */
static bool
others_sleep(void)
{
    bool asleep = true;
    DIR *const folder = opendir("/proc/self/task");

    insist(folder != NULL, "opendir");
    for (struct dirent *at = readdir(folder); at != NULL; at = readdir(folder)) {
        char path[300];
        long call = -1;
        if (at->d_name[0] == '.' || atoi(at->d_name) == gettid()) {
            continue;
        }
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/syscall", at->d_name);
        FILE *const file = fopen(path, "re");
        if (file == NULL) {
            continue; /* ended */
        }
        asleep =
            fscanf(file, "%ld", &call) == 1 &&
            (call == SYS_epoll_wait || call == SYS_epoll_pwait || call == SYS_futex) &&
            asleep;
        (void)fclose(file);
    }
    (void)closedir(folder);
    return asleep;
}

/* Forks while no other thread can be in the midst of an allocation: gcc 12's address
 * sanitizer does not hold its allocator's locks over a fork, and a child that gets one
 * taken waits for it for ever. */
static pid_t
fork_calmly(void)
{
    for (uint32_t i = 0; i < 5000 && !others_sleep(); i++) {
        (void)usleep(1000);
    }
    return fork();
}

static void
run_peer(peer_body body, peer *test)
{
    rondo_service *service = NULL;
    rondo_address address;

    insist(rondo_service_acquire(&service) == RONDO_OK, "acquire");
    rondo_service_address(service, &address);
    insist(write(test->to, &address, sizeof address) == (ssize_t)sizeof address,
           "write");
    const int status = body(service, test);
    rondo_service_release(service);
    _exit(status);
}

void
peer_start(peer_body body, void *user, peer *started)
{
    int there[2];
    int back[2];

    insist(pipe(there) == 0 && pipe(back) == 0, "pipe");
    const pid_t pid = fork_calmly();
    insist(pid >= 0, "fork");
    if (pid == 0) {
        peer test = {.from = there[0], .to = back[1], .user = user};
        (void)close(there[1]);
        (void)close(back[0]);
        run_peer(body, &test);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    *started = (peer){.pid = pid, .from = back[0], .to = there[1], .user = user};
    insist(read(started->from, &started->address, sizeof started->address) ==
               (ssize_t)sizeof started->address,
           "read");
}

int
peer_idle(rondo_service *service, peer *test)
{
    (void)service;
    return peer_hear(test) == 0 ? 0 : 1;
}

void
peer_say(const peer *to, char word)
{
    insist(write(to->to, &word, 1) == 1, "say");
}

char
peer_hear(const peer *from)
{
    char word = 0;
    ssize_t got = 0;

    do {
        got = read(from->from, &word, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1 ? word : 0;
}

void
peer_signal(const peer *to, int number)
{
    int how = 0;

    insist(kill(to->pid, number) == 0, "kill");
    if (number == SIGSTOP) {
        insist(waitpid(to->pid, &how, WUNTRACED) == to->pid && WIFSTOPPED(how), "stop");
    }
}

int
peer_join(peer *joined)
{
    int how = 0;

    (void)close(joined->to);
    insist(waitpid(joined->pid, &how, 0) == joined->pid, "waitpid");
    (void)close(joined->from);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

void
peer_end(peer *ended)
{
    (void)kill(ended->pid, SIGKILL);
    (void)peer_join(ended);
}

static uint32_t
entries(const char *path)
{
    uint32_t count = 0;
    DIR *const folder = opendir(path);

    insist(folder != NULL, "opendir");
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

uint32_t
descriptors_open(void)
{
    return entries("/proc/self/fd");
}

uint32_t
threads_alive(void)
{
    return entries("/proc/self/task");
}

uint32_t
shared_maps(void)
{
    char line[512];
    uint32_t count = 0;
    FILE *const file = fopen("/proc/self/maps", "re");

    insist(file != NULL, "maps");
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, "memfd:rondo") != NULL;
    }
    (void)fclose(file);
    return count;
}
