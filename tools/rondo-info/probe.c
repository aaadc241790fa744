/* probe.c - tries to reach a host from every usable interface at once. */
#include "info.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"

#define PROBE_NS  (UINT64_C(2) * 1000 * RONDO_NS_PER_MS)
#define NAME_SECS 5

/* A port that has a listener on many hosts; a refusal is as good an answer. */
#define USUAL_PORT 22

/* Shared with the thread that asks for the name. It may outlive the wait, and then is
 * left to the end of the program. */
typedef struct question {
    char host[112];
    char port[8];
    int code;
    struct addrinfo *answer;
} question;

static void *
ask(void *argument)
{
    question *const asked = argument;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    asked->code = getaddrinfo(asked->host, asked->port, &hints, &asked->answer);
    return NULL;
}

/* The addresses of a name, or null: a name server that does not answer must not hold us
 * for the half minute the resolver would wait. */
static struct addrinfo *
find_addresses(const char *host, uint32_t port, info_decided *decided)
{
    pthread_t thread;
    struct timespec until;
    question *const asked = calloc(1, sizeof *asked);

    if (asked == NULL) {
        info_problem(decided, "out of memory");
        return NULL;
    }
    (void)snprintf(asked->host, sizeof asked->host, "%s", host);
    (void)snprintf(asked->port, sizeof asked->port, "%u", port);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += NAME_SECS;
    if (pthread_create(&thread, NULL, ask, asked) != 0) {
        info_problem(decided, "the system refuses a thread");
        free(asked);
        return NULL;
    }
    if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
        (void)pthread_detach(thread);
        info_problem(decided, "the name %s: no answer within %d s", host, NAME_SECS);
        return NULL;
    }
    struct addrinfo *const answer = asked->code == 0 ? asked->answer : NULL;
    if (asked->code != 0) {
        info_problem(decided, "the name %s: %s", host, gai_strerror(asked->code));
    }
    free(asked);
    return answer;
}

typedef union endpoint {
    struct sockaddr head;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} endpoint;

static socklen_t
source_of(const rondo_interface *interface, endpoint *source)
{
    memset(source, 0, sizeof *source);
    if (interface->family == 4) {
        source->four.sin_family = AF_INET;
        memcpy(&source->four.sin_addr, interface->address, 4);
        return sizeof source->four;
    }
    source->six.sin6_family = AF_INET6;
    memcpy(&source->six.sin6_addr, interface->address, 16);
    return sizeof source->six;
}

static void
settle(info_probe *probe, int number, uint64_t start_ns)
{
    probe->ms = (double)(rondo_now_ns() - start_ns) * 1e-6;
    probe->reached = number == 0 || number == ECONNREFUSED;
    (void)snprintf(probe->words, sizeof probe->words, "%s",
                   number == 0              ? "it answers"
                   : number == ECONNREFUSED ? "it answers, though nobody listens there"
                                            : strerror(number));
}

/* Starts one connection; its descriptor, or -1 when it is settled already. */
static int
start(const rondo_interface *interface, const struct addrinfo *target,
      info_probe *probe, uint64_t start_ns)
{
    endpoint source;
    const socklen_t bytes = source_of(interface, &source);
    const int fd =
        socket(target->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        settle(probe, errno, start_ns);
        return -1;
    }
    if (bind(fd, &source.head, bytes) == 0 &&
        (connect(fd, target->ai_addr, target->ai_addrlen) == 0 ||
         errno == EINPROGRESS)) {
        return fd;
    }
    settle(probe, errno, start_ns);
    (void)close(fd);
    return -1;
}

static void
take_target(const struct addrinfo *target, info_probe *probe)
{
    if (target->ai_family == AF_INET) {
        const struct sockaddr_in *const four = (const void *)target->ai_addr;

        probe->family = 4;
        memcpy(probe->target, &four->sin_addr, 4);
        return;
    }
    const struct sockaddr_in6 *const six = (const void *)target->ai_addr;

    probe->family = 6;
    memcpy(probe->target, &six->sin6_addr, 16);
}

static void
start_all(const struct addrinfo *targets, uint64_t start_ns, struct pollfd *polls,
          info_decided *decided)
{
    for (uint32_t i = 0; i < decided->network.nusable; i++) {
        const rondo_interface *const interface = &decided->network.interfaces[i];
        const int family = interface->family == 4 ? AF_INET : AF_INET6;

        for (const struct addrinfo *one = targets; one != NULL; one = one->ai_next) {
            if (one->ai_family != family || decided->nprobes == INFO_PROBES_MAX) {
                continue;
            }
            info_probe *const probe = &decided->probes[decided->nprobes];
            probe->interface = i;
            take_target(one, probe);
            polls[decided->nprobes].fd = start(interface, one, probe, start_ns);
            polls[decided->nprobes].events = POLLOUT;
            decided->nprobes++;
        }
    }
}

/* Takes what poll has found; how many are still under way. */
static uint32_t
take_answers(uint64_t start_ns, struct pollfd *polls, info_decided *decided)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < decided->nprobes; i++) {
        int number = 0;
        socklen_t bytes = sizeof number;

        if (polls[i].fd < 0) {
            continue;
        }
        if (polls[i].revents == 0) {
            waiting++;
            continue;
        }
        if (getsockopt(polls[i].fd, SOL_SOCKET, SO_ERROR, &number, &bytes) != 0) {
            number = errno;
        }
        settle(&decided->probes[i], number, start_ns);
        (void)close(polls[i].fd);
        polls[i].fd = -1;
    }
    return waiting;
}

static void
give_up(struct pollfd *polls, info_decided *decided)
{
    for (uint32_t i = 0; i < decided->nprobes; i++) {
        if (polls[i].fd < 0) {
            continue;
        }
        (void)snprintf(decided->probes[i].words, sizeof decided->probes[i].words,
                       "no answer within 2 s");
        decided->probes[i].ms = (double)PROBE_NS * 1e-6;
        (void)close(polls[i].fd);
    }
}

void
info_probe_all(const info_options *options, info_decided *decided)
{
    struct pollfd polls[INFO_PROBES_MAX];
    uint64_t port = options->port;

    if (port == 0 &&
        rondo_config_number(RONDO_CONFIG_MASTER_PORT, 1, 65535, &port) != RONDO_OK) {
        port = USUAL_PORT;
    }
    (void)snprintf(decided->target, sizeof decided->target, "%s port %u", options->host,
                   (uint32_t)port);
    decided->probed = true;
    struct addrinfo *const targets =
        find_addresses(options->host, (uint32_t)port, decided);
    const uint64_t start_ns = rondo_now_ns();
    memset(polls, 0, sizeof polls);
    start_all(targets, start_ns, polls, decided);
    while (take_answers(start_ns, polls, decided) > 0) {
        const uint64_t spent_ns = rondo_now_ns() - start_ns;

        if (spent_ns >= PROBE_NS) {
            break;
        }
        const uint64_t left_ms = (PROBE_NS - spent_ns) / RONDO_NS_PER_MS;
        if (poll(polls, decided->nprobes, (int)left_ms + 1) < 0 && errno != EINTR) {
            break;
        }
    }
    give_up(polls, decided);
    if (targets != NULL) {
        freeaddrinfo(targets);
    }
}
