/* transport_ucx_window.c - a receiver that does not consume holds its senders up, and
 * what it must keep for them is bounded. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fakehosts.h"
#include "transport/ucx/parcel.h"

#define CALLS 3000

static unsigned char data[300000];

/* Messages of `bytes` are sent until there is no room. Their number. */
static uint64_t
fill(rondo_transport *from, rondo_lane lane, uint64_t bytes, rondo_outgoing *message)
{
    uint64_t taken = 0;

    for (int calls = 0; calls < CALLS; calls++) {
        if (message->done_bytes == message->bytes) {
            *message = (rondo_outgoing){.data = data, .bytes = bytes, .token = taken};
        }
        const rondo_status status = from->ops->send(from, 1, lane, message);
        assert_true(status == RONDO_OK || status == RONDO_BUSY);
        if (status == RONDO_OK) {
            taken++;
            calls = 0;
            *message = (rondo_outgoing){0};
        }
    }
    return taken;
}

static void
pump(fakehosts *hosts)
{
    for (int i = 0; i < 2000; i++) {
        for (uint32_t rank = 0; rank < hosts->nranks; rank++) {
            rondo_transport *const one = hosts->ranks[rank];
            assert_int_equal(one->ops->progress(one), RONDO_OK);
        }
    }
}

/* Pieces of one length that a window has room for. */
static uint64_t
room_for(uint64_t window, uint64_t bytes)
{
    return window / rondo_parcel_charge(bytes);
}

static void
drain(rondo_transport *to, rondo_lane lane, uint64_t messages)
{
    uint64_t seen = 0;

    for (int calls = 0; seen < messages; calls++) {
        rondo_incoming piece;
        assert_true(calls < CALLS);
        if (to->ops->peek(to, 0, lane, &piece) == RONDO_OK) {
            seen += piece.last;
            to->ops->consume(to, 0, lane);
            calls = 0;
        }
    }
}

/* For all lengths of pieces and lanes: exactly what the window holds goes, not one
 * more, and after a quarter was consumed there is room again. */
static void
a_sender_stops_at_the_window(void **state)
{
    static const uint64_t lengths[] = {0, 8, 128, 129, 1000, 4096, 4097, 8000};
    static const uint64_t windows[] = {16384, 100000, 1 << 20};

    (void)state;
    for (uint64_t k = 0; k < 8 * 3 * RONDO_LANES; k++) {
        const uint64_t bytes = lengths[k % 8];
        const rondo_lane lane = (rondo_lane)(k / 8 % RONDO_LANES);
        const uint64_t asked = windows[k / 8 / RONDO_LANES];
        const uint64_t window =
            lane == RONDO_LANE_MESSAGE && asked > 262144 ? 262144 : asked;
        const uint64_t fits = room_for(window, bytes);
        fakehosts hosts = {.nwires = 2, .nranks = 2, .window_bytes = asked};
        rondo_outgoing message = {0};
        fakehosts_make(&hosts);
        rondo_transport *const a = hosts.ranks[0];
        assert_int_equal(fill(a, lane, bytes, &message), fits);
        pump(&hosts);
        const fakewire_state held = fakewire_look(1);
        assert_int_equal(held.waiting, 0);
        assert_int_equal(held.kept, bytes > RONDO_PARCEL_NEAR ? fits : 0);
        assert_int_equal(fill(a, lane, bytes, &message), 0);
        /* A quarter and what is needed to make it whole. */
        drain(hosts.ranks[1], lane, fits / 4 + 1);
        pump(&hosts);
        assert_true(fill(a, lane, bytes, &message) >= fits / 4);
        fakehosts_end(&hosts);
    }
}

/* One lane that is full does not hold up another, nor another peer. */
static void
full_lanes_are_alone(void **state)
{
    fakehosts hosts = {.nwires = 3, .nranks = 3, .window_bytes = 32768};
    rondo_outgoing message = {0};
    rondo_outgoing other = {0};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    assert_int_equal(fill(a, RONDO_LANE_COLL, 8000, &message), 4);
    assert_int_equal(fill(a, RONDO_LANE_PAIR, 8000, &other), 4);
    rondo_outgoing third = {.data = data, .bytes = 8000};
    assert_int_equal(a->ops->send(a, 2, RONDO_LANE_COLL, &third), RONDO_OK);
    fakehosts_end(&hosts);
}

/* A long message against a receiver that looks but does not consume: the window is all
 * that crosses. Then it consumes, and everything does. */
