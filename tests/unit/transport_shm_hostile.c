/* transport_shm_hostile.c - a peer that writes anything into the segment: refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/hash.h"
#include "transport/shm/segment.h"

#define PAGE ((uint64_t)4096)

/* An honest rank 0 and a segment that its peer writes as it likes; pages that must not
 * be touched lie on both sides. */
struct stage {
    rondo_shm_layout layout;
    rondo_shm_segment segment;
    unsigned char *mapping;
    uint64_t mapping_bytes;
    rondo_transport *victim;
};

static const rondo_shm_layout layouts[] = {
    {.nlocal = 2, .slots = 2, .cells = 4, .chunk_bytes = 64},
    {.nlocal = 2, .slots = 4, .cells = 8, .chunk_bytes = 4096},
    {.nlocal = 2, .slots = 8, .cells = 2, .chunk_bytes = 1024},
};

#define NLAYOUTS (sizeof layouts / sizeof layouts[0])

static void
stage_make(struct stage *stage, const rondo_shm_layout *layout)
{
    static const uint32_t ranks[] = {0, 1};
    const uint64_t bytes = rondo_shm_bytes(layout);

    stage->layout = *layout;
    stage->mapping_bytes = bytes + 2 * PAGE;
    stage->mapping = mmap(NULL, stage->mapping_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(stage->mapping, MAP_FAILED);
    assert_int_equal(mprotect(stage->mapping, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(stage->mapping + PAGE + bytes, PAGE, PROT_NONE), 0);
    stage->segment = rondo_shm_segment_at(layout, stage->mapping + PAGE);
    const rondo_shm_setup setup = {*layout, stage->mapping + PAGE, 0, 2, ranks};
    assert_int_equal(rondo_shm_create(&setup, &stage->victim), RONDO_OK);
}

static void
stage_end(struct stage *stage)
{
    stage->victim->ops->destroy(stage->victim);
    (void)munmap(stage->mapping, stage->mapping_bytes);
}

static struct rondo_shm_ring *
ring_of(const struct stage *stage, uint32_t from, uint32_t to)
{
    return rondo_shm_ring_of(&stage->segment, (rondo_shm_pair){from, to},
                             RONDO_LANE_COLL);
}

static void
put_cell(const struct stage *stage, uint64_t position, uint32_t bytes, uint32_t flags)
{
    struct rondo_shm_ring *const ring = ring_of(stage, 1, 0);
    struct rondo_shm_cell *const cell = &ring->cells[position % stage->layout.cells];

    atomic_store(&cell->bytes, bytes);
    atomic_store(&cell->flags, flags);
    atomic_store(&cell->stamp, position + 1);
}

static rondo_status
peek(const struct stage *stage)
{
    rondo_incoming piece;

    return stage->victim->ops->peek(stage->victim, 1, RONDO_LANE_COLL, &piece);
}

/* All lengths around the limits with all flags: exactly the sane ones are taken. */
static void
a_cell_is_taken_only_if_sane(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < NLAYOUTS; i++) {
        const uint32_t chunk = (uint32_t)layouts[i].chunk_bytes;
        const uint32_t lengths[] = {0,     1,         39,         40,       41,
                                    63,    64,        65,         128,      chunk - 1,
                                    chunk, chunk + 1, chunk + 64, 1U << 31, UINT32_MAX};
        for (uint64_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            for (uint32_t flags = 0; flags < 9; flags++) {
                const uint32_t bytes = lengths[k];
                struct stage stage;
                stage_make(&stage, &layouts[i]);
                put_cell(&stage, 0, bytes, flags == 8 ? 1U << 31 : flags);
                const bool in_cell = flags == 3 && bytes <= RONDO_SHM_INLINE;
                const bool last = flags == 1 && bytes > 0 && bytes <= chunk;
                const bool middle =
                    flags == 0 && bytes > 0 && bytes <= chunk && bytes % 64 == 0;
                const rondo_status want =
                    in_cell || last || middle ? RONDO_OK : RONDO_ERR_WIRE;
                assert_int_equal(peek(&stage), want);
                if (want != RONDO_OK) {
                    assert_non_null(strstr(rondo_error_text(), "rank 1"));
                }
                stage_end(&stage);
            }
        }
    }
}

/* An empty piece cannot end a message that has begun. */
static void
an_empty_end_is_refused(void **state)
{
    struct stage stage;

    (void)state;
    stage_make(&stage, &layouts[0]);
    put_cell(&stage, 0, 64, 0);
    assert_int_equal(peek(&stage), RONDO_OK);
    stage.victim->ops->consume(stage.victim, 1, RONDO_LANE_COLL);
    put_cell(&stage, 1, 0, RONDO_SHM_LAST | RONDO_SHM_IN_CELL);
    assert_int_equal(peek(&stage), RONDO_ERR_WIRE);
    stage_end(&stage);
}

/* Only the expected stamp and the one before it are no reason to complain. */
static void
a_stamp_out_of_turn_is_refused(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < NLAYOUTS; i++) {
        const uint64_t cells = layouts[i].cells;
        struct stage stage;
        stage_make(&stage, &layouts[i]);
        struct rondo_shm_ring *const ring = ring_of(&stage, 1, 0);
        for (uint64_t position = 0; position < 3 * cells; position++) {
            const uint64_t before = position < cells ? 0 : position + 1 - cells;
            _Atomic uint64_t *const stamp = &ring->cells[position % cells].stamp;
            assert_int_equal(atomic_load(stamp), before);
            assert_int_equal(peek(&stage), RONDO_BUSY);
            const uint64_t bad[] = {position + 2, before + 1,           before - 1,
                                    UINT64_MAX,   position + 1 + cells, position};
            for (uint64_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
                if (bad[k] == before || bad[k] == position + 1) {
                    continue;
                }
                atomic_store(stamp, bad[k]);
                assert_int_equal(peek(&stage), RONDO_ERR_WIRE);
            }
            put_cell(&stage, position, 8, RONDO_SHM_LAST | RONDO_SHM_IN_CELL);
            assert_int_equal(peek(&stage), RONDO_OK);
            stage.victim->ops->consume(stage.victim, 1, RONDO_LANE_COLL);
        }
        stage_end(&stage);
    }
}

