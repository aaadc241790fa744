/* transport_ucx_channels.c - all lengths on all lanes between many ranks, over a wire
 * that is as late as a seed decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "lib/fakehosts.h"
#include "lib/traffic.h"

#define STEPS_MAX 4000000
#define FLOWS_MAX 2000

static const uint64_t sizes[] = {
    0,    1,    7,    8,    63,   64,   65,    127,   128,   129,    191,    192,  255,
    4095, 4096, 4097, 7999, 8000, 8001, 8063,  8064,  16000, 16383,  16384,  1000, 0,
    0,    1,    3,    64,   640,  6400, 64000, 65536, 65537, 100000, 300001, 2,
};

#define NSIZES (sizeof sizes / sizeof sizes[0])

/* Flows of one lane each, both ends. */
struct flows {
    traffic_flow out[FLOWS_MAX];
    traffic_flow in[FLOWS_MAX];
    uint32_t n;
};

static void
flow_add(struct flows *flows, rondo_transport *from, rondo_transport *to,
         const uint32_t ranks[2], rondo_lane lane, uint64_t seed)
{
    const traffic_flow base = {.lane = lane,
                               .seed = seed,
                               .sizes = sizes + seed % 7,
                               .nsizes = NSIZES - 7,
                               .nmessages = 3};
    traffic_flow *const out = &flows->out[flows->n];
    traffic_flow *const in = &flows->in[flows->n];

    assert_true(flows->n < FLOWS_MAX);
    *out = base;
    *in = base;
    out->transport = from;
    out->peer = ranks[1];
    in->transport = to;
    in->peer = ranks[0];
    flows->n++;
}

/* What has been taken but not left yet needs somebody who makes progress: here the
 * sender, who may have nothing else to do any more. */
static bool
step(struct flows *flows, uint32_t i)
{
    rondo_transport *const from = flows->out[i].transport;

    const rondo_status sent = traffic_send(&flows->out[i]);
    const rondo_status received = traffic_receive(&flows->in[i]);

    assert_int_equal(from->ops->progress(from), RONDO_OK);
    if (sent < 0 || received < 0) {
        fail_msg("send %d, receive %d: %s; %s", sent, received, flows->in[i].why,
                 rondo_error_text());
    }
    return sent == RONDO_OK && received == RONDO_OK;
}

static void
run_flows(struct flows *flows)
{
    bool all = false;

    for (uint64_t steps = 0; !all; steps++) {
        assert_true(steps * flows->n < STEPS_MAX);
        all = true;
        for (uint32_t i = 0; i < flows->n; i++) {
            all = step(flows, i) && all;
        }
    }
}

static uint64_t
sum_bytes(const struct flows *flows, const rondo_transport *from)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < flows->n; i++) {
        sum += flows->out[i].transport == from ? traffic_bytes(&flows->out[i]) : 0;
    }
    return sum;
}

static uint64_t
sum_received(const struct flows *flows, const rondo_transport *to)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < flows->n; i++) {
        sum += flows->in[i].transport == to ? traffic_bytes(&flows->in[i]) : 0;
    }
    return sum;
}

static void
check_counters(const struct flows *flows, rondo_transport *rank)
{
    rondo_transport_counters counters;

    rank->ops->counters(rank, &counters);
    assert_int_equal(counters.sent_bytes, sum_bytes(flows, rank));
    assert_int_equal(counters.received_bytes, sum_received(flows, rank));
}

static const fakewire_plan plans[] = {
    {.seed = 1},
    {.seed = 2, .late_percent = 100},
    {.seed = 3, .late_percent = 50, .idle_percent = 70},
    {.seed = 4, .late_percent = 30, .idle_percent = 20, .nested_percent = 50},
    {.seed = 5, .late_percent = 90, .idle_percent = 90, .parcel_bytes = 64},
    {.seed = 6, .late_percent = 10, .parcel_bytes = 100, .nested_percent = 5},
    {.seed = 7, .late_percent = 50, .parcel_bytes = 4096, .maps = true},
    {.seed = 8, .late_percent = 50, .idle_percent = 50, .parcel_bytes = 65536},
};

#define NPLANS (sizeof plans / sizeof plans[0])

/* Every length alone on its channel, one behind the other, on three lanes, both
 * ways. */
