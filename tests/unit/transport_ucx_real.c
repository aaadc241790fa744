/*
 * transport_ucx_real.c - the transport between hosts over UCX itself, between processes
 * that see each other by loopback.
 * ctest: label=notsan timeout=180
 */
#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "lib/ranks.h"
#include "lib/traffic.h"
#include "transport/ucx/ucx.h"

#define PATIENCE_MS 40000
#define RANKS       4
#define CYCLES      300

/* Where the ranks lay out their addresses. */
struct board {
    struct {
        _Atomic uint64_t bytes; /* 0: not there yet */
        unsigned char address[RONDO_WIRE_ADDRESS_MAX];
    } of[RANKS];
};

/* One rank's part. */
struct part {
    rank_self *self;
    struct board *board;
    rondo_ucx *ucx;
    rondo_transport *transport;
};

static rondo_ucx_spec
real_spec(void)
{
    rondo_ucx_spec spec = {.devices = "lo", .transports = "tcp"};
    const char *const folder = getenv("RONDO_LIB");

    (void)snprintf(spec.module, sizeof spec.module, "%s/librondo_ucx.so",
                   folder == NULL ? "lib" : folder);
    return spec;
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

static bool
join(rank_self *self, struct board *board, uint64_t comm, struct part *part)
{
    const rondo_ucx_spec spec = real_spec();
    size_t bytes = 0;

    *part = (struct part){.self = self, .board = board};
    if (!rank_expect_status(self, rondo_ucx_open(&spec, &part->ucx), RONDO_OK, NULL,
                            "open")) {
        return false;
    }
    const rondo_ucx_setup setup = {.ucx = part->ucx,
                                   .comm = comm,
                                   .me = self->rank,
                                   .nranks = self->nranks,
                                   .find = find,
                                   .user = board};
    rondo_status status = rondo_ucx_create(&setup, &part->transport);
    if (status == RONDO_OK) {
        status = rondo_ucx_address(part->ucx, board->of[self->rank].address, &bytes);
    }
    atomic_store(&board->of[self->rank].bytes, bytes);
    return rank_expect_status(self, status, RONDO_OK, NULL, "create");
}

static void
leave(struct part *part)
{
    rondo_ucx_flush(part->transport, 2 * RONDO_NS_PER_S);
    part->transport->ops->destroy(part->transport);
    rondo_ucx_close(part->ucx);
}

/* --- everything arrives ----------------------------------------------------------- */

static const uint64_t sizes[] = {
    8,     0,     1,       127,    128,   129,    2048,    4095,
    4096,  8,     65535,   65536,  65537, 131071, 131072,  131073,
    65472, 65600, 1000003, 200000, 16384, 64000,  5000000,
};

struct flows {
    traffic_flow of[RANKS * RONDO_LANES * 2];
    bool outward[RANKS * RONDO_LANES * 2];
    uint32_t n;
};

static void
add_flows(struct flows *flows, const struct part *part)
{
    const uint32_t nranks = part->self->nranks;
    const uint32_t me = part->self->rank;

    for (uint32_t i = 0; i < nranks * RONDO_LANES * 2; i++) {
        const uint32_t peer = i / 2 / RONDO_LANES;
        const rondo_lane lane = (rondo_lane)(i / 2 % RONDO_LANES);
        const bool outward = i % 2 == 0;
        const uint32_t from = outward ? me : peer;
        const uint32_t to = outward ? peer : me;
        if (peer == me) {
            continue;
        }
        flows->outward[flows->n] = outward;
        flows->of[flows->n] = (traffic_flow){.transport = part->transport,
                                             .peer = peer,
                                             .lane = lane,
                                             .seed = (from * nranks + to) * 3 + lane,
                                             .sizes = sizes,
                                             .nsizes = sizeof sizes / sizeof sizes[0],
                                             .nmessages = 60};
        flows->n++;
    }
}

static bool
run_flows(struct flows *flows, const struct part *part)
{
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 2);
    bool all = false;

    while (!all) {
        all = true;
        for (uint32_t i = 0; i < flows->n; i++) {
            traffic_flow *const flow = &flows->of[i];
            const rondo_status status =
                flows->outward[i] ? traffic_send(flow) : traffic_receive(flow);
            if (!rank_expect(part->self, status >= 0, "lane %d, rank %u: %s %s",
                             (int)flow->lane, flow->peer, flow->why,
                             rondo_error_text())) {
                return false;
            }
            all = all && status == RONDO_OK;
        }
        if (!rank_expect(part->self, rondo_now_ns() < deadline_ns, "too slow")) {
            return false;
        }
    }
    return true;
}

