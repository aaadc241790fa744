/*
 * ucx_wire.c - latency and bandwidth of the wire between two processes, to be held
 * beside ucx_perftest. On one host:
 *   ucx_wire -d eth0 -t tcp -m latency -s 8
 * and on the other the same with the first one's address behind it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transport/ucx/wire.h"

#define WINDOW 64

typedef struct options {
    const char *devices;
    const char *transports;
    const char *port;
    const char *mode;
    const char *module;
    size_t window;    /* parcels on their way, at most WINDOW */
    const char *peer; /* null: the side that listens */
    size_t bytes;
    uint64_t rounds;
    bool sleeps;
} options;

typedef struct bench {
    const options *options;
    const rondo_wire_ops *ops;
    rondo_wire *wire;
    rondo_wire_link *link;
    uint64_t arrived; /* parcels with data */
    uint64_t credits; /* parcels the peer has taken */
    bool lost;
} bench;

static void
give_up(const char *what)
{
    fprintf(stderr, "ucx_wire: %s\n", what);
    exit(1);
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Headers say 'd' for data and 'c' for a credit of half a window. */
static bool
arrived(void *user, const void *header, size_t header_bytes, const void *data,
        size_t bytes, void *parcel)
{
    bench *b = user;
    (void)data;
    (void)bytes;
    (void)parcel;
    if (header_bytes == 8 && *(const char *)header == 'c') {
        b->credits += b->options->window / 2;
    } else {
        b->arrived++;
    }
    return false;
}

static void
lost(void *user, void *link_user, const char *why)
{
    (void)link_user;
    fprintf(stderr, "ucx_wire: the link is lost: %s\n", why);
    ((bench *)user)->lost = true;
}

static void
pump(bench *b)
{
    if (b->ops->progress(b->wire) != 0) {
        return;
    }
    /* Only now: what came before the loss has been looked at. */
    if (b->lost) {
        exit(1);
    }
    if (b->options->sleeps && b->ops->arm(b->wire)) {
        struct pollfd fd = {.fd = b->ops->event_fd(b->wire), .events = POLLIN};
        (void)poll(&fd, 1, 1000);
    }
}

static void
send_and_wait(bench *b, rondo_wire_parcel *parcel)
{
    b->ops->send(b->wire, b->link, parcel);
    while (!parcel->done) {
        pump(b);
    }
}

/* --- the meeting ------------------------------------------------------------------ */

static int
meet(const options *o)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = o->peer == NULL ? AI_PASSIVE : 0};
    struct addrinfo *found = NULL;
    if (getaddrinfo(o->peer, o->port, &hints, &found) != 0) {
        give_up("no such address");
    }
    const double until = now() + 20;
    for (;;) {
        const int fd = socket(found->ai_family, SOCK_STREAM, 0);
        const int yes = 1;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (o->peer != NULL) {
            if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
                freeaddrinfo(found);
                return fd;
            }
        } else if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                   listen(fd, 1) == 0) {
            struct pollfd wait = {.fd = fd, .events = POLLIN};
            const int peer = poll(&wait, 1, 20000) == 1 ? accept(fd, NULL, NULL) : -1;
            if (peer < 0) {
                give_up("nobody came");
            }
            close(fd);
            freeaddrinfo(found);
            return peer;
        }
        close(fd);
        if (now() > until) {
            give_up("nobody to meet");
        }
        usleep(50000);
    }
}

static void
connect_link(bench *b)
{
    char why[256];
    unsigned char mine[RONDO_WIRE_ADDRESS_MAX] = {0};
    unsigned char theirs[RONDO_WIRE_ADDRESS_MAX] = {0};
    size_t bytes = sizeof(mine);
    if (b->ops->address(b->wire, mine, &bytes, why, sizeof(why)) != 0) {
        give_up(why);
    }
    const int fd = meet(b->options);
    if (send(fd, mine, sizeof(mine), 0) != (ssize_t)sizeof(mine) ||
        recv(fd, theirs, sizeof(theirs), MSG_WAITALL) != (ssize_t)sizeof(theirs)) {
        give_up("the meeting failed");
    }
    close(fd);
    if (b->ops->connect(b->wire, theirs, sizeof(theirs), b, &b->link, why,
                        sizeof(why)) != 0) {
        give_up(why);
    }
}

/* --- what is measured ------------------------------------------------------------- */

static void
latency_round(bench *b, rondo_wire_parcel *parcel, bool first)
{
    const uint64_t want = b->arrived + 1;
    if (first) {
        send_and_wait(b, parcel);
    }
    while (b->arrived < want) {
        pump(b);
    }
    if (!first) {
        send_and_wait(b, parcel);
    }
}

static void
latency(bench *b, char *data)
{
    const char header[8] = "d";
    rondo_wire_parcel parcel = {.header = header,
                                .header_bytes = sizeof(header),
                                .data = data,
                                .bytes = b->options->bytes};
    const bool first = b->options->peer != NULL;
    for (uint64_t k = 0; k < b->options->rounds / 10 + 1; k++) {
        latency_round(b, &parcel, first);
    }
    const double begin = now();
    for (uint64_t k = 0; k < b->options->rounds; k++) {
        latency_round(b, &parcel, first);
    }
    printf("latency %zu B: %.2f us\n", b->options->bytes,
           (now() - begin) * 1e6 / 2 / (double)b->options->rounds);
}