static void
every_length_arrives(void **state)
{
    static const uint64_t windows[] = {0, 1, 20000, 65536};
    static struct flows flows;
    static const uint32_t there[2] = {0, 1};
    static const uint32_t back[2] = {1, 0};

    (void)state;
    for (uint64_t k = 0; k < NPLANS * 4; k++) {
        fakehosts hosts = {.wire = plans[k % NPLANS],
                           .nwires = 2,
                           .nranks = 2,
                           .comm = 5,
                           .window_bytes = windows[k / NPLANS]};
        fakehosts_make(&hosts);
        rondo_transport *const *const ranks = hosts.ranks;
        memset(&flows, 0, sizeof flows);
        for (rondo_lane lane = 0; lane < RONDO_LANES; lane++) {
            flow_add(&flows, ranks[0], ranks[1], there, lane, 10 + lane);
            flow_add(&flows, ranks[1], ranks[0], back, lane, 20 + lane);
        }
        for (uint32_t i = 0; i < flows.n; i++) {
            flows.out[i].nmessages = 2 * NSIZES;
            flows.in[i].nmessages = 2 * NSIZES;
        }
        run_flows(&flows);
        check_counters(&flows, ranks[0]);
        check_counters(&flows, ranks[1]);
        assert_int_equal(rondo_ucx_dropped(hosts.ucx[0]), 0);
        fakehosts_end(&hosts);
    }
}

/* All pairs at once, also of ranks that share a process. */
static void
many_ranks_talk_at_once(void **state)
{
    static const uint32_t shapes[][2] = {{2, 2},   {3, 3},  {7, 7},
                                         {12, 12}, {12, 4}, {9, 1}};
    static struct flows flows;

    (void)state;
    for (uint64_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        fakehosts hosts = {.wire = plans[3],
                           .nwires = shapes[k][1],
                           .nranks = shapes[k][0],
                           .comm = 77};
        fakehosts_make(&hosts);
        memset(&flows, 0, sizeof flows);
        for (uint32_t pair = 0; pair < hosts.nranks * hosts.nranks; pair++) {
            const uint32_t ends[2] = {pair / hosts.nranks, pair % hosts.nranks};
            for (rondo_lane lane = 0; lane < RONDO_LANES && ends[0] != ends[1];
                 lane++) {
                flow_add(&flows, hosts.ranks[ends[0]], hosts.ranks[ends[1]], ends, lane,
                         pair * 3 + lane);
            }
        }
        run_flows(&flows);
        for (uint32_t rank = 0; rank < hosts.nranks; rank++) {
            check_counters(&flows, hosts.ranks[rank]);
        }
        fakehosts_end(&hosts);
    }
}

/* The same ranks and lanes of several communicators do not hear each other, and links
 * are shared. */
static void
communicators_do_not_mix(void **state)
{
    static struct flows flows;
    static const uint32_t there[2] = {0, 1};
    static const uint32_t back[2] = {1, 0};
    fakehosts hosts = {.wire = plans[2], .nwires = 2, .nranks = 2, .comm = 1};
    rondo_transport *more[20];

    (void)state;
    fakehosts_make(&hosts);
    memset(&flows, 0, sizeof flows);
    for (uint32_t i = 0; i < 20; i++) {
        more[i] = fakehosts_rank(&hosts, 2 + i / 2, i % 2);
    }
    for (uint32_t i = 0; i < 20; i += 2) {
        for (rondo_lane lane = 0; lane < RONDO_LANES; lane++) {
            flow_add(&flows, more[i], more[i + 1], there, lane, 9 * i + lane);
            flow_add(&flows, more[i + 1], more[i], back, lane, 9 * i + 3 + lane);
        }
    }
    run_flows(&flows);
    assert_int_equal(fakewire_look(0).links, 1);
    assert_int_equal(fakewire_look(1).links, 1);
    for (uint32_t i = 0; i < 20; i++) {
        more[i]->ops->destroy(more[i]);
    }
    /* Kept for the next communicator. */
    assert_int_equal(fakewire_look(0).links, 1);
    fakehosts_end(&hosts);
}

/* A message that is half through holds back all others of its lane, none of others. */
static void
messages_do_not_mix(void **state)
{
    static const unsigned char data[400000] = {1};
    fakehosts hosts = {.nwires = 2, .nranks = 2, .window_bytes = 65536};
    rondo_outgoing big = {.data = data, .bytes = sizeof data, .token = 1};
    rondo_outgoing small = {.data = data, .bytes = 8, .token = 2};
    rondo_incoming piece = {.last = false};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    rondo_transport *const b = hosts.ranks[1];
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &big), RONDO_BUSY);
    assert_in_range(big.done_bytes, 40000, 65536);
    while (!piece.last) {
        if (big.done_bytes < sizeof data) {
            assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &small), RONDO_BUSY);
            assert_int_equal(small.done_bytes, 0);
        }
        while (b->ops->peek(b, 0, RONDO_LANE_PAIR, &piece) == RONDO_BUSY) {
        }
        assert_int_equal(piece.token, 1);
        b->ops->consume(b, 0, RONDO_LANE_PAIR);
        if (big.done_bytes < sizeof data) {
            (void)a->ops->send(a, 1, RONDO_LANE_PAIR, &big);
        }
    }
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &small), RONDO_OK);
    small.done_bytes = 0;
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &small), RONDO_OK);
    fakehosts_end(&hosts);
}