static void
exchange(rank_self *self)
{
    static struct flows flows;
    struct part part;

    if (!join(self, self->user, 42, &part)) {
        return;
    }
    add_flows(&flows, &part);
    if (run_flows(&flows, &part)) {
        rondo_ucx_flush(part.transport, 2 * RONDO_NS_PER_S);
        (void)rank_meet(self, 1, PATIENCE_MS);
    }
    rank_expect(self, rondo_ucx_dropped(part.ucx) == 0, "parcels were dropped");
    leave(&part);
}

static void
everything_arrives(void **state)
{
    (void)state;
    for (uint32_t nranks = 2; nranks <= RANKS; nranks++) {
        run_ranks(nranks, AS_PROCESSES, exchange, test_shared(sizeof(struct board)),
                  PATIENCE_MS);
    }
}

/* --- active messages -------------------------------------------------------------- */

static bool
count(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
      const void *payload, size_t payload_bytes, void *user)
{
    uint64_t *const counts = user;
    const unsigned char *const bytes = payload;

    (void)from;
    (void)header;
    if (counts[1] == 0 && counts[0] % 7 == 3) {
        counts[1] = 1; /* refused once */
        return false;
    }
    counts[1] = 0;
    counts[2] +=
        channel != counts[0] % 3 || header_bytes != 8 ||
        payload_bytes != counts[0] * 997 % 100000 ||
        (payload_bytes > 0 && bytes[payload_bytes - 1] != (unsigned char)counts[0]);
    counts[0]++;
    return true;
}

static void
send_messages(const struct part *part, uint64_t n)
{
    static unsigned char data[100000];
    rondo_transport *const transport = part->transport;
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 2);

    for (uint64_t i = 0; i < n;) {
        memset(data, (int)i, sizeof data);
        const rondo_am message = {.channel = (uint32_t)(i % 3),
                                  .header = &i,
                                  .header_bytes = 8,
                                  .payload = data,
                                  .payload_bytes = i * 997 % 100000};
        const rondo_status status = transport->ops->am_send(transport, 1, &message);
        i += status == RONDO_OK;
        if (!rank_expect(part->self, status >= 0 && rondo_now_ns() < deadline_ns,
                         "message %llu: %s", (unsigned long long)i,
                         rondo_error_text())) {
            return;
        }
    }
    rondo_ucx_flush(transport, PATIENCE_MS / 2 * RONDO_NS_PER_MS);
}

static void
messages(rank_self *self)
{
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 2);
    uint64_t counts[3] = {0};
    struct part part;

    if (!join(self, self->user, 43, &part)) {
        return;
    }
    if (self->rank == 0) {
        send_messages(&part, 500);
    }
    while (self->rank == 1 && counts[0] < 500) {
        const rondo_status status =
            part.transport->ops->am_poll(part.transport, 0, count, counts);
        if (!rank_expect_status(self, status, RONDO_OK, NULL, "poll") ||
            !rank_expect(self, rondo_now_ns() < deadline_ns, "%llu have come",
                         (unsigned long long)counts[0])) {
            break;
        }
    }
    rank_expect(self, counts[2] == 0, "%llu messages were not what they should be",
                (unsigned long long)counts[2]);
    (void)rank_meet(self, 1, PATIENCE_MS);
    leave(&part);
}

static void
messages_arrive(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, messages, test_shared(sizeof(struct board)),
              PATIENCE_MS);
}

/* --- sleeping --------------------------------------------------------------------- */

