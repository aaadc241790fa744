/* transport_loopback.c - the loopback: order, pieces, puttings-off, and no
 * buffering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "lib/traffic.h"
#include "transport/loopback/loopback.h"

#define RANKS_MAX 4
#define LANES     2 /* all but active messages, which have a test of their own */
#define STEPS_MAX 4000000

static const uint64_t sizes[] = {0, 1, 8, 39, 64, 65, 127, 1000, 4096, 5000, 20011};

#define NSIZES (sizeof sizes / sizeof sizes[0])

/* All flows of a world. */
struct traffic {
    rondo_loopback *world;
    uint32_t nranks;
    traffic_flow out[RANKS_MAX][RANKS_MAX][LANES];
    traffic_flow in[RANKS_MAX][RANKS_MAX][LANES];
    uint64_t trace; /* of all statuses, in order */
};

static void
lay_flow(struct traffic *all, uint32_t from, uint32_t to, uint32_t lane,
         uint64_t nmessages)
{
    const traffic_flow flow = {.lane = (rondo_lane)lane,
                               .seed = from * 100 + to * 10 + lane,
                               .sizes = sizes,
                               .nsizes = NSIZES,
                               .nmessages = nmessages};

    all->out[from][to][lane] = flow;
    all->out[from][to][lane].transport = rondo_loopback_at(all->world, from);
    all->out[from][to][lane].peer = to;
    all->in[from][to][lane] = flow;
    all->in[from][to][lane].transport = rondo_loopback_at(all->world, to);
    all->in[from][to][lane].peer = from;
}

static void
lay_out(struct traffic *all, const rondo_loopback_config *config, uint64_t nmessages)
{
    memset(all, 0, sizeof *all);
    assert_int_equal(rondo_loopback_create(config, &all->world), RONDO_OK);
    all->nranks = config->nranks;
    for (uint32_t from = 0; from < config->nranks; from++) {
        for (uint32_t to = 0; to < config->nranks; to++) {
            for (uint32_t lane = 0; lane < LANES; lane++) {
                lay_flow(all, from, to, lane, nmessages);
            }
        }
    }
}

/* One step of both sides of a flow; true when it is through. */
static bool
step(struct traffic *all, uint32_t from, uint32_t to, uint32_t lane)
{
    traffic_flow *const out = &all->out[from][to][lane];
    traffic_flow *const in = &all->in[from][to][lane];
    const rondo_status sent = traffic_send(out);
    const rondo_status received = traffic_receive(in);

    if (received < 0) {
        fail_msg("%s", in->why);
    }
    assert_true(sent >= 0);
    /* In every mode: nothing arrives that was not sent, nothing is sent twice. */
    assert_true(in->done <= out->done + 1);
    all->trace = rondo_hash_add(all->trace, (uint64_t)sent << 1 | (uint64_t)received);
    return sent == RONDO_OK && received == RONDO_OK;
}

static bool
step_all(struct traffic *all)
{
    bool through = true;

    for (uint32_t from = 0; from < all->nranks; from++) {
        for (uint32_t to = 0; to < all->nranks; to++) {
            for (uint32_t lane = 0; lane < LANES; lane++) {
                through &= step(all, from, to, lane);
            }
        }
    }
    return through;
}

static void
expect_counters(const struct traffic *all, uint64_t nmessages)
{
    rondo_transport_counters sum = {0};

    for (uint32_t rank = 0; rank < all->nranks; rank++) {
        rondo_transport *const transport = rondo_loopback_at(all->world, rank);
        rondo_transport_counters one;
        transport->ops->counters(transport, &one);
        sum.sent_bytes += one.sent_bytes;
        sum.received_bytes += one.received_bytes;
        sum.messages += one.messages;
    }
    const uint64_t flows = (uint64_t)all->nranks * all->nranks * LANES;
    const uint64_t bytes = traffic_bytes(&all->out[0][0][0]) * flows;
    assert_int_equal(sum.sent_bytes, bytes);
    assert_int_equal(sum.received_bytes, bytes);
    assert_int_equal(sum.messages, nmessages * flows);
}

/* Run a world to its end; returns what happened, as a hash. */
static uint64_t
run_world(const rondo_loopback_config *config, uint64_t nmessages)
{
    struct traffic *const all = malloc(sizeof *all);
    uint64_t steps = 0;

    assert_non_null(all);
    lay_out(all, config, nmessages);
    assert_true(rondo_loopback_idle(all->world));
    while (!step_all(all)) {
        assert_true(steps++ < STEPS_MAX);
    }
    assert_true(rondo_loopback_idle(all->world));
    expect_counters(all, nmessages);
    const uint64_t trace = all->trace;
    rondo_loopback_destroy(all->world);
    free(all);
    return trace;
}

