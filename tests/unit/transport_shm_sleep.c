/* transport_shm_sleep.c - ranks that sleep are woken, and soon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "lib/ranks.h"
#include "transport/shm/shm.h"

#define PATIENCE_MS 60000
#define PING_PONGS  10000

/* A wake-up lost to the known race costs 1 ms; more than this on average, and wake-ups
 * are lost for another reason. Slow machines and sanitizers fit in easily. */
#define AVERAGE_NS_MAX (RONDO_NS_PER_MS / 2)

struct scene {
    rondo_shm_layout layout;
    void *memory;
};

static void
scene_make(struct scene *scene)
{
    const rondo_shm_layout layout = {
        .nlocal = 2, .slots = 2, .cells = 4, .chunk_bytes = 4096};

    scene->layout = layout;
    scene->memory = mmap(NULL, rondo_shm_bytes(&layout), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(scene->memory, MAP_FAILED);
}

static void
scene_end(const struct scene *scene)
{
    (void)munmap(scene->memory, rondo_shm_bytes(&scene->layout));
}

static rondo_status
scene_join(const struct scene *scene, uint32_t me, rondo_transport **transport)
{
    static const uint32_t ranks[] = {0, 1};
    const rondo_shm_setup setup = {scene->layout, scene->memory, me, 2, ranks};

    return rondo_shm_create(&setup, transport);
}

/* What a rank waits for. */
typedef bool (*condition)(rondo_transport *transport, uint32_t peer, uint64_t value);

static bool
piece_is_there(rondo_transport *transport, uint32_t peer, uint64_t value)
{
    rondo_incoming piece;

    (void)value;
    return transport->ops->peek(transport, peer, RONDO_LANE_COLL, &piece) == RONDO_OK;
}

static bool
signal_is_there(rondo_transport *transport, uint32_t peer, uint64_t value)
{
    return transport->ops->signalled(transport, peer) >= value;
}

static bool
room_is_there(rondo_transport *transport, uint32_t peer, uint64_t value)
{
    static const unsigned char data[3000];
    rondo_outgoing message = {.data = data, .bytes = sizeof data};

    (void)value;
    return transport->ops->send(transport, peer, RONDO_LANE_COLL, &message) == RONDO_OK;
}

/* The protocol as the library uses it, with no spinning at all. False: too late. */
static bool
sleep_until(rondo_transport *transport, uint32_t peer, condition met, uint64_t value)
{
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS / 4);
    bool done = met(transport, peer, value);

    while (!done && rondo_now_ns() < deadline_ns) {
        const uint32_t ticket = transport->ops->arm(transport);
        done = met(transport, peer, value);
        if (!done) {
            transport->ops->sleep(transport, ticket, 10 * RONDO_NS_PER_S);
        }
    }
    transport->ops->disarm(transport);
    return done;
}

static void
send_token(rondo_transport *transport, uint32_t peer)
{
    rondo_outgoing message = {.bytes = 0};

    while (transport->ops->send(transport, peer, RONDO_LANE_COLL, &message) ==
           RONDO_BUSY) {
    }
}

/* Strictly in turn, each asleep while the other works. */
static void
ping_pong(rank_self *self)
{
    const uint32_t peer = 1 - self->rank;
    rondo_transport *transport = NULL;

    if (!rank_expect_status(self, scene_join(self->user, self->rank, &transport),
                            RONDO_OK, NULL, "create")) {
        return;
    }
    const uint64_t start_ns = rondo_now_ns();
    for (uint64_t i = 0; i < PING_PONGS; i++) {
        if (self->rank == 0) {
            send_token(transport, peer);
        }
        if (!rank_expect(self, sleep_until(transport, peer, piece_is_there, 0),
                         "ping-pong %llu: not woken", (unsigned long long)i)) {
            break;
        }
        transport->ops->consume(transport, peer, RONDO_LANE_COLL);
        if (self->rank == 1) {
            send_token(transport, peer);
        }
    }
    const uint64_t each_ns = (rondo_now_ns() - start_ns) / PING_PONGS;
    rank_expect(self, each_ns < 2 * AVERAGE_NS_MAX,
                "%llu ns a ping-pong: wake-ups lost", (unsigned long long)each_ns);
    transport->ops->destroy(transport);
}