/* 0 sends now and then; 1 sleeps on the descriptor and must not miss one. */
static void
sleep_and_wake(rank_self *self)
{
    struct part part;

    if (!join(self, self->user, 44, &part)) {
        return;
    }
    rondo_transport *const transport = part.transport;
    struct pollfd fd = {.fd = rondo_ucx_event_fd(part.ucx), .events = POLLIN};
    rank_expect(self, fd.fd >= 0, "there is no descriptor");
    for (uint64_t i = 0; i < 40; i++) {
        rondo_outgoing message = {.data = &i, .bytes = 8, .token = i};
        rondo_incoming piece;
        const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 4);
        while (self->rank == 0 && transport->ops->send(transport, 1, RONDO_LANE_PAIR,
                                                       &message) == RONDO_BUSY) {
            if (!rank_expect(self, rondo_now_ns() < deadline_ns, "not sent")) {
                return;
            }
        }
        if (self->rank == 0) {
            rank_pause(i % 5);
            continue;
        }
        while (transport->ops->peek(transport, 0, RONDO_LANE_PAIR, &piece) ==
               RONDO_BUSY) {
            if (rondo_ucx_arm(part.ucx)) {
                const int ready = poll(&fd, 1, PATIENCE_MS / 4);
                rank_expect(self, ready == 1, "message %llu did not wake",
                            (unsigned long long)i);
            }
        }
        rank_expect(self, piece.token == i, "another message");
        transport->ops->consume(transport, 0, RONDO_LANE_PAIR);
    }
    (void)rank_meet(self, 1, PATIENCE_MS);
    leave(&part);
}

static void
the_descriptor_wakes(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, sleep_and_wake, test_shared(sizeof(struct board)),
              PATIENCE_MS);
}

/* --- a peer that dies ------------------------------------------------------------- */

static void
lose_a_peer(rank_self *self)
{
    static unsigned char data[3000000];
    struct part part;
    rondo_incoming piece;
    rondo_status status = RONDO_BUSY;
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 4);

    if (!join(self, self->user, 45, &part)) {
        return;
    }
    rondo_transport *const transport = part.transport;
    rondo_outgoing message = {.data = data, .bytes = 8};
    while (transport->ops->send(transport, 1 - self->rank, RONDO_LANE_COLL, &message) ==
           RONDO_BUSY) {
    }
    while (transport->ops->peek(transport, 1 - self->rank, RONDO_LANE_COLL, &piece) ==
           RONDO_BUSY) {
        if (!rank_expect(self, rondo_now_ns() < deadline_ns, "nothing came")) {
            return;
        }
    }
    if (self->rank == 1) {
        rank_mark(self, 1);
        rank_pause(PATIENCE_MS);
        return;
    }
    transport->ops->consume(transport, 1, RONDO_LANE_COLL);
    message = (rondo_outgoing){.data = data, .bytes = sizeof data};
    while (status == RONDO_BUSY && rondo_now_ns() < deadline_ns) {
        status = transport->ops->send(transport, 1, RONDO_LANE_COLL, &message);
    }
    rank_expect_status(self, status, RONDO_ERR_PEER, NULL, "send");
    rank_expect_text(self, rondo_error_text(),
                     "the connection to rank 1 is lost: ", "send");
    rank_expect(self, strlen(rondo_error_text()) > 40, "no reason: %s",
                rondo_error_text());
    rank_expect_status(self,
                       transport->ops->peek(transport, 1, RONDO_LANE_PAIR, &piece),
                       RONDO_ERR_PEER, NULL, "peek");
    leave(&part);
}

static void
kill_rank_1(const rank_stage *stage, void *user)
{
    (void)user;
    if (stage_reached(stage, 1, 1, PATIENCE_MS)) {
        rank_pause(30);
        (void)kill(stage->pid[1], SIGKILL);
    }
}

static void
a_dead_peer_is_said(void **state)
{
    rank_report report;
    const rank_run run = {.nranks = 2,
                          .kind = AS_PROCESSES,
                          .function = lose_a_peer,
                          .user = test_shared(sizeof(struct board)),
                          .deadline_ms = PATIENCE_MS,
                          .director = kill_rank_1};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, 1);
}