/* Credits go back for every half window that has come. */
static void
give_credits(bench *b, uint64_t *given)
{
    static const char header[8] = "c";
    static rondo_wire_parcel credit = {
        .header = header, .header_bytes = sizeof(header), .done = true};
    const uint64_t half = b->options->window / 2;
    while (b->arrived - *given >= half && credit.done) {
        b->ops->send(b->wire, b->link, &credit);
        *given += half;
    }
}

static void
bandwidth(bench *b, char *data, bool sends, bool receives)
{
    static rondo_wire_parcel parcels[WINDOW];
    const char header[8] = "d";
    const size_t window = b->options->window;
    const uint64_t rounds = (b->options->rounds + window - 1) / window * window;
    const uint64_t came_before = b->arrived;
    uint64_t sent = 0;
    uint64_t given = came_before;
    b->credits = 0;
    for (size_t k = 0; k < window; k++) {
        parcels[k] = (rondo_wire_parcel){.header = header,
                                         .header_bytes = sizeof(header),
                                         .data = data + k * b->options->bytes,
                                         .bytes = b->options->bytes,
                                         .done = true};
    }
    const double begin = now();
    while ((sends && b->credits < rounds) ||
           (receives && b->arrived - came_before < rounds)) {
        rondo_wire_parcel *next = &parcels[sent % window];
        if (sends && sent < rounds && sent - b->credits < window && next->done) {
            b->ops->send(b->wire, b->link, next);
            sent++;
            if (sent % 4 != 0) {
                continue;
            }
        }
        pump(b);
        give_credits(b, &given);
    }
    const double took = now() - begin;
    printf("bandwidth %zu B%s: %.1f MB/s\n", b->options->bytes,
           sends && receives ? " both ways" : "",
           (double)(rounds * b->options->bytes) / took / 1e6);
}

static options
read_options(int argc, char **argv)
{
    options o = {.devices = "lo",
                 .transports = "tcp",
                 .port = "29511",
                 .mode = "latency",
                 .bytes = 8,
                 .window = WINDOW,
                 .rounds = 20000};
    for (int letter; (letter = getopt(argc, argv, "d:t:p:m:l:s:n:k:w")) != -1;) {
        switch (letter) {
        case 'd':
            o.devices = optarg;
            break;
        case 't':
            o.transports = optarg;
            break;
        case 'p':
            o.port = optarg;
            break;
        case 'm':
            o.mode = optarg;
            break;
        case 'l':
            o.module = optarg;
            break;
        case 's':
            o.bytes = strtoul(optarg, NULL, 10);
            break;
        case 'n':
            o.rounds = strtoul(optarg, NULL, 10);
            break;
        case 'k':
            o.window = strtoul(optarg, NULL, 10);
            break;
        case 'w':
            o.sleeps = true;
            break;
        default:
            give_up("[-d DEVICES] [-t TRANSPORTS] [-p PORT] [-l MODULE] [-s BYTES] "
                    "[-n ROUNDS] [-k WINDOW] [-w (sleep)] [-m latency|bandwidth|both] "
                    "[PEER]");
        }
    }
    if (o.window < 2 || o.window > WINDOW || o.window % 2 != 0) {
        give_up("the window is even, 2 to 64");
    }
    o.peer = optind < argc ? argv[optind] : NULL;
    return o;
}

static const rondo_wire_ops *
load(const char *module)
{
    char beside[4096];
    if (module == NULL) {
        const ssize_t n = readlink("/proc/self/exe", beside, sizeof(beside) - 64);
        beside[n < 0 ? 0 : n] = '\0';
        char *slash = strrchr(beside, '/');
        if (slash == NULL) {
            give_up("no path of this program");
        }
        (void)snprintf(slash, 64, "/../lib/librondo_ucx.so");
        module = beside;
    }
    void *library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        give_up(dlerror());
    }
    rondo_wire_ops_function function;
    *(void **)&function = dlsym(library, RONDO_WIRE_SYMBOL);
    if (function == NULL || function()->version != RONDO_WIRE_OPS_VERSION) {
        give_up("this is no module of ours, or another version");
    }
    return function();
}

int
main(int argc, char **argv)
{
    const options o = read_options(argc, argv);
    bench b = {.options = &o, .ops = load(o.module)};
    char why[256];
    const rondo_wire_setup setup = {.devices = o.devices,
                                    .transports = o.transports,
                                    .peers = 2,
                                    .arrived = arrived,
                                    .lost = lost,
                                    .user = &b};
    if (b.ops->open(&setup, &b.wire, why, sizeof(why)) != 0) {
        give_up(why);
    }
    if (o.bytes > b.ops->parcel_bytes(b.wire)) {
        give_up("a parcel is not that long");
    }
    connect_link(&b);
    char *data = calloc(WINDOW, o.bytes + 1);
    if (data == NULL) {
        give_up("no memory");
    }
    if (strcmp(o.mode, "latency") == 0) {
        latency(&b, data);
    } else {
        const bool both = strcmp(o.mode, "both") == 0;
        bandwidth(&b, data, both || o.peer != NULL, both || o.peer == NULL);
    }
    while (!b.ops->flushed(b.wire, b.link)) {
        (void)b.ops->progress(b.wire);
    }
    b.ops->close(b.wire);
    free(data);
    return 0;
}
