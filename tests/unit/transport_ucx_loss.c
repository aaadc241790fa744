/* transport_ucx_loss.c - a connection that is lost, a peer that stops, an end in the
 * middle: the sentence, what can still be consumed, and nobody reads freed memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "lib/fakehosts.h"
#include "lib/traffic.h"

#define WHY "Destination is unreachable"

static const uint64_t sizes[] = {8, 100, 0, 5000, 20000, 129, 70000};

static void
expect_lost(rondo_status status, const char *sentence)
{
    assert_int_equal(status, RONDO_ERR_PEER);
    assert_string_equal(rondo_error_text(), sentence);
}

static rondo_status
send_one(rondo_transport *from, uint32_t to, rondo_lane lane, uint64_t bytes)
{
    static unsigned char data[100000];
    rondo_outgoing message = {.data = data, .bytes = bytes};

    return from->ops->send(from, to, lane, &message);
}

/* Cut after each number of steps, in the middle of whatever it is. What has arrived is
 * consumed in order and is right; then, and for good, comes the reason. */
static void
what_came_before_is_consumed(void **state)
{
    uint64_t complete = 0;

    (void)state;
    for (uint64_t cut = 0; cut < 120; cut++) {
        fakehosts hosts = {
            .wire = {.seed = cut, .late_percent = 60, .idle_percent = 30},
            .nwires = 2,
            .nranks = 2,
            .window_bytes = 30000};
        fakehosts_make(&hosts);
        traffic_flow out = {.transport = hosts.ranks[0],
                            .peer = 1,
                            .lane = RONDO_LANE_PAIR,
                            .seed = 3,
                            .sizes = sizes,
                            .nsizes = 7,
                            .nmessages = 21};
        traffic_flow in = out;
        in.transport = hosts.ranks[1];
        in.peer = 0;
        rondo_status sent = RONDO_BUSY;
        rondo_status received = RONDO_BUSY;
        /* A side has a link as soon as it sends, or owes credit. */
        assert_true(send_one(hosts.ranks[1], 0, RONDO_LANE_COLL, 8) >= 0);
        assert_true(send_one(hosts.ranks[0], 1, RONDO_LANE_COLL, 8) >= 0);
        for (uint64_t step = 0; received == RONDO_BUSY; step++) {
            assert_true(step < 100000);
            if (step == cut) {
                fakewire_cut(0, 1, WHY);
            }
            sent = sent == RONDO_BUSY ? traffic_send(&out) : sent;
            received = traffic_receive(&in);
        }
        if (received == RONDO_OK) {
            complete++;
        } else {
            expect_lost(received, "the connection to rank 0 is lost: " WHY);
            assert_int_equal(traffic_receive(&in), RONDO_ERR_PEER);
            for (int i = 0; i < 1000 && sent == RONDO_BUSY; i++) {
                sent = traffic_send(&out);
            }
            assert_int_equal(sent, RONDO_ERR_PEER);
        }
        traffic_end(&out);
        fakehosts_end(&hosts);
    }
    assert_in_range(complete, 1, 100);
}

/* Every call says so, on every lane; other peers are none the worse. */
static void
a_loss_is_said_by_every_call(void **state)
{
    fakehosts hosts = {.nwires = 3, .nranks = 3};
    const rondo_am message = {.payload = "x", .payload_bytes = 1};
    rondo_incoming piece;

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    assert_int_equal(send_one(a, 1, RONDO_LANE_COLL, 8), RONDO_OK);
    assert_int_equal(send_one(a, 2, RONDO_LANE_COLL, 8), RONDO_OK);
    fakewire_cut(0, 1, WHY);
    assert_int_equal(a->ops->progress(a), RONDO_OK);
    for (rondo_lane lane = 0; lane < RONDO_LANES; lane++) {
        expect_lost(send_one(a, 1, lane, 8), "the connection to rank 1 is lost: " WHY);
        expect_lost(a->ops->peek(a, 1, lane, &piece),
                    "the connection to rank 1 is lost: " WHY);
        assert_int_equal(send_one(a, 2, lane, 8), RONDO_OK);
        assert_int_equal(a->ops->peek(a, 2, lane, &piece), RONDO_BUSY);
    }
    expect_lost(a->ops->am_send(a, 1, &message),
                "the connection to rank 1 is lost: " WHY);
    assert_int_equal(a->ops->am_send(a, 2, &message), RONDO_OK);
    fakehosts_end(&hosts);
}

/* A loss wakes whoever sleeps; a link that is lost and has no users is gone. */
static void
a_loss_wakes_and_is_forgotten(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};

    (void)state;
    fakehosts_make(&hosts);
    assert_int_equal(send_one(hosts.ranks[0], 1, RONDO_LANE_COLL, 8), RONDO_OK);
    fakewire_cut(0, 1, WHY);
    const uint64_t before = atomic_load(&hosts.wakes);
    assert_false(rondo_ucx_arm(hosts.ucx[0]));
    assert_int_equal(atomic_load(&hosts.wakes), before + 1);
    assert_int_equal(fakewire_look(0).links, 0);
    hosts.ranks[0]->ops->destroy(hosts.ranks[0]);
    hosts.ranks[0] = NULL;
    /* A new communicator of the same processes gets a new link. */
    rondo_transport *const again = fakehosts_rank(&hosts, 9, 0);
    assert_int_equal(send_one(again, 1, RONDO_LANE_COLL, 8), RONDO_OK);
    assert_int_equal(fakewire_look(0).links, 1);
    again->ops->destroy(again);
    fakehosts_end(&hosts);
}

