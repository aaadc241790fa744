/* transport_fault.c - the wrapper that misbehaves does so as its plan says, no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "lib/traffic.h"
#include "transport/fault/fault.h"
#include "transport/loopback/loopback.h"

#define RANKS     3
#define LANES     2
#define STEPS_MAX 2000000

static const uint64_t sizes[] = {0, 1, 40, 64, 500, 4096, 9999};

#define NSIZES (sizeof sizes / sizeof sizes[0])

struct net {
    rondo_loopback *world;
    rondo_transport *ranks[RANKS];
};

static void
net_make(struct net *net, const rondo_fault_plan *plan, bool unbuffered)
{
    const rondo_loopback_config config = {.nranks = RANKS,
                                          .seed = plan->seed,
                                          .piece_bytes = 600,
                                          .unbuffered = unbuffered};

    assert_int_equal(rondo_loopback_create(&config, &net->world), RONDO_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rondo_fault_plan own = *plan;
        own.seed = plan->seed * RANKS + rank;
        own.kill_peer = rank == 0 ? plan->kill_peer : RONDO_FAULT_NOBODY;
        assert_int_equal(rondo_fault_create(&own, rondo_loopback_at(net->world, rank),
                                            RANKS, &net->ranks[rank]),
                         RONDO_OK);
    }
}

static void
net_end(struct net *net)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        net->ranks[rank]->ops->destroy(net->ranks[rank]);
    }
    rondo_loopback_destroy(net->world);
}

/* Run all traffic to its end; the hash of what was answered. */
static uint64_t
run_net(const rondo_fault_plan *plan, bool unbuffered)
{
    traffic_flow out[RANKS][RANKS][LANES];
    traffic_flow in[RANKS][RANKS][LANES];
    struct net net;
    uint64_t trace = 0;
    bool through = false;

    net_make(&net, plan, unbuffered);
    for (uint32_t i = 0; i < RANKS * RANKS * LANES; i++) {
        const uint32_t from = i / LANES / RANKS;
        const uint32_t to = i / LANES % RANKS;
        const uint32_t lane = i % LANES;
        const traffic_flow flow = {.peer = to,
                                   .lane = (rondo_lane)lane,
                                   .transport = net.ranks[from],
                                   .seed = i,
                                   .sizes = sizes,
                                   .nsizes = NSIZES,
                                   .nmessages = 2 * NSIZES};
        out[from][to][lane] = flow;
        in[from][to][lane] = flow;
        in[from][to][lane].transport = net.ranks[to];
        in[from][to][lane].peer = from;
    }
    for (uint64_t steps = 0; !through; steps++) {
        assert_true(steps < STEPS_MAX);
        through = true;
        for (uint32_t i = 0; i < RANKS * RANKS * LANES; i++) {
            traffic_flow *const in_flow =
                &in[i / LANES / RANKS][i / LANES % RANKS][i % LANES];
            const rondo_status sent =
                traffic_send(&out[i / LANES / RANKS][i / LANES % RANKS][i % LANES]);
            const rondo_status received = traffic_receive(in_flow);
            assert_true(sent >= 0);
            if (received < 0) {
                fail_msg("%s", in_flow->why);
            }
            through &= sent == RONDO_OK && received == RONDO_OK;
            trace = rondo_hash_add(trace, (uint64_t)sent << 1 | (uint64_t)received);
        }
    }
    assert_true(rondo_loopback_idle(net.world));
    net_end(&net);
    return trace;
}

static void
delays_lose_nothing(void **state)
{
    static const uint32_t percents[] = {0, 10, 60, 95};
    static const uint32_t calls[] = {0, 1, 2, 20};

    (void)state;
    for (uint64_t seed = 0; seed < 64; seed++) {
        const rondo_fault_plan plan = {.seed = seed,
                                       .delay_percent = percents[seed % 4],
                                       .delay_calls = calls[seed / 4 % 4],
                                       .kill_peer = RONDO_FAULT_NOBODY};
        (void)run_net(&plan, seed / 16 % 2 == 1);
    }
}

