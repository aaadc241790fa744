/* transport_shm.c - shared memory between processes, and between threads of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/ranks.h"
#include "lib/traffic.h"
#include "transport/shm/shm.h"

#define SHARERS_MAX 4
#define SIZES_MAX   24
#define PATIENCE_MS 30000

/* A segment and what is to pass through it. */
struct scene {
    rondo_shm_layout layout;
    void *memory;
    uint32_t nranks;
    uint32_t ranks[SHARERS_MAX];
    uint64_t sizes[SIZES_MAX];
    uint64_t nsizes;
    uint64_t nmessages;
};

static const rondo_shm_layout layouts[] = {
    {.nlocal = 2, .slots = 2, .cells = 2, .chunk_bytes = 64},
    {.nlocal = 2, .slots = 2, .cells = 8, .chunk_bytes = 128},
    {.nlocal = 2, .slots = 8, .cells = 2, .chunk_bytes = 1024},
    {.nlocal = 2, .slots = 64, .cells = 64, .chunk_bytes = 64},
    {.nlocal = 2, .slots = 2, .cells = 16, .chunk_bytes = 4096},
    {.nlocal = 2, .slots = 3, .cells = 16, .chunk_bytes = 320},
    {.nlocal = 3, .slots = 4, .cells = 4, .chunk_bytes = 4096},
    {.nlocal = 4, .slots = 4, .cells = 16, .chunk_bytes = 192},
};

#define NLAYOUTS (sizeof layouts / sizeof layouts[0])

/* A memfd, as the library uses: zeroed, sparse, mapped by all. */
static void *
segment_map(const rondo_shm_layout *layout)
{
    const uint64_t bytes = rondo_shm_bytes(layout);
    const int fd = memfd_create("rondo test", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    (void)close(fd);
    return memory;
}

/* Every length at which the way a message is cut changes. */
static void
scene_sizes(struct scene *scene)
{
    const uint64_t chunk = scene->layout.chunk_bytes;
    const uint64_t slots = scene->layout.slots;
    const uint64_t sizes[] = {0,
                              1,
                              8,
                              39,
                              40,
                              41,
                              63,
                              64,
                              65,
                              chunk - 1,
                              chunk,
                              chunk + 1,
                              chunk + 40,
                              chunk + 41,
                              2 * chunk,
                              3 * chunk + 7,
                              slots * chunk,
                              slots * chunk + 1,
                              (2 * slots + 1) * chunk + 5};

    _Static_assert(sizeof sizes <= sizeof scene->sizes, "room for all");
    memcpy(scene->sizes, sizes, sizeof sizes);
    scene->nsizes = sizeof sizes / sizeof sizes[0];
}

static void
scene_set(struct scene *scene, const rondo_shm_layout *layout)
{
    scene->layout = *layout;
    scene->memory = segment_map(layout);
    scene->nranks = layout->nlocal;
    for (uint32_t place = 0; place < layout->nlocal; place++) {
        scene->ranks[place] = place;
    }
    scene_sizes(scene);
    scene->nmessages = scene->nsizes * 8;
}

static void
scene_end(struct scene *scene)
{
    (void)munmap(scene->memory, rondo_shm_bytes(&scene->layout));
}

static rondo_shm_setup
scene_setup(const struct scene *scene, uint32_t place)
{
    const rondo_shm_setup setup = {.layout = scene->layout,
                                   .memory = scene->memory,
                                   .me = place,
                                   .nranks = scene->nranks,
                                   .ranks = scene->ranks};

    return setup;
}

/* All flows of one sharer. */
struct party {
    traffic_flow out[SHARERS_MAX][RONDO_LANES];
    traffic_flow in[SHARERS_MAX][RONDO_LANES];
};

static void
party_lay_out(struct party *party, const struct scene *scene,
              rondo_transport *transport, uint32_t me)
{
    memset(party, 0, sizeof *party);
    for (uint32_t place = 0; place < scene->layout.nlocal; place++) {
        for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
            traffic_flow flow = {.transport = transport,
                                 .peer = scene->ranks[place],
                                 .lane = (rondo_lane)lane,
                                 .sizes = scene->sizes,
                                 .nsizes = scene->nsizes,
                                 .nmessages = place == me ? 0 : scene->nmessages};
            flow.seed = me * 100 + place * 10 + lane;
            party->out[place][lane] = flow;
            flow.seed = place * 100 + me * 10 + lane;
            party->in[place][lane] = flow;
        }
    }
}