static void
everything_arrives_in_order(void **state)
{
    static const uint64_t pieces[] = {0, 1, 64, 200, 1024, 100000};
    static const uint32_t busy[] = {0, 30, 95};

    (void)state;
    for (uint64_t seed = 0; seed < 72; seed++) {
        const rondo_loopback_config config = {.nranks =
                                                  1 + (uint32_t)(seed % RANKS_MAX),
                                              .seed = seed,
                                              .busy_percent = busy[seed / 4 % 3],
                                              .piece_bytes = pieces[seed / 12 % 6],
                                              .unbuffered = seed % 2 == 1};
        (void)run_world(&config, NSIZES * 2);
    }
}

static void
same_seed_same_world(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        rondo_loopback_config config = {.nranks = 3,
                                        .seed = seed,
                                        .busy_percent = 50,
                                        .piece_bytes = 512,
                                        .unbuffered = seed % 2 == 1};
        const uint64_t trace = run_world(&config, NSIZES);
        assert_true(run_world(&config, NSIZES) == trace);
        config.seed += 1000;
        assert_false(run_world(&config, NSIZES) == trace);
    }
}

/* A rank's part of an unbuffered message, from the post to the last piece. */
static void
unbuffered_is_the_senders_memory(void **state)
{
    static unsigned char data[1000];
    const rondo_loopback_config config = {
        .nranks = 2, .piece_bytes = 256, .unbuffered = true};
    rondo_loopback *world = NULL;
    uint64_t consumed = 0;
    rondo_incoming piece = {.last = false};

    (void)state;
    assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
    rondo_transport *const a = rondo_loopback_at(world, 0);
    rondo_transport *const b = rondo_loopback_at(world, 1);
    rondo_outgoing message = {.data = data, .bytes = sizeof data, .token = 7};
    rondo_outgoing second = {.data = data, .bytes = 1, .token = 8};
    assert_int_equal(b->ops->peek(b, 0, RONDO_LANE_COLL, &piece), RONDO_BUSY);
    while (!piece.last) {
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_BUSY);
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &second), RONDO_BUSY);
        assert_int_equal(message.done_bytes, consumed);
        assert_false(rondo_loopback_idle(world));
        assert_int_equal(b->ops->peek(b, 0, RONDO_LANE_COLL, &piece), RONDO_OK);
        assert_ptr_equal(piece.data, data + consumed);
        assert_int_equal(piece.token, 7);
        consumed += piece.bytes;
        b->ops->consume(b, 0, RONDO_LANE_COLL);
    }
    assert_true(rondo_loopback_idle(world));
    assert_int_equal(b->ops->peek(b, 0, RONDO_LANE_COLL, &piece), RONDO_BUSY);
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    assert_int_equal(message.done_bytes, sizeof data);
    assert_int_equal(consumed, sizeof data);
    rondo_loopback_destroy(world);
}

static void
a_full_channel_makes_its_sender_wait(void **state)
{
    const rondo_loopback_config config = {.nranks = 2};
    rondo_loopback *world = NULL;
    uint64_t taken = 0;

    (void)state;
    assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
    rondo_transport *const a = rondo_loopback_at(world, 0);
    rondo_outgoing message = {.bytes = 0};
    while (a->ops->send(a, 1, RONDO_LANE_PAIR, &message) == RONDO_OK) {
        assert_true(taken++ < 1000);
    }
    assert_true(taken > 1);
    /* The other lane does not care. */
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    rondo_loopback_destroy(world);
}

static void
signals_come_late_but_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const rondo_loopback_config config = {
            .nranks = 3, .seed = seed, .busy_percent = 80};
        rondo_loopback *world = NULL;
        assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
        rondo_transport *const a = rondo_loopback_at(world, 0);
        rondo_transport *const b = rondo_loopback_at(world, 2);
        uint64_t seen = 0;
        uint64_t late = 0;
        for (uint64_t value = 1; value <= 50; value++) {
            a->ops->signal(a, value);
            const uint64_t now = b->ops->signalled(b, 0);
            assert_true(now >= seen && now <= value);
            late += now < value;
            seen = now;
        }
        assert_true(late > 0);
        for (int polls = 0; seen < 50; polls++) {
            assert_true(polls < 1000);
            seen = b->ops->signalled(b, 0);
        }
        assert_int_equal(a->ops->signalled(a, 2), 0);
        rondo_loopback_destroy(world);
    }
}