static void
same_plan_same_run(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        rondo_fault_plan plan = {.seed = seed,
                                 .delay_percent = 40,
                                 .delay_calls = 2,
                                 .kill_peer = RONDO_FAULT_NOBODY};
        const uint64_t trace = run_net(&plan, false);
        assert_true(run_net(&plan, false) == trace);
        plan.delay_calls = 3;
        assert_false(run_net(&plan, false) == trace);
    }
}

/* As often as asked for, as many in a row as asked for. */
static void
delays_are_as_planned(void **state)
{
    const uint32_t n = 20000;

    (void)state;
    for (uint32_t percent = 0; percent <= 80; percent += 20) {
        for (uint32_t row = 1; row <= 4; row++) {
            const rondo_fault_plan plan = {.seed = 5,
                                           .delay_percent = percent,
                                           .delay_calls = row,
                                           .kill_peer = RONDO_FAULT_NOBODY};
            struct net net;
            uint32_t busy = 0;
            uint32_t in_row = 0;
            net_make(&net, &plan, false);
            for (uint32_t i = 0; i < n; i++) {
                rondo_outgoing message = {.bytes = 0};
                rondo_incoming piece;
                const rondo_status status =
                    net.ranks[0]->ops->send(net.ranks[0], 1, RONDO_LANE_COLL, &message);
                if (status == RONDO_BUSY) {
                    busy++;
                    in_row++;
                    continue;
                }
                assert_int_equal(in_row % row, 0);
                in_row = 0;
                rondo_transport *const to = rondo_loopback_at(net.world, 1);
                assert_int_equal(to->ops->peek(to, 0, RONDO_LANE_COLL, &piece),
                                 RONDO_OK);
                to->ops->consume(to, 0, RONDO_LANE_COLL);
            }
            /* A share p of decisions, each worth `row` calls. */
            const double p = percent / 100.0;
            const double want = n * (p * row) / (p * row + 1 - p);
            assert_true((double)busy > want * 0.9 - 1 && (double)busy < want * 1.1 + 1);
            net_end(&net);
        }
    }
}

/* --- a peer that dies ------------------------------------------------------------- */

static bool
take(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
     const void *payload, size_t payload_bytes, void *user)
{
    (void)from;
    (void)channel;
    (void)header;
    (void)header_bytes;
    (void)payload;
    (void)payload_bytes;
    (*(uint32_t *)user)++;
    return true;
}

/* Everything that can be said to `peer`, each once; how many said that it is dead. */
static uint32_t
deaths(rondo_transport *transport, uint32_t peer)
{
    const rondo_am message = {.channel = 0};
    rondo_outgoing outgoing = {.bytes = 0};
    rondo_incoming piece;
    uint32_t taken = 0;
    const rondo_status answers[] = {
        transport->ops->send(transport, peer, RONDO_LANE_COLL, &outgoing),
        transport->ops->send(transport, peer, RONDO_LANE_PAIR, &outgoing),
        transport->ops->peek(transport, peer, RONDO_LANE_COLL, &piece),
        transport->ops->peek(transport, peer, RONDO_LANE_PAIR, &piece),
        transport->ops->am_send(transport, peer, &message),
        transport->ops->am_poll(transport, peer, take, &taken),
    };
    uint32_t dead = 0;

    for (uint64_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_true(answers[i] >= 0 || answers[i] == RONDO_ERR_PEER);
        dead += answers[i] == RONDO_ERR_PEER;
    }
    return dead;
}

