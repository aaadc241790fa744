/* transport_ucx.c - what the transport between hosts reaches between two processes:
 * `transport_ucx DEVICES [TRANSPORTS]`, such as "lo tcp". */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/ucx/ucx.h"

#define ROUNDS     15
#define BYTES_MAX  ((uint64_t)16 << 20)
#define GIVE_UP_NS (120 * RONDO_NS_PER_S)

/* Where the two lay out their addresses. */
struct board {
    struct {
        _Atomic uint64_t bytes;
        unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    } of[2];
};

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
    (void)fprintf(stderr, "transport_ucx: %s: %s\n", what, rondo_error_text());
    exit(1);
}

/* Called in polling loops, so it looks at the clock now and then only. */
static void
keep_waiting(const struct side *side, uint64_t *polls)
{
    if (++*polls % 4096 == 0 && rondo_now_ns() > side->give_up_ns) {
        give_up("the other process does not answer");
    }
}

static bool
send_step(const struct side *side, rondo_outgoing *message)
{
    const rondo_status status = side->transport->ops->send(side->transport, side->peer,
                                                           RONDO_LANE_COLL, message);

    if (status < 0) {
        give_up("send failed");
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
    if (status != RONDO_OK) {
        give_up("peek failed");
    }
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

    return times < 2000 ? times : 2000;
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

/* Median and best of the rounds. */
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
measure_all(const struct side *side)
{
    for (uint64_t bytes = 8; bytes <= BYTES_MAX / 2; bytes *= 4) {
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

static bool
find(void *user, uint32_t rank, void *address, size_t *bytes)
{
    struct board *const board = user;
    const uint64_t length = atomic_load(&board->of[rank].bytes);

    memcpy(address, board->of[rank].address, length);
    *bytes = length;
    return length > 0;
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
be(uint32_t me, const rondo_ucx_spec *spec, struct board *board)
{
    struct side side = {.peer = 1 - me,
                        .data = aligned_alloc(64, BYTES_MAX),
                        .give_up_ns = rondo_now_ns() + GIVE_UP_NS};
    rondo_ucx_setup setup = {
        .comm = 1, .me = me, .nranks = 2, .find = find, .user = board};
    size_t bytes = 0;

    pin(me);
    if (side.data == NULL || rondo_ucx_open(spec, &setup.ucx) != RONDO_OK ||
        rondo_ucx_create(&setup, &side.transport) != RONDO_OK ||
        rondo_ucx_address(setup.ucx, board->of[me].address, &bytes) != RONDO_OK) {
        give_up("no wire");
    }
    memset(side.data, 1, BYTES_MAX);
    atomic_store(&board->of[me].bytes, bytes);
    measure_all(&side);
    rondo_ucx_flush(side.transport, RONDO_NS_PER_S);
    side.transport->ops->destroy(side.transport);
    rondo_ucx_close(setup.ucx);
    free(side.data);
}

int
main(int argc, char **argv)
{
    rondo_ucx_spec spec = {.devices = "lo", .transports = "tcp"};
    const char *const module = getenv("RONDO_UCX_MODULE");
    struct board *const board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ended = 0;

    if (argc > 1) {
        (void)snprintf(spec.devices, sizeof spec.devices, "%s", argv[1]);
    }
    if (argc > 2) {
        (void)snprintf(spec.transports, sizeof spec.transports, "%s", argv[2]);
    }
    (void)snprintf(spec.module, sizeof spec.module, "%s", module == NULL ? "" : module);
    if (board == MAP_FAILED) {
        give_up("no memory");
    }
    printf("# microseconds: median and best; GB/s one way at best\n");
    printf("#%8s %21s %21s %21s %8s\n", "bytes", "exchange", "half a round trip",
           "one way", "GB/s");
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        be(1, &spec, board);
        _exit(0);
    }
    be(0, &spec, board);
    return waitpid(child, &ended, 0) == child && ended == 0 ? 0 : 1;
}