/* The same with signals. */
static void
signal_ping_pong(rank_self *self)
{
    const uint32_t peer = 1 - self->rank;
    rondo_transport *transport = NULL;

    if (!rank_expect_status(self, scene_join(self->user, self->rank, &transport),
                            RONDO_OK, NULL, "create")) {
        return;
    }
    const uint64_t start_ns = rondo_now_ns();
    for (uint64_t i = 1; i <= PING_PONGS; i++) {
        if (self->rank == 0) {
            transport->ops->signal(transport, i);
        }
        if (!rank_expect(self, sleep_until(transport, peer, signal_is_there, i),
                         "signal %llu: not woken", (unsigned long long)i)) {
            break;
        }
        if (self->rank == 1) {
            transport->ops->signal(transport, i);
        }
    }
    const uint64_t each_ns = (rondo_now_ns() - start_ns) / PING_PONGS;
    rank_expect(self, each_ns < 2 * AVERAGE_NS_MAX,
                "%llu ns a ping-pong: wake-ups lost", (unsigned long long)each_ns);
    transport->ops->destroy(transport);
}

/* A sender asleep for room in a ring that a slow receiver empties. */
static void
wait_for_room(rank_self *self)
{
    const uint32_t peer = 1 - self->rank;
    rondo_transport *transport = NULL;

    if (!rank_expect_status(self, scene_join(self->user, self->rank, &transport),
                            RONDO_OK, NULL, "create")) {
        return;
    }
    for (int i = 0; i < 300; i++) {
        const bool done = sleep_until(
            transport, peer, self->rank == 0 ? room_is_there : piece_is_there, 0);
        if (!rank_expect(self, done, "message %d: not woken", i)) {
            break;
        }
        if (self->rank == 1) {
            rank_pause(i % 16 == 0 ? 5 : 0);
            transport->ops->consume(transport, peer, RONDO_LANE_COLL);
        }
    }
    transport->ops->destroy(transport);
}

static void
run_both_ways(rank_function function)
{
    for (rank_kind kind = AS_PROCESSES; kind <= AS_THREADS; kind++) {
        struct scene scene;
        scene_make(&scene);
        run_ranks(2, kind, function, &scene, PATIENCE_MS);
        scene_end(&scene);
    }
}

static void
sleepers_are_woken_by_pieces(void **state)
{
    (void)state;
    run_both_ways(ping_pong);
}

static void
sleepers_are_woken_by_signals(void **state)
{
    (void)state;
    run_both_ways(signal_ping_pong);
}

static void
sleepers_are_woken_by_room(void **state)
{
    (void)state;
    run_both_ways(wait_for_room);
}

/* Long asleep, so that the sleep is no longer cut into slices, and woken at once. */
static void
sleep_long(rank_self *self)
{
    const uint32_t peer = 1 - self->rank;
    rondo_transport *transport = NULL;

    if (!rank_expect_status(self, scene_join(self->user, self->rank, &transport),
                            RONDO_OK, NULL, "create")) {
        return;
    }
    for (uint32_t i = 0; i < 10; i++) {
        if (self->rank == 0) {
            rank_pause(20);
            const uint64_t sent_ns = rondo_now_ns();
            send_token(transport, peer);
            if (!rank_expect(self, sleep_until(transport, peer, piece_is_there, 0),
                             "no answer")) {
                break;
            }
            const uint64_t took_ns = rondo_now_ns() - sent_ns;
            rank_expect(self, took_ns < 500 * RONDO_NS_PER_MS, "woken after %llu ms",
                        (unsigned long long)(took_ns / RONDO_NS_PER_MS));
        } else {
            if (!rank_expect(self, sleep_until(transport, peer, piece_is_there, 0),
                             "not woken")) {
                break;
            }
            send_token(transport, peer);
        }
        transport->ops->consume(transport, peer, RONDO_LANE_COLL);
    }
    transport->ops->destroy(transport);
}