static void
a_long_message_waits_midway(void **state)
{
    static const uint64_t windows[] = {1, 16384, 20000, 65536, 200000};

    (void)state;
    for (uint64_t k = 0; k < 5; k++) {
        const uint64_t window = windows[k] < 16384 ? 16384 : windows[k];
        fakehosts hosts = {.nwires = 2, .nranks = 2, .window_bytes = windows[k]};
        rondo_outgoing message = {.data = data, .bytes = sizeof data};
        fakehosts_make(&hosts);
        rondo_transport *const a = hosts.ranks[0];
        rondo_transport *const b = hosts.ranks[1];
        rondo_incoming piece;
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_BUSY);
            (void)b->ops->peek(b, 0, RONDO_LANE_COLL, &piece);
        }
        assert_in_range(message.done_bytes, window / 2, window);
        rondo_status status = RONDO_BUSY;
        for (int i = 0; status == RONDO_BUSY; i++) {
            assert_true(i < CALLS);
            while (b->ops->peek(b, 0, RONDO_LANE_COLL, &piece) == RONDO_OK) {
                b->ops->consume(b, 0, RONDO_LANE_COLL);
            }
            status = a->ops->send(a, 1, RONDO_LANE_COLL, &message);
        }
        assert_int_equal(status, RONDO_OK);
        fakehosts_end(&hosts);
    }
}

/* When both sides send, credit travels with the data. */
static void
credit_rides_along(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};

    (void)state;
    fakehosts_make(&hosts);
    for (uint32_t i = 0; i < 20000; i++) {
        for (uint32_t me = 0; me < 2; me++) {
            rondo_transport *const one = hosts.ranks[me];
            rondo_outgoing message = {.data = data, .bytes = 8};
            assert_int_equal(one->ops->send(one, 1 - me, RONDO_LANE_COLL, &message),
                             RONDO_OK);
        }
        for (uint32_t me = 0; me < 2; me++) {
            rondo_transport *const one = hosts.ranks[me];
            rondo_incoming piece;
            while (one->ops->peek(one, 1 - me, RONDO_LANE_COLL, &piece) == RONDO_BUSY) {
            }
            one->ops->consume(one, 1 - me, RONDO_LANE_COLL);
        }
    }
    assert_int_equal(fakewire_look(0).sent, 20000);
    assert_int_equal(fakewire_look(1).sent, 20000);
    fakehosts_end(&hosts);
}

/* One way, credit goes by parcels of its own, but few. */
static void
credit_parcels_are_few(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};
    const uint64_t n = 100000;

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    for (uint64_t i = 0; i < n; i++) {
        rondo_outgoing message = {.data = data, .bytes = 8};
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
        drain(hosts.ranks[1], RONDO_LANE_COLL, 1);
    }
    assert_int_equal(fakewire_look(0).sent, n);
    assert_in_range(fakewire_look(1).sent, 1, n * 256 / (512 << 10) + 1);
    fakehosts_end(&hosts);
}

/* Receive buffers are given back as pieces are consumed, not at the end. */
static void
buffers_are_given_back(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    for (int i = 0; i < 1000; i++) {
        rondo_outgoing message = {.data = data, .bytes = 8000};
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
        drain(hosts.ranks[1], RONDO_LANE_COLL, 1);
        assert_true(fakewire_look(1).kept <= 33);
    }
    fakehosts_end(&hosts);
}

/* --- what waits is woken ---------------------------------------------------------- */

/* Whoever makes progress wakes those for whom something has come: here the end of a
 * send that the wire was late with. */
static void
a_finished_send_wakes(void **state)
{
    fakehosts hosts = {.wire = {.late_percent = 100}, .nwires = 2, .nranks = 2};
    rondo_outgoing message = {.data = data, .bytes = 8};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    fakewire_stop(0, true);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_BUSY);
    }
    assert_int_equal(message.done_bytes, 8);
    assert_int_equal(atomic_load(&hosts.wakes), 0);
    fakewire_stop(0, false);
    assert_false(rondo_ucx_arm(hosts.ucx[0]));
    assert_int_equal(atomic_load(&hosts.wakes), 1);
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
    fakehosts_end(&hosts);
}

/* arm says whether there is something to do; the descriptor tells what comes later. */
static void
an_armed_wire_tells(void **state)
{
    fakehosts hosts = {.nwires = 2, .nranks = 2};

    (void)state;
    fakehosts_make(&hosts);
    rondo_transport *const a = hosts.ranks[0];
    for (int i = 0; i < 10; i++) {
        rondo_outgoing message = {.data = data, .bytes = 8};
        int calls = 0;
        while (!rondo_ucx_arm(hosts.ucx[1])) {
            assert_true(++calls < 10);
        }
        assert_true(rondo_ucx_arm(hosts.ucx[1]));
        const uint64_t before = atomic_load(&hosts.wakes);
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message), RONDO_OK);
        assert_int_equal(atomic_load(&hosts.wakes), before);
        struct pollfd fd = {.fd = rondo_ucx_event_fd(hosts.ucx[1]), .events = POLLIN};
        assert_int_equal(poll(&fd, 1, 0), 1);
        assert_false(rondo_ucx_arm(hosts.ucx[1]));
        assert_int_equal(atomic_load(&hosts.wakes), before + 1);
    }
    fakehosts_end(&hosts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sender_stops_at_the_window),
        cmocka_unit_test(full_lanes_are_alone),
        cmocka_unit_test(a_long_message_waits_midway),
        cmocka_unit_test(credit_rides_along),
        cmocka_unit_test(credit_parcels_are_few),
        cmocka_unit_test(buffers_are_given_back),
        cmocka_unit_test(a_finished_send_wakes),
        cmocka_unit_test(an_armed_wire_tells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