/* One step of each flow. True: all are through, or one has failed. */
static bool
party_step(struct party *party, rank_self *self, uint32_t nlocal)
{
    bool through = true;

    for (uint32_t place = 0; place < nlocal; place++) {
        for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
            const rondo_status sent = traffic_send(&party->out[place][lane]);
            const rondo_status received = traffic_receive(&party->in[place][lane]);
            through &= sent == RONDO_OK && received == RONDO_OK;
            if (!rank_expect(self, sent >= 0, "send: %s", rondo_error_text()) ||
                !rank_expect(self, received >= 0, "receive: %s %s",
                             party->in[place][lane].why, rondo_error_text())) {
                return true;
            }
        }
    }
    return through;
}

static void
party_expect_counters(const struct party *party, const struct scene *scene,
                      rank_self *self)
{
    const rondo_transport *const transport = party->out[0][0].transport;
    const uint64_t flows = (uint64_t)(scene->layout.nlocal - 1) * RONDO_LANES;
    const traffic_flow *const any = &party->out[self->rank == 0 ? 1 : 0][0];
    const uint64_t bytes = traffic_bytes(any) * flows;
    rondo_transport_counters counters;

    transport->ops->counters(transport, &counters);
    rank_expect(self, counters.sent_bytes == bytes, "sent %llu bytes, counted %llu",
                (unsigned long long)bytes, (unsigned long long)counters.sent_bytes);
    rank_expect(self, counters.received_bytes == bytes, "received bytes");
    rank_expect(self, counters.messages == scene->nmessages * flows, "messages");
}

/* Everybody to everybody, on all lanes at once. */
static void
exchange_all(rank_self *self)
{
    const struct scene *const scene = self->user;
    const rondo_shm_setup setup = scene_setup(scene, self->rank);
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS);
    struct party *const party = malloc(sizeof *party);
    rondo_transport *transport = NULL;

    if (!rank_expect_status(self, rondo_shm_create(&setup, &transport), RONDO_OK, NULL,
                            "create")) {
        return;
    }
    party_lay_out(party, scene, transport, self->rank);
    while (!party_step(party, self, scene->layout.nlocal)) {
        if (!rank_expect(self, rondo_now_ns() < deadline_ns, "no end")) {
            break;
        }
        (void)sched_yield();
    }
    party_expect_counters(party, scene, self);
    for (uint32_t place = 0; place < scene->layout.nlocal; place++) {
        for (uint32_t lane = 0; lane < RONDO_LANES; lane++) {
            traffic_end(&party->out[place][lane]);
        }
    }
    transport->ops->destroy(transport);
    free(party);
}

static void
everything_arrives(rank_kind kind)
{
    for (uint64_t i = 0; i < NLAYOUTS; i++) {
        struct scene scene;
        scene_set(&scene, &layouts[i]);
        run_ranks(scene.layout.nlocal, kind, exchange_all, &scene, 2 * PATIENCE_MS);
        scene_end(&scene);
    }
}

static void
everything_arrives_between_processes(void **state)
{
    (void)state;
    everything_arrives(AS_PROCESSES);
}

static void
everything_arrives_between_threads(void **state)
{
    (void)state;
    everything_arrives(AS_THREADS);
}

/* The sharers of a machine are some ranks of a larger communicator, in any order. */
static void
sharers_are_some_ranks_of_many(void **state)
{
    struct scene scene;

    (void)state;
    scene_set(&scene, &layouts[6]);
    scene.nranks = 9;
    scene.ranks[0] = 7;
    scene.ranks[1] = 0;
    scene.ranks[2] = 4;
    run_ranks(3, AS_THREADS, exchange_all, &scene, 2 * PATIENCE_MS);
    scene_end(&scene);
}