/* The same piece is shown until it is consumed. */
static void
peeking_takes_nothing(void **state)
{
    static const uint64_t lengths[] = {5, 128, 129, 5000};
    static unsigned char data[5000];
    fakehosts hosts = {.nwires = 2, .nranks = 2};
    rondo_incoming piece;

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    rondo_transport *const b = hosts.ranks[1];
    for (uint64_t i = 0; i < 4; i++) {
        rondo_outgoing message = {.data = data, .bytes = lengths[i], .token = i};
        memset(data, (int)(i + 1), sizeof data);
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    }
    for (uint64_t i = 0; i < 4; i++) {
        for (int k = 0; k < 5; k++) {
            memset(data, (int)(i + 1), sizeof data);
            while (b->ops->peek(b, 0, RONDO_LANE_COLL, &piece) == RONDO_BUSY) {
            }
            assert_int_equal(piece.bytes, lengths[i]);
            assert_memory_equal(piece.data, data, piece.bytes);
        }
        b->ops->consume(b, 0, RONDO_LANE_COLL);
    }
    assert_int_equal(b->ops->peek(b, 0, RONDO_LANE_COLL, &piece), RONDO_BUSY);
    fakehosts_end(&hosts);
}

/* Once it has run for a while nothing is allocated. */
static void
steady_state_allocates_nothing(void **state)
{
    static struct flows flows;
    static const uint32_t there[2] = {0, 1};
    fakehosts hosts = {.wire = plans[0], .nwires = 2, .nranks = 2};
    uint64_t before = 0;

    (void)state;
    fakehosts_make(&hosts);
    for (uint32_t round = 0; round < 20; round++) {
        memset(&flows, 0, sizeof flows);
        for (rondo_lane lane = 0; lane < RONDO_LANES; lane++) {
            flow_add(&flows, hosts.ranks[0], hosts.ranks[1], there, lane, 5);
            flows.out[lane].nmessages = NSIZES;
            flows.in[lane].nmessages = NSIZES;
        }
        before = round == 10 ? rondo_alloc_count() : before;
        run_flows(&flows);
    }
    assert_int_equal(rondo_alloc_count(), before);
    fakehosts_end(&hosts);
}

/* As long as nobody knows where a peer is, sending is put off. */
static void
an_unknown_peer_is_waited_for(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2, .unknown = true};
    rondo_outgoing message = {.data = "x", .bytes = 1};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    for (int i = 0; i < 10; i++) {
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_BUSY);
        assert_int_equal(message.done_bytes, 0);
    }
    hosts.unknown = false;
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    fakehosts_end(&hosts);
}

/* Registered memory is sent with its registration, all of it and nothing beside it. */
static void
registered_memory_is_sent_as_such(void **state)
{
    static unsigned char data[30000];
    fakehosts hosts = {.wire = plans[6], .nwires = 2, .nranks = 2};
    const uint64_t cases[][3] = {{0, 10000, 1}, {100, 9900, 1},  {101, 9900, 0},
                                 {9999, 1, 1},  {10000, 1, 0},   {20000, 5000, 1},
                                 {24999, 1, 1}, {19999, 100, 0}, {0, 4096, 1}};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    rondo_transport *const b = hosts.ranks[1];
    rondo_ucx_map(a, data, 10000);
    rondo_ucx_map(a, data + 20000, 5000);
    assert_int_equal(fakewire_look(0).maps, 2);
    for (uint64_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint64_t before = rondo_ucx_zero_copy_bytes(hosts.ucx[0]);
        rondo_outgoing message = {.data = data + cases[i][0], .bytes = cases[i][1]};
        rondo_incoming piece;
        rondo_status status = RONDO_BUSY;
        while (status == RONDO_BUSY) {
            status = a->ops->send(a, 1, RONDO_LANE_COLL, &message);
            while (b->ops->peek(b, 0, RONDO_LANE_COLL, &piece) == RONDO_OK) {
                b->ops->consume(b, 0, RONDO_LANE_COLL);
            }
        }
        assert_int_equal(status, RONDO_OK);
        const uint64_t mapped = rondo_ucx_zero_copy_bytes(hosts.ucx[0]) - before;
        assert_true(cases[i][2] == 1 ? mapped == cases[i][1] : mapped < cases[i][1]);
    }
    rondo_ucx_unmap(a, data);
    assert_int_equal(fakewire_look(0).maps, 1);
    rondo_ucx_unmap(a, data);
    assert_int_equal(fakewire_look(0).maps, 1);
    fakehosts_end(&hosts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_arrives),
        cmocka_unit_test(many_ranks_talk_at_once),
        cmocka_unit_test(communicators_do_not_mix),
        cmocka_unit_test(messages_do_not_mix),
        cmocka_unit_test(peeking_takes_nothing),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(an_unknown_peer_is_waited_for),
        cmocka_unit_test(registered_memory_is_sent_as_such),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
