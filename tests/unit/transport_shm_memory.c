/* transport_shm_memory.c - how much memory a segment takes, and when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "transport/shm/segment.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define MANY 64

/* A segment whose file may be shorter than its mapping: memory that cannot be had. */
struct store {
    int fd;
    unsigned char *memory;
    uint64_t bytes;
};

static void
store_make(struct store *store, const rondo_shm_layout *layout)
{
    store->bytes = rondo_shm_bytes(layout);
    store->fd = memfd_create("rondo test", MFD_CLOEXEC);
    assert_true(store->fd >= 0);
    assert_int_equal(ftruncate(store->fd, (off_t)store->bytes), 0);
    store->memory = mmap(NULL, store->bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE, store->fd, 0);
    assert_ptr_not_equal(store->memory, MAP_FAILED);
}

static void
store_end(const struct store *store)
{
    (void)munmap(store->memory, store->bytes);
    (void)close(store->fd);
}

static uint64_t
store_used(const struct store *store)
{
    struct stat about;

    assert_int_equal(fstat(store->fd, &about), 0);
    return (uint64_t)about.st_blocks * 512;
}

static rondo_transport *
sharer(const struct store *store, const rondo_shm_layout *layout, uint32_t me)
{
    static uint32_t ranks[MANY];
    rondo_transport *transport = NULL;
    const rondo_shm_setup setup = {*layout, store->memory, me, layout->nlocal, ranks};

    for (uint32_t place = 0; place < layout->nlocal; place++) {
        ranks[place] = place;
    }
    assert_int_equal(rondo_shm_create(&setup, &transport), RONDO_OK);
    return transport;
}

/* --- layouts ---------------------------------------------------------------------- */