static void
a_peer_dies_at_its_call(void **state)
{
    (void)state;
    for (uint64_t kill_at = 0; kill_at <= 30; kill_at++) {
        const rondo_fault_plan plan = {.kill_peer = 1, .kill_at = kill_at};
        struct net net;
        uint64_t calls = 0;
        net_make(&net, &plan, false);
        rondo_transport *const me = net.ranks[0];
        while (calls < 36) {
            const uint32_t dead = deaths(me, 1);
            const uint64_t first_dead = kill_at == 0 ? 1 : kill_at;
            /* Of calls + 1 .. calls + 6 those from kill_at on. */
            const uint64_t want = calls + 6 < first_dead    ? 0
                                  : calls + 1 >= first_dead ? 6
                                                            : calls + 7 - first_dead;
            assert_int_equal(dead, want);
            calls += 6;
            assert_int_equal(deaths(me, 2), 0);
            calls += 6;
        }
        assert_non_null(strstr(rondo_error_text(), "rank 1"));
        net_end(&net);
    }
}

/* What was shown before the death may be used; signals of the dead stand still. */
static void
the_dead_leave_what_they_gave(void **state)
{
    const rondo_fault_plan plan = {.kill_peer = 1, .kill_at = 3};
    struct net net;
    rondo_incoming piece;
    rondo_outgoing message = {.data = "from the dead", .bytes = 13};

    (void)state;
    net_make(&net, &plan, false);
    rondo_transport *const me = net.ranks[0];
    rondo_transport *const other = net.ranks[1];
    other->ops->signal(other, 4);
    assert_int_equal(other->ops->send(other, 0, RONDO_LANE_COLL, &message), RONDO_OK);
    assert_int_equal(me->ops->signalled(me, 1), 4);
    assert_int_equal(me->ops->peek(me, 1, RONDO_LANE_COLL, &piece), RONDO_OK);
    assert_int_equal(me->ops->progress(me), RONDO_OK);
    other->ops->signal(other, 5);
    assert_memory_equal(piece.data, "from the dead", 13);
    me->ops->consume(me, 1, RONDO_LANE_COLL);
    assert_int_equal(me->ops->signalled(me, 1), 4);
    assert_int_equal(me->ops->peek(me, 1, RONDO_LANE_COLL, &piece), RONDO_ERR_PEER);
    net_end(&net);
}

static void
the_rest_goes_through(void **state)
{
    const rondo_fault_plan plan = {.kill_peer = RONDO_FAULT_NOBODY};
    rondo_transport_counters counters;
    struct net net;

    (void)state;
    net_make(&net, &plan, false);
    rondo_transport *const me = net.ranks[0];
    rondo_outgoing message = {.data = "x", .bytes = 1};
    assert_int_equal(me->ops->send(me, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    me->ops->counters(me, &counters);
    assert_int_equal(counters.sent_bytes, 1);
    assert_int_equal(counters.messages, 1);
    me->ops->sleep(me, me->ops->arm(me), 0);
    me->ops->disarm(me);
    me->ops->ring(me, 1);
    assert_string_equal(me->ops->name, "fault");
    net_end(&net);
}

static void
creation_survives_a_refused_allocation(void **state)
{
    const rondo_loopback_config config = {.nranks = 2};
    const rondo_fault_plan plan = {.kill_peer = RONDO_FAULT_NOBODY};
    rondo_loopback *world = NULL;
    rondo_transport *transport = NULL;

    (void)state;
    assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
    rondo_transport *const inner = rondo_loopback_at(world, 0);
    (void)rondo_alloc_fail_after(1);
    assert_int_equal(rondo_fault_create(&plan, inner, 2, &transport), RONDO_ERR_MEMORY);
    (void)rondo_alloc_fail_after(0);
    assert_null(transport);
    rondo_outgoing message = {.bytes = 0};
    assert_int_equal(inner->ops->send(inner, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    rondo_loopback_destroy(world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_lose_nothing),
        cmocka_unit_test(same_plan_same_run),
        cmocka_unit_test(delays_are_as_planned),
        cmocka_unit_test(a_peer_dies_at_its_call),
        cmocka_unit_test(the_dead_leave_what_they_gave),
        cmocka_unit_test(the_rest_goes_through),
        cmocka_unit_test(creation_survives_a_refused_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