/* --- what is left of it ----------------------------------------------------------- */

static uint32_t
count_descriptors(void)
{
    DIR *const folder = opendir("/proc/self/fd");
    uint32_t n = 0;

    if (folder == NULL) {
        return 0;
    }
    while (readdir(folder) != NULL) {
        n++;
    }
    (void)closedir(folder);
    return n;
}

static void
handler(int number)
{
    (void)number;
}

/* The first signal whose disposition is another one than before; 0: none. */
static int
changed_signal(const struct sigaction *before)
{
    for (int number = 1; number <= 64; number++) {
        struct sigaction now;
        memset(&now, 0, sizeof now);
        if (sigaction(number, NULL, &now) == 0 &&
            (now.sa_handler != before[number].sa_handler ||
             now.sa_flags != before[number].sa_flags ||
             memcmp(&now.sa_mask, &before[number].sa_mask, 64 / 8) != 0)) {
            return number;
        }
    }
    return 0;
}

static void
signals_stay(rank_self *self)
{
    static struct sigaction before[65];
    struct sigaction mine = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct part part;

    (void)sigaction(SIGSEGV, &mine, NULL);
    (void)sigaction(SIGUSR2, &mine, NULL);
    for (int number = 1; number <= 64; number++) {
        (void)sigaction(number, NULL, &before[number]);
    }
    if (!join(self, self->user, 46, &part)) {
        return;
    }
    rank_expect(self, changed_signal(before) == 0, "loading has changed signal %d",
                changed_signal(before));
    leave(&part);
    rank_expect(self, changed_signal(before) == 0, "closing has changed signal %d",
                changed_signal(before));
}

static void
dispositions_stay(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, signals_stay, test_shared(sizeof(struct board)),
              PATIENCE_MS);
}

/* A message each way, in a world of its own: a wire, an instance, an end. */
static bool
cycle(rank_self *self, struct board *board, uint64_t number)
{
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 4);
    const uint32_t peer = 1 - self->rank;
    rondo_outgoing message = {.data = &number, .bytes = 8};
    struct part part;
    rondo_incoming piece;
    bool sent = false;
    bool received = false;

    if (!join(self, &board[number], number, &part)) {
        return false;
    }
    rondo_transport *const transport = part.transport;
    while (!sent || !received) {
        sent = sent || transport->ops->send(transport, peer, RONDO_LANE_COLL,
                                            &message) == RONDO_OK;
        if (!received && transport->ops->peek(transport, peer, RONDO_LANE_COLL,
                                              &piece) == RONDO_OK) {
            received = true;
            transport->ops->consume(transport, peer, RONDO_LANE_COLL);
        }
        if (!rank_expect(self, rondo_now_ns() < deadline_ns, "cycle %llu: %d %d %s",
                         (unsigned long long)number, sent, received,
                         rondo_error_text())) {
            return false;
        }
    }
    leave(&part);
    return true;
}

static void
many_cycles(rank_self *self)
{
    uint32_t before = 0;

    for (uint64_t number = 0; number < CYCLES; number++) {
        if (!cycle(self, self->user, number)) {
            return;
        }
        before = number == 2 ? count_descriptors() : before;
    }
    const uint32_t after = count_descriptors();
    rank_expect(self, after == before, "%u descriptors, then %u", before, after);
}

static void
cycles_leave_no_descriptor(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, many_cycles, test_shared(CYCLES * sizeof(struct board)),
              PATIENCE_MS);
}

int
main(void)
{
    const rondo_ucx_spec spec = real_spec();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(messages_arrive),
        cmocka_unit_test(the_descriptor_wakes),
        cmocka_unit_test(a_dead_peer_is_said),
        cmocka_unit_test(dispositions_stay),
        cmocka_unit_test(cycles_leave_no_descriptor),
    };

    if (access(spec.module, F_OK) != 0) {
        (void)fprintf(stderr, "%s is not there: nothing to test\n", spec.module);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