static void
waiting_does_not_wait(void **state)
{
    const rondo_loopback_config config = {.nranks = 1};
    rondo_loopback *world = NULL;

    (void)state;
    assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
    rondo_transport *const a = rondo_loopback_at(world, 0);
    a->ops->sleep(a, a->ops->arm(a), UINT64_MAX);
    a->ops->disarm(a);
    a->ops->ring(a, 0);
    a->ops->destroy(a);
    assert_string_equal(a->ops->name, "loopback");
    rondo_loopback_destroy(world);
}

static void
creation_survives_any_refused_allocation(void **state)
{
    const rondo_loopback_config config = {.nranks = 3};
    rondo_loopback *world = NULL;
    rondo_status status = RONDO_ERR_MEMORY;

    (void)state;
    for (uint64_t nth = 1; status != RONDO_OK; nth++) {
        assert_true(nth < 100);
        (void)rondo_alloc_fail_after(nth);
        status = rondo_loopback_create(&config, &world);
        (void)rondo_alloc_fail_after(0);
        assert_true(status == RONDO_OK || status == RONDO_ERR_MEMORY);
        assert_true(status == RONDO_OK ? world != NULL : world == NULL);
    }
    rondo_loopback_destroy(world);
    rondo_loopback_destroy(NULL);
}

/* Every allocation of a transfer refused once: the call fails, calling again goes
 * on. */
static void
sending_survives_any_refused_allocation(void **state)
{
    uint64_t refusals = 0;

    (void)state;
    for (uint64_t nth = 1; nth == 1 || refusals > 0; nth++) {
        const rondo_loopback_config config = {
            .nranks = 2, .seed = 3, .piece_bytes = 512};
        rondo_loopback *world = NULL;
        assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
        traffic_flow out = {.transport = rondo_loopback_at(world, 0),
                            .peer = 1,
                            .sizes = sizes,
                            .nsizes = NSIZES,
                            .nmessages = NSIZES};
        traffic_flow in = out;
        in.transport = rondo_loopback_at(world, 1);
        in.peer = 0;
        refusals = 0;
        (void)rondo_alloc_fail_after(nth);
        for (int steps = 0; in.done < in.nmessages; steps++) {
            assert_true(steps < 10000);
            const rondo_status sent = traffic_send(&out);
            assert_true(sent >= 0 || sent == RONDO_ERR_MEMORY);
            refusals += sent == RONDO_ERR_MEMORY;
            if (traffic_receive(&in) < 0) {
                fail_msg("%s", in.why);
            }
        }
        (void)rondo_alloc_fail_after(0);
        assert_true(refusals <= 1);
        traffic_end(&out);
        rondo_loopback_destroy(world);
        assert_true(nth < 10000);
    }
}

/* Destroying a world with messages under way loses no memory (leak checkers watch). */
static void
an_unfinished_world_can_go(void **state)
{
    const rondo_loopback_config config = {.nranks = 2, .piece_bytes = 64};
    rondo_loopback *world = NULL;
    unsigned char data[1000] = {0};
    const rondo_am big = {.payload = data, .payload_bytes = sizeof data};

    (void)state;
    assert_int_equal(rondo_loopback_create(&config, &world), RONDO_OK);
    rondo_transport *const a = rondo_loopback_at(world, 0);
    rondo_outgoing message = {.data = data, .bytes = sizeof data};
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    for (int i = 0; i < 100; i++) {
        const rondo_status status = a->ops->am_send(a, 1, &big);
        assert_true(status == RONDO_OK || status == RONDO_BUSY);
    }
    rondo_loopback_destroy(world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives_in_order),
        cmocka_unit_test(same_seed_same_world),
        cmocka_unit_test(unbuffered_is_the_senders_memory),
        cmocka_unit_test(a_full_channel_makes_its_sender_wait),
        cmocka_unit_test(signals_come_late_but_in_order),
        cmocka_unit_test(waiting_does_not_wait),
        cmocka_unit_test(creation_survives_any_refused_allocation),
        cmocka_unit_test(sending_survives_any_refused_allocation),
        cmocka_unit_test(an_unfinished_world_can_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