static void
long_sleepers_are_woken_at_once(void **state)
{
    (void)state;
    run_both_ways(sleep_long);
}

/* --- one thread ------------------------------------------------------------------- */

static uint64_t
slept_ns(rondo_transport *transport, uint32_t ticket, uint64_t wait_ns)
{
    const uint64_t start_ns = rondo_now_ns();

    transport->ops->sleep(transport, ticket, wait_ns);
    return rondo_now_ns() - start_ns;
}

/* Whatever happened between arm and sleep makes sleep return at once. */
static void
what_comes_before_sleep_counts(void **state)
{
    struct scene scene;
    rondo_transport *a = NULL;
    rondo_transport *b = NULL;

    (void)state;
    scene_make(&scene);
    assert_int_equal(scene_join(&scene, 0, &a), RONDO_OK);
    assert_int_equal(scene_join(&scene, 1, &b), RONDO_OK);
    /* Settle first: from then on a sleep could last a second. */
    for (int i = 0; i < 3; i++) {
        (void)slept_ns(b, b->ops->arm(b), 10 * RONDO_NS_PER_S);
    }
    for (int what = 0; what < 4; what++) {
        const uint32_t ticket = b->ops->arm(b);
        switch (what) {
        case 0:
            send_token(a, 1);
            break;
        case 1:
            a->ops->signal(a, 5);
            break;
        case 2:
            a->ops->ring(a, 1);
            break;
        default: /* a piece consumed: b's own message makes room */
            assert_true(room_is_there(b, 0, 0));
            assert_true(piece_is_there(a, 1, 0));
            a->ops->consume(a, 1, RONDO_LANE_COLL);
            break;
        }
        assert_true(slept_ns(b, ticket, 10 * RONDO_NS_PER_S) < RONDO_NS_PER_S / 2);
    }
    b->ops->disarm(b);
    a->ops->destroy(a);
    b->ops->destroy(b);
    scene_end(&scene);
}

static void
sleep_ends_by_itself(void **state)
{
    struct scene scene;
    rondo_transport *a = NULL;

    (void)state;
    scene_make(&scene);
    assert_int_equal(scene_join(&scene, 0, &a), RONDO_OK);
    uint32_t ticket = a->ops->arm(a);
    assert_true(slept_ns(a, ticket, 0) < RONDO_NS_PER_S);
    /* The first sleep is short whatever was asked for; later ones are as long. */
    assert_true(slept_ns(a, ticket, 10 * RONDO_NS_PER_S) < RONDO_NS_PER_S);
    ticket = a->ops->arm(a);
    const uint64_t long_ns = slept_ns(a, ticket, 50 * RONDO_NS_PER_MS);
    assert_true(long_ns >= 50 * RONDO_NS_PER_MS);
    assert_true(long_ns < 5 * RONDO_NS_PER_S);
    /* Even then a second is the most. */
    assert_true(slept_ns(a, a->ops->arm(a), UINT64_MAX) < 10 * RONDO_NS_PER_S);
    a->ops->disarm(a);
    a->ops->disarm(a);
    a->ops->ring(a, 0);
    a->ops->destroy(a);
    scene_end(&scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleepers_are_woken_by_pieces),
        cmocka_unit_test(sleepers_are_woken_by_signals),
        cmocka_unit_test(sleepers_are_woken_by_room),
        cmocka_unit_test(long_sleepers_are_woken_at_once),
        cmocka_unit_test(what_comes_before_sleep_counts),
        cmocka_unit_test(sleep_ends_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
