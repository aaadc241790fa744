/* transport_shm.c - what the shared-memory transport reaches between two processes. */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "transport/shm/shm.h"

#define ROUNDS     25
#define BYTES_MAX  ((uint64_t)16 << 20)
#define GIVE_UP_NS (60 * RONDO_NS_PER_S)

/* One process's view. */
struct side {
    rondo_transport *transport;
    uint32_t peer;
    unsigned char *data; /* BYTES_MAX */
    uint64_t give_up_ns;
};

static void
give_up(const char *what)
{
    (void)fprintf(stderr, "transport_shm: %s\n", what);
    exit(1);
}

/* Called in polling loops, so it looks at the clock now and then only. */
static void
keep_waiting(const struct side *side, uint64_t *polls)
{
    if (++*polls % 4096 == 0) {
        if (rondo_now_ns() > side->give_up_ns) {
            give_up("the other process does not answer");
        }
        (void)sched_yield();
    }
}

static void
check(rondo_status status, const char *what)
{
    if (status != RONDO_OK) {
        give_up(what);
    }
}

static bool
send_step(const struct side *side, rondo_outgoing *message)
{
    const rondo_status status = side->transport->ops->send(side->transport, side->peer,
                                                           RONDO_LANE_COLL, message);

    if (status != RONDO_BUSY) {
        check(status, "send failed");
    }
    return status == RONDO_OK;
}

/* Take a piece if there is one; `to` moves on. True: the message is complete. */
static bool
receive_step(const struct side *side, unsigned char **to)
{
    rondo_transport *const transport = side->transport;
    rondo_incoming piece;
    const rondo_status status =
        transport->ops->peek(transport, side->peer, RONDO_LANE_COLL, &piece);

    if (status == RONDO_BUSY) {
        return false;
    }
    check(status, "peek failed");
    memcpy(*to, piece.data, piece.bytes);
    *to += piece.bytes;
    transport->ops->consume(transport, side->peer, RONDO_LANE_COLL);
    return piece.last;
}

static void
send_all(const struct side *side, uint64_t bytes)
{
    rondo_outgoing message = {.data = side->data, .bytes = bytes};
    uint64_t polls = 0;

    while (!send_step(side, &message)) {
        keep_waiting(side, &polls);
    }
}

static void
receive_all(const struct side *side)
{
    unsigned char *to = side->data + BYTES_MAX / 2;
    uint64_t polls = 0;

    while (!receive_step(side, &to)) {
        keep_waiting(side, &polls);
    }
}

/* Both at once: neither side may wait for room while it does not receive. */
static void
exchange_all(const struct side *side, uint64_t bytes)
{
    rondo_outgoing message = {.data = side->data, .bytes = bytes};
    unsigned char *to = side->data + BYTES_MAX / 2;
    bool sent = send_step(side, &message);
    bool received = false;
    uint64_t polls = 0;

    while (!sent || !received) {
        received = received || receive_step(side, &to);
        sent = sent || send_step(side, &message);
        keep_waiting(side, &polls);
    }
}

static uint64_t
times_for(uint64_t bytes)
{
    const uint64_t times = ((uint64_t)8 << 20) / bytes + 2;

    return times < 5000 ? times : 5000;
}

/* Both send, then both receive: what an all-reduce between two does. */
static double
exchange_ns(const struct side *side, uint64_t bytes)
{
    const uint64_t times = times_for(bytes);
    const uint64_t start = rondo_now_ns();

    for (uint64_t i = 0; i < times; i++) {
        exchange_all(side, bytes);
    }
    return (double)(rondo_now_ns() - start) / (double)times;
}