static rondo_status
send_bytes(const struct stage *stage, uint64_t bytes)
{
    static const unsigned char data[8192];
    rondo_outgoing message = {.data = data, .bytes = bytes};

    return stage->victim->ops->send(stage->victim, 1, RONDO_LANE_COLL, &message);
}

/* A receiver that claims to have consumed what was not sent, or takes it back. */
static void
consumed_out_of_bounds_is_refused(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < NLAYOUTS; i++) {
        const uint32_t cells = layouts[i].cells;
        const uint64_t bad_cells[] = {cells + 1, UINT64_MAX, 1U << 31};
        for (uint64_t k = 0; k < 3; k++) {
            struct stage stage;
            stage_make(&stage, &layouts[i]);
            struct rondo_shm_ring *const ring = ring_of(&stage, 0, 1);
            for (uint32_t n = 0; n < cells; n++) {
                assert_int_equal(send_bytes(&stage, 8), RONDO_OK);
            }
            assert_int_equal(send_bytes(&stage, 8), RONDO_BUSY);
            atomic_store(&ring->consumed.cells, bad_cells[k]);
            assert_int_equal(send_bytes(&stage, 8), RONDO_ERR_WIRE);
            atomic_store(&ring->consumed.cells, 0);
            atomic_store(&ring->consumed.bytes, k + 1);
            assert_int_equal(send_bytes(&stage, 8), RONDO_ERR_WIRE);
            atomic_store(&ring->consumed.bytes, 0);
            atomic_store(&ring->consumed.cells, 1);
            assert_int_equal(send_bytes(&stage, 8), RONDO_OK);
            atomic_store(&ring->consumed.cells, 0);
            assert_int_equal(send_bytes(&stage, 8), RONDO_ERR_WIRE);
            stage_end(&stage);
        }
    }
}

/* Noise in all that the peer may write, while the victim sends, receives and waits:
 * nothing but RONDO_OK, RONDO_BUSY and RONDO_ERR_WIRE, and no byte outside. */
static void
scribble(const struct stage *stage, uint64_t *random)
{
    const uint64_t dense = stage->segment.stores_at / sizeof(uint64_t);
    _Atomic uint64_t *const words = (void *)stage->segment.memory;
    const uint64_t place = rondo_hash_mix(*random += 3) % dense;
    const uint64_t kind = rondo_hash_mix(*random += 3);
    const uint64_t word = rondo_hash_mix(*random += 3);

    switch (kind % 4) {
    case 0:
        atomic_store(&words[place], word);
        break;
    case 1:
        atomic_store(&words[place], word % 200);
        break;
    case 2:
        atomic_fetch_add(&words[place], 1);
        break;
    default: /* a cell that may well be taken */
        put_cell(stage, word % 40, (uint32_t)(word >> 8) % 5000,
                 (uint32_t)(word >> 32) % 4);
        break;
    }
}

static uint64_t
look_at(const rondo_incoming *piece)
{
    const unsigned char *const data = piece->data;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < piece->bytes; i++) {
        sum += data[i];
    }
    return sum;
}

static bool
take(uint32_t from, uint32_t channel, const void *header, size_t header_bytes,
     const void *payload, size_t payload_bytes, void *user)
{
    (void)from;
    (void)channel;
    (void)header;
    (void)payload;
    *(uint64_t *)user += header_bytes + payload_bytes;
    return true;
}

static void
allowed(rondo_status status)
{
    assert_true(status == RONDO_OK || status == RONDO_BUSY || status == RONDO_ERR_WIRE);
}

static void
victim_step(const struct stage *stage, uint64_t *sum)
{
    static const unsigned char data[9000];
    rondo_transport *const victim = stage->victim;
    const rondo_am message = {.payload = data, .payload_bytes = 300};
    rondo_incoming piece;

    for (rondo_lane lane = RONDO_LANE_COLL; lane <= RONDO_LANE_PAIR; lane++) {
        const rondo_status status = victim->ops->peek(victim, 1, lane, &piece);
        allowed(status);
        if (status == RONDO_OK) {
            *sum += look_at(&piece);
            victim->ops->consume(victim, 1, lane);
        }
    }
    allowed(send_bytes(stage, *sum % 3 == 0 ? 8 : 5000));
    allowed(victim->ops->am_send(victim, 1, &message));
    allowed(victim->ops->am_poll(victim, 1, take, sum));
    allowed(victim->ops->progress(victim));
    *sum += victim->ops->signalled(victim, 1);
    victim->ops->sleep(victim, victim->ops->arm(victim), 0);
    victim->ops->disarm(victim);
}

static void
noise_is_survived(void **state)
{
    uint64_t sum = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        struct stage stage;
        uint64_t random = seed * 1000003;
        stage_make(&stage, &layouts[seed % NLAYOUTS]);
        for (int i = 0; i < 1500; i++) {
            scribble(&stage, &random);
            if (i % 3 == 0) {
                victim_step(&stage, &sum);
            }
        }
        stage_end(&stage);
    }
    assert_true(sum > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_is_taken_only_if_sane),
        cmocka_unit_test(an_empty_end_is_refused),
        cmocka_unit_test(a_stamp_out_of_turn_is_refused),
        cmocka_unit_test(consumed_out_of_bounds_is_refused),
        cmocka_unit_test(noise_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