static void
default_layout_works(void **state)
{
    (void)state;
    for (uint32_t nlocal = 2; nlocal <= SHARERS_MAX; nlocal++) {
        const rondo_shm_layout layout = rondo_shm_layout_default(nlocal, 0);
        struct scene scene;
        scene_set(&scene, &layout);
        scene.nmessages = scene.nsizes;
        run_ranks(nlocal, AS_PROCESSES, exchange_all, &scene, 2 * PATIENCE_MS);
        scene_end(&scene);
    }
}

/* --- one thread that plays both sides --------------------------------------------- */

struct couple {
    struct scene scene;
    rondo_transport *a;
    rondo_transport *b;
};

static void
couple_make(struct couple *couple, const rondo_shm_layout *layout)
{
    scene_set(&couple->scene, layout);
    const rondo_shm_setup first = scene_setup(&couple->scene, 0);
    const rondo_shm_setup second = scene_setup(&couple->scene, 1);
    assert_int_equal(rondo_shm_create(&first, &couple->a), RONDO_OK);
    assert_int_equal(rondo_shm_create(&second, &couple->b), RONDO_OK);
}

static void
couple_end(struct couple *couple)
{
    couple->a->ops->destroy(couple->a);
    couple->b->ops->destroy(couple->b);
    scene_end(&couple->scene);
}

static rondo_status
send_one(rondo_transport *from, const void *data, uint64_t bytes)
{
    rondo_outgoing message = {.data = data, .bytes = bytes};

    return from->ops->send(from, 1, RONDO_LANE_COLL, &message);
}

static void
consume_one(rondo_transport *to)
{
    rondo_incoming piece;

    assert_int_equal(to->ops->peek(to, 0, RONDO_LANE_COLL, &piece), RONDO_OK);
    to->ops->consume(to, 0, RONDO_LANE_COLL);
}

/* Fills the ring, then checks after how many consumed pieces there is room again. */
static void
a_full_ring_opens_after_half(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < NLAYOUTS; i++) {
        const uint32_t cells = layouts[i].cells;
        struct couple two;
        couple_make(&two, &layouts[i]);
        for (uint32_t round = 0; round < 5; round++) {
            for (uint32_t k = 0; k < cells; k++) {
                assert_int_equal(send_one(two.a, "12345678", 8), RONDO_OK);
            }
            assert_int_equal(send_one(two.a, "12345678", 8), RONDO_BUSY);
            for (uint32_t k = 0; k < cells / 2; k++) {
                assert_int_equal(send_one(two.a, "12345678", 8), RONDO_BUSY);
                consume_one(two.b);
            }
            assert_int_equal(send_one(two.a, "12345678", 8), RONDO_OK);
            for (uint32_t k = 0; k < cells - cells / 2 + 1; k++) {
                consume_one(two.b);
            }
            rondo_incoming piece;
            assert_int_equal(two.b->ops->peek(two.b, 0, RONDO_LANE_COLL, &piece),
                             RONDO_BUSY);
            /* Leave the ring at another place, and at a half published state. */
            assert_int_equal(send_one(two.a, "12345678", 8), RONDO_OK);
            consume_one(two.b);
            while (cells > 2 && send_one(two.a, "x", 1) == RONDO_OK) {
            }
            while (two.b->ops->peek(two.b, 0, RONDO_LANE_COLL, &piece) == RONDO_OK) {
                two.b->ops->consume(two.b, 0, RONDO_LANE_COLL);
            }
        }
        couple_end(&two);
    }
}