/* --- an end while parcels are under way ------------------------------------------- */

/* A peer takes nothing: destroy waits a moment, then gives the link up; the data may be
 * freed at once. The wire would read it if it could. */
static void
destroy_is_bounded(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};
    unsigned char *const data = malloc(60000);
    rondo_outgoing message = {.data = data, .bytes = 60000};

    (void)state;
    memset(data, 1, 60000);
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    rondo_transport *const other = fakehosts_rank(&hosts, 4, 0);
    assert_int_equal(send_one(other, 1, RONDO_LANE_COLL, 8), RONDO_OK);
    fakewire_stop(0, true);
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_BUSY);
    const uint64_t start_ns = rondo_now_ns();
    a->ops->destroy(a);
    const uint64_t took_ns = rondo_now_ns() - start_ns;
    free(data);
    hosts.ranks[0] = NULL;
    assert_in_range(took_ns, 250 * RONDO_NS_PER_MS, 3 * RONDO_NS_PER_S);
    fakewire_stop(0, false);
    assert_int_equal(send_one(other, 1, RONDO_LANE_COLL, 8), RONDO_ERR_PEER);
    assert_non_null(strstr(rondo_error_text(), "rank 1 is lost: it was cut"));
    other->ops->destroy(other);
    fakehosts_end(&hosts);
}

/* After quiet nothing of the caller's is read, whatever becomes of the wire. */
static void
quiet_lets_go_of_buffers(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};
    unsigned char *const data = malloc(60000);
    rondo_outgoing message = {.data = data, .bytes = 60000};

    (void)state;
    memset(data, 1, 60000);
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    rondo_ucx_quiet(a, 0);
    assert_int_equal(send_one(a, 1, RONDO_LANE_COLL, 8), RONDO_OK);
    fakewire_stop(0, true);
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_BUSY);
    rondo_ucx_quiet(a, 5 * RONDO_NS_PER_MS);
    free(data);
    fakewire_stop(0, false);
    assert_int_equal(a->ops->progress(a), RONDO_OK);
    fakehosts_end(&hosts);
}

/* What was taken but has not left: flush waits for it, and not for ever. */
static void
flush_waits_until_all_has_left(void **state)
{
    fakehosts hosts = {
        .wire = {.late_percent = 100, .idle_percent = 50}, .nwires = 2, .nranks = 2};
    const rondo_am message = {.payload = "hello", .payload_bytes = 5};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    for (int i = 0; i < 50; i++) {
        assert_int_equal(a->ops->am_send(a, 1, &message), RONDO_OK);
    }
    assert_int_equal(fakewire_look(1).waiting, 0);
    rondo_ucx_flush(a, 10 * RONDO_NS_PER_S);
    assert_int_equal(fakewire_look(1).waiting, 50);
    fakewire_stop(0, true);
    assert_int_equal(a->ops->am_send(a, 1, &message), RONDO_OK);
    const uint64_t start_ns = rondo_now_ns();
    rondo_ucx_flush(a, 20 * RONDO_NS_PER_MS);
    assert_in_range(rondo_now_ns() - start_ns, 19 * RONDO_NS_PER_MS,
                    5 * RONDO_NS_PER_S);
    fakewire_stop(0, false);
    fakehosts_end(&hosts);
}

/* A rank that leaves with pieces it has not consumed, and copies still under way. */
static void
an_end_in_the_middle_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        fakehosts hosts = {
            .wire = {.seed = seed, .late_percent = 70, .idle_percent = 60},
            .nwires = 2,
            .nranks = 2};
        fakehosts_make(&hosts);
        rondo_transport *const a = hosts.ranks[0];
        rondo_transport *const b = hosts.ranks[1];
        const rondo_am message = {.payload = "hello", .payload_bytes = 5};
        rondo_incoming piece;
        for (uint64_t i = 0; i < seed; i++) {
            assert_true(send_one(a, 1, (rondo_lane)(i % 2), 9000 * (i % 3)) >= 0);
            assert_true(a->ops->am_send(a, 1, &message) >= 0);
            (void)b->ops->peek(b, 0, RONDO_LANE_COLL, &piece);
        }
        a->ops->destroy(a);
        hosts.ranks[0] = NULL;
        (void)b->ops->peek(b, 0, RONDO_LANE_PAIR, &piece);
        fakehosts_end(&hosts);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_before_is_consumed),
        cmocka_unit_test(a_loss_is_said_by_every_call),
        cmocka_unit_test(a_loss_wakes_and_is_forgotten),
        cmocka_unit_test(destroy_is_bounded),
        cmocka_unit_test(quiet_lets_go_of_buffers),
        cmocka_unit_test(flush_waits_until_all_has_left),
        cmocka_unit_test(an_end_in_the_middle_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