/* A stream one way, with an answer at the end. */
static double
one_way_ns(const struct side *side, uint64_t bytes)
{
    const uint64_t times = times_for(bytes);
    const uint64_t start = rondo_now_ns();

    for (uint64_t i = 0; i < times; i++) {
        if (side->peer == 1) {
            send_all(side, bytes);
        } else {
            receive_all(side);
        }
    }
    if (side->peer == 1) {
        receive_all(side);
    } else {
        send_all(side, 8);
    }
    return (double)(rondo_now_ns() - start) / (double)times;
}

/* There and back: half of it is the latency of one message. */
static double
ping_pong_ns(const struct side *side, uint64_t bytes)
{
    const uint64_t times = times_for(bytes);
    const uint64_t start = rondo_now_ns();

    for (uint64_t i = 0; i < times; i++) {
        if (side->peer == 1) {
            send_all(side, bytes);
            receive_all(side);
        } else {
            receive_all(side);
            send_all(side, bytes);
        }
    }
    return (double)(rondo_now_ns() - start) / (double)times;
}

static int
ascending(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;

    return (left > right) - (left < right);
}

typedef double (*measurement)(const struct side *side, uint64_t bytes);

/* Median and best of the rounds: the best tells what the machine can, even if others
 * use it meanwhile. */
struct timing {
    double median_ns;
    double best_ns;
};

static struct timing
timing_of(measurement measure, const struct side *side, uint64_t bytes)
{
    double took[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        took[round] = measure(side, bytes);
    }
    qsort(took, ROUNDS, sizeof took[0], ascending);
    return (struct timing){took[ROUNDS / 2], took[0]};
}

static void
pin(uint32_t core)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    (void)sched_setaffinity(0, sizeof cores, &cores);
}

static void
measure_all(const struct side *side)
{
    for (uint64_t bytes = 8; bytes <= BYTES_MAX / 2; bytes *= 2) {
        const struct timing exchange = timing_of(exchange_ns, side, bytes);
        const struct timing ping_pong = timing_of(ping_pong_ns, side, bytes);
        const struct timing one_way = timing_of(one_way_ns, side, bytes);
        if (side->peer == 1) {
            printf("%9llu %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %8.2f\n",
                   (unsigned long long)bytes, exchange.median_ns / 1000,
                   exchange.best_ns / 1000, ping_pong.median_ns / 2000,
                   ping_pong.best_ns / 2000, one_way.median_ns / 1000,
                   one_way.best_ns / 1000, (double)bytes / one_way.best_ns);
            (void)fflush(stdout);
        }
    }
}

static void
be(uint32_t me, const rondo_shm_layout *layout, void *memory)
{
    static const uint32_t ranks[] = {0, 1};
    const rondo_shm_setup setup = {*layout, memory, me, 2, ranks};
    struct side side = {.peer = 1 - me,
                        .data = aligned_alloc(64, BYTES_MAX),
                        .give_up_ns = rondo_now_ns() + GIVE_UP_NS};

    pin(me);
    if (side.data == NULL || rondo_shm_create(&setup, &side.transport) != RONDO_OK) {
        give_up("no memory");
    }
    memset(side.data, 1, BYTES_MAX);
    measure_all(&side);
    side.transport->ops->destroy(side.transport);
    free(side.data);
}

int
main(int count, char **arguments)
{
    const uint64_t chunk = count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
    rondo_shm_layout layout = rondo_shm_layout_default(2, chunk);

    if (count > 2) {
        layout.slots = (uint32_t)strtoul(arguments[2], NULL, 10);
    }
    void *const memory = mmap(NULL, rondo_shm_bytes(&layout), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        give_up("no shared memory");
    }
    printf("chunks of %llu bytes, %u slots, %u cells\n",
           (unsigned long long)layout.chunk_bytes, layout.slots, layout.cells);
    printf("%9s %10s %10s %10s %10s %10s %10s %8s\n", "bytes", "exchange", "best us",
           "latency", "best us", "one way", "best us", "GB/s");
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
        give_up("fork failed");
    }
    be(child == 0 ? 1 : 0, &layout, memory);
    if (child == 0) {
        return 0;
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