static void
a_free_chunk_is_used_at_once(void **state)
{
    static const unsigned char data[8192] = {1};

    (void)state;
    for (uint64_t i = 0; i < NLAYOUTS; i++) {
        const rondo_shm_layout *const layout = &layouts[i];
        const uint32_t both =
            layout->slots < layout->cells ? layout->slots : layout->cells;
        struct couple two;
        couple_make(&two, layout);
        for (uint32_t k = 0; k < both; k++) {
            assert_int_equal(send_one(two.a, data, layout->chunk_bytes), RONDO_OK);
        }
        for (uint32_t k = 0; k < 5 * both; k++) {
            assert_int_equal(send_one(two.a, data, layout->chunk_bytes), RONDO_BUSY);
            consume_one(two.b);
            assert_int_equal(send_one(two.a, data, layout->chunk_bytes), RONDO_OK);
        }
        couple_end(&two);
    }
}

/* Pieces lie one behind the other, not each in a chunk of its own, the shortest with a
 * gap; where one does not fit before the end, it begins at the front. */
static void
pieces_are_packed(void **state)
{
    static const unsigned char data[4096];
    const rondo_shm_layout layout = {
        .nlocal = 2, .slots = 3, .cells = 16, .chunk_bytes = 4096};
    const uint64_t lengths[] = {41, 1024, 1025, 4096, 1500, 2000, 4000, 64, 4096};
    const uint64_t offsets[] = {0, 2048, 4096, 5184, 9280, 0, 2048, 6080, 8128};
    struct couple two;
    const unsigned char *first = NULL;

    (void)state;
    couple_make(&two, &layout);
    for (uint64_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        rondo_incoming piece;
        assert_int_equal(send_one(two.a, data, lengths[k]), RONDO_OK);
        assert_int_equal(two.b->ops->peek(two.b, 0, RONDO_LANE_COLL, &piece), RONDO_OK);
        first = k == 0 ? piece.data : first;
        assert_ptr_equal(piece.data, first + offsets[k]);
        two.b->ops->consume(two.b, 0, RONDO_LANE_COLL);
    }
    couple_end(&two);
}

/* A message that is half through holds back all others of its lane, none of others. */
static void
messages_do_not_mix(void **state)
{
    static const unsigned char data[64 * 10] = {1};
    struct couple two;
    rondo_outgoing big = {.data = data, .bytes = sizeof data, .token = 1};
    rondo_outgoing small = {.data = data, .bytes = 8, .token = 2};
    rondo_outgoing other = {.data = data, .bytes = 100, .token = 3};

    (void)state;
    couple_make(&two, &layouts[0]);
    rondo_transport *const a = two.a;
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &big), RONDO_BUSY);
    assert_int_equal(big.done_bytes, 128);
    rondo_incoming piece = {.last = false};
    while (!piece.last) {
        if (big.done_bytes < sizeof data) {
            assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &small), RONDO_BUSY);
            assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &other), RONDO_BUSY);
            assert_int_equal(other.done_bytes, 0);
        }
        assert_int_equal(two.b->ops->peek(two.b, 0, RONDO_LANE_PAIR, &piece), RONDO_OK);
        assert_int_equal(piece.token, 1);
        two.b->ops->consume(two.b, 0, RONDO_LANE_PAIR);
        if (big.done_bytes < sizeof data) {
            (void)a->ops->send(a, 1, RONDO_LANE_PAIR, &big);
        }
    }
    assert_int_equal(big.done_bytes, sizeof data);
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_PAIR, &small), RONDO_OK);
    other.done_bytes = 0;
    assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &other), RONDO_OK);
    couple_end(&two);
}

/* The same piece is shown until it is consumed. */
static void
peeking_takes_nothing(void **state)
{
    struct couple two;
    rondo_incoming piece;

    (void)state;
    couple_make(&two, &layouts[1]);
    assert_int_equal(send_one(two.a, "first", 5), RONDO_OK);
    assert_int_equal(send_one(two.a, "second", 6), RONDO_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(two.b->ops->peek(two.b, 0, RONDO_LANE_COLL, &piece), RONDO_OK);
        assert_int_equal(piece.bytes, 5);
        assert_memory_equal(piece.data, "first", 5);
    }
    two.b->ops->consume(two.b, 0, RONDO_LANE_COLL);
    assert_int_equal(two.b->ops->peek(two.b, 0, RONDO_LANE_COLL, &piece), RONDO_OK);
    assert_int_equal(piece.bytes, 6);
    couple_end(&two);
}