static bool
is_power_of_two(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static void
layouts_are_sane_for_all_counts(void **state)
{
    static const uint64_t chunks[] = {0, 1, 64, 100, 16 * KIB, 1 * MIB, 64 * MIB};

    (void)state;
    for (uint32_t nlocal = 1; nlocal <= 512; nlocal += nlocal < 130 ? 1 : 97) {
        for (uint64_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
            const rondo_shm_layout layout = rondo_shm_layout_default(nlocal, chunks[i]);
            assert_int_equal(layout.nlocal, nlocal);
            assert_true(layout.slots >= 2);
            assert_true(is_power_of_two(layout.cells) && layout.cells >= 2);
            assert_true(layout.chunk_bytes > 0 && layout.chunk_bytes % 64 == 0);
            assert_true(layout.chunk_bytes >= chunks[i]);
            assert_true(rondo_shm_bytes(&layout) % 4096 == 0);
            assert_true(chunks[i] != 0 || nlocal > 128 ||
                        rondo_shm_bytes(&layout) < 2 * GIB + 64 * MIB);
        }
    }
}

struct span {
    uintptr_t first;
    uintptr_t end;
};

static int
by_first(const void *a, const void *b)
{
    const uintptr_t left = ((const struct span *)a)->first;
    const uintptr_t right = ((const struct span *)b)->first;

    return (left > right) - (left < right);
}

/* Every part of every channel, sorted: none overlaps the next, all lie inside. */
static void
parts_do_not_overlap(void **state)
{
    static unsigned char *const base = (unsigned char *)(uintptr_t)GIB;

    (void)state;
    for (uint32_t nlocal = 1; nlocal <= 20; nlocal += 1 + nlocal / 4) {
        const rondo_shm_layout layout = rondo_shm_layout_default(nlocal, 0);
        const rondo_shm_segment segment = rondo_shm_segment_at(&layout, base);
        const uint64_t room = nlocal + 2 * (uint64_t)nlocal * nlocal * RONDO_LANES;
        struct span *const spans = calloc(room, sizeof *spans);
        uint64_t n = 0;
        assert_non_null(spans);
        for (uint32_t to = 0; to < nlocal; to++) {
            const uintptr_t desk = (uintptr_t)rondo_shm_desk_of(&segment, to);
            spans[n++] = (struct span){desk, desk + sizeof(struct rondo_shm_desk)};
            for (uint32_t from = 0; from < nlocal; from++) {
                for (rondo_lane lane = 0; from != to && lane < RONDO_LANES; lane++) {
                    const rondo_shm_pair pair = {from, to};
                    const uintptr_t ring =
                        (uintptr_t)rondo_shm_ring_of(&segment, pair, lane);
                    const uintptr_t store =
                        (uintptr_t)rondo_shm_store_of(&segment, pair, lane);
                    assert_true(ring % RONDO_SHM_APART == 0);
                    assert_true(store % RONDO_SHM_LINE == 0);
                    spans[n++] = (struct span){ring, ring + segment.ring_bytes};
                    spans[n++] = (struct span){store, store + segment.store_bytes};
                }
            }
        }
        qsort(spans, n, sizeof *spans, by_first);
        assert_true(spans[0].first >= (uintptr_t)base);
        for (uint64_t i = 1; i < n; i++) {
            assert_true(spans[i].first >= spans[i - 1].end);
        }
        assert_true(spans[n - 1].end <= (uintptr_t)base + segment.bytes);
        free(spans);
    }
}

/* --- what is really used ---------------------------------------------------------- */

static void
pass_message(rondo_transport *from, rondo_transport *to, uint32_t from_rank,
             uint32_t to_rank, uint64_t bytes)
{
    static const unsigned char data[64 << 10];
    rondo_outgoing message = {.data = data, .bytes = bytes};
    rondo_incoming piece = {.last = false};
    rondo_status sent = RONDO_BUSY;

    assert_true(bytes <= sizeof data);
    while (!piece.last) {
        if (sent != RONDO_OK) {
            sent = from->ops->send(from, to_rank, RONDO_LANE_COLL, &message);
            assert_true(sent >= 0);
        }
        if (to->ops->peek(to, from_rank, RONDO_LANE_COLL, &piece) == RONDO_OK) {
            to->ops->consume(to, from_rank, RONDO_LANE_COLL);
        }
    }
}

/* 64 ranks, ring traffic and recursive doubling's: memory goes with what is used. */
static void
many_ranks_take_little(void **state)
{
    const rondo_shm_layout layout = rondo_shm_layout_default(MANY, 0);
    rondo_transport *sharers[MANY];
    struct store store;

    (void)state;
    store_make(&store, &layout);
    for (uint32_t r = 0; r < MANY; r++) {
        sharers[r] = sharer(&store, &layout, r);
    }
    const uint64_t idle = store_used(&store);
    for (int round = 0; round < 3; round++) {
        for (uint32_t r = 0; r < MANY; r++) {
            const uint32_t next = (r + 1) % MANY;
            pass_message(sharers[r], sharers[next], r, next, 64 * KIB);
            for (uint32_t far = 1; far < MANY; far *= 2) {
                const uint32_t peer = r ^ far;
                pass_message(sharers[r], sharers[peer], r, peer, 64 * KIB);
                pass_message(sharers[r], sharers[peer], r, peer, 8);
            }
        }
    }
    const uint64_t busy = store_used(&store);
    print_message("%u ranks: segment %llu MiB, idle %llu KiB, in use %llu KiB a rank\n",
                  MANY, (unsigned long long)(store.bytes / MIB),
                  (unsigned long long)(idle / MANY / KIB),
                  (unsigned long long)(busy / MANY / KIB));
    assert_true(store.bytes < 2 * GIB);
    assert_true(idle / MANY < 400 * KIB);
    assert_true(busy / MANY < 2 * MIB);
    for (uint32_t r = 0; r < MANY; r++) {
        sharers[r]->ops->destroy(sharers[r]);
    }
    store_end(&store);
}

/* Small messages alone reserve no chunk. */
static void
small_messages_reserve_nothing(void **state)
{
    const rondo_shm_layout layout = rondo_shm_layout_default(2, 0);
    struct store store;

    (void)state;
    store_make(&store, &layout);
    rondo_transport *const a = sharer(&store, &layout, 0);
    rondo_transport *const b = sharer(&store, &layout, 1);
    const uint64_t idle = store_used(&store);
    for (int i = 0; i < 1000; i++) {
        pass_message(a, b, 0, 1, 40);
    }
    assert_int_equal(store_used(&store), idle);
    pass_message(a, b, 0, 1, 41);
    assert_true(store_used(&store) > idle);
    a->ops->destroy(a);
    b->ops->destroy(b);
    store_end(&store);
}

/* --- when there is none ----------------------------------------------------------- */

static void
no_memory_is_an_error_not_a_signal(void **state)
{
    static const unsigned char data[100 << 10];
    const rondo_shm_layout layout = rondo_shm_layout_default(2, 0);
    struct store store;

    (void)state;
    store_make(&store, &layout);
    const rondo_shm_segment segment = rondo_shm_segment_at(&layout, store.memory);
    /* Cut the file: first all of it, then behind the rings. */
    rondo_transport *none = NULL;
    static const uint32_t ranks[] = {0, 1};
    const rondo_shm_setup setup = {layout, store.memory, 0, 2, ranks};
    assert_int_equal(ftruncate(store.fd, 0), 0);
    assert_int_equal(rondo_shm_create(&setup, &none), RONDO_ERR_MEMORY);
    assert_null(none);
    assert_non_null(strstr(rondo_error_text(), "bytes of shared memory"));
    assert_int_equal(ftruncate(store.fd, (off_t)segment.stores_at), 0);
    rondo_transport *const a = sharer(&store, &layout, 0);
    rondo_transport *const b = sharer(&store, &layout, 1);
    rondo_outgoing message = {.data = data, .bytes = sizeof data};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a->ops->send(a, 1, RONDO_LANE_COLL, &message),
                         RONDO_ERR_MEMORY);
        assert_int_equal(message.done_bytes, 0);
    }
    assert_non_null(strstr(rondo_error_text(), "bytes of shared memory"));
    pass_message(a, b, 0, 1, 40);
    /* When there is memory again the same message goes through. */
    assert_int_equal(ftruncate(store.fd, (off_t)store.bytes), 0);
    pass_message(a, b, 0, 1, 64 * KIB);
    a->ops->destroy(a);
    b->ops->destroy(b);
    store_end(&store);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_sane_for_all_counts),
        cmocka_unit_test(parts_do_not_overlap),
        cmocka_unit_test(many_ranks_take_little),
        cmocka_unit_test(small_messages_reserve_nothing),
        cmocka_unit_test(no_memory_is_an_error_not_a_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