static void
creation_survives_any_refused_allocation(void **state)
{
    rondo_status status = RONDO_ERR_MEMORY;
    rondo_transport *transport = NULL;
    struct scene scene;

    (void)state;
    scene_set(&scene, &layouts[6]);
    const rondo_shm_setup setup = scene_setup(&scene, 1);
    uint64_t nth = 1;
    for (; status != RONDO_OK; nth++) {
        assert_true(nth < 100);
        (void)rondo_alloc_fail_after(nth);
        status = rondo_shm_create(&setup, &transport);
        (void)rondo_alloc_fail_after(0);
        assert_true(status == RONDO_OK || status == RONDO_ERR_MEMORY);
        assert_true(status == RONDO_OK ? transport != NULL : transport == NULL);
    }
    assert_true(nth > 3);
    transport->ops->destroy(transport);
    scene_end(&scene);
}

/* --- signals ---------------------------------------------------------------------- */

#define SIGNALS 20000

/* Data written before a signal is seen by whoever sees the signal. */
static void
signal_after_data(rank_self *self)
{
    const struct scene *const scene = self->user;
    const rondo_shm_setup setup = scene_setup(scene, self->rank);
    const uint64_t deadline_ns = rondo_deadline_ns(PATIENCE_MS);
    /* One plain word per rank, where the segment ends: no chunk is used here. */
    uint64_t *const board =
        (void *)((unsigned char *)scene->memory + rondo_shm_bytes(&scene->layout) - 64);
    const uint32_t peer = 1 - self->rank;
    rondo_transport *transport = NULL;

    if (!rank_expect_status(self, rondo_shm_create(&setup, &transport), RONDO_OK, NULL,
                            "create")) {
        return;
    }
    for (uint64_t value = 1; value <= SIGNALS; value++) {
        board[self->rank] = value * 3;
        transport->ops->signal(transport, value);
        while (transport->ops->signalled(transport, peer) < value) {
            if (!rank_expect(self, rondo_now_ns() < deadline_ns, "no signal")) {
                return;
            }
            (void)sched_yield();
        }
        rank_expect(self, board[peer] == value * 3, "stale data behind signal %llu",
                    (unsigned long long)value);
        /* Nobody overwrites before the other has looked. */
        const rondo_lane lane = RONDO_LANE_COLL;
        rondo_outgoing done = {.bytes = 0};
        rondo_incoming piece;
        while (transport->ops->send(transport, peer, lane, &done) == RONDO_BUSY) {
        }
        while (transport->ops->peek(transport, peer, lane, &piece) == RONDO_BUSY) {
            (void)sched_yield();
        }
        transport->ops->consume(transport, peer, lane);
    }
    transport->ops->destroy(transport);
}

static void
a_signal_carries_what_was_before_it(void **state)
{
    const rondo_shm_layout layout = {
        .nlocal = 2, .slots = 2, .cells = 4, .chunk_bytes = 64};

    (void)state;
    for (rank_kind kind = AS_PROCESSES; kind <= AS_THREADS; kind++) {
        struct scene scene;
        scene_set(&scene, &layout);
        run_ranks(2, kind, signal_after_data, &scene, 2 * PATIENCE_MS);
        scene_end(&scene);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives_between_processes),
        cmocka_unit_test(everything_arrives_between_threads),
        cmocka_unit_test(sharers_are_some_ranks_of_many),
        cmocka_unit_test(default_layout_works),
        cmocka_unit_test(a_full_ring_opens_after_half),
        cmocka_unit_test(a_free_chunk_is_used_at_once),
        cmocka_unit_test(pieces_are_packed),
        cmocka_unit_test(messages_do_not_mix),
        cmocka_unit_test(peeking_takes_nothing),
        cmocka_unit_test(creation_survives_any_refused_allocation),
        cmocka_unit_test(a_signal_carries_what_was_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
