/* transport_shm_copy.c - copies are exact either way, and the quicker way is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "transport/shm/copy.h"

#define ROOM  ((uint64_t)80 << 10)
#define PIECE ((uint64_t)32 << 10)

/* Every alignment of the source, lengths around lines, both ways: all bytes there and
 * none beside them. */
static void
copies_are_exact(void **state)
{
    static const uint64_t lengths[] = {1,    63,   64,   65,    4095,  4096,
                                       4097, 4159, 4160, 10000, 32768, 70001};
    unsigned char *const from = malloc(ROOM);
    unsigned char *const to = aligned_alloc(64, ROOM);

    (void)state;
    assert_non_null(from);
    assert_non_null(to);
    for (uint64_t at = 0; at < ROOM; at++) {
        from[at] = (unsigned char)rondo_hash_mix(at);
    }
    for (uint64_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        for (uint64_t shift = 0; shift < 130; shift += shift < 66 ? 1 : 21) {
            for (int streaming = 0; streaming < 2; streaming++) {
                const uint64_t bytes = lengths[k];
                rondo_shm_pace pace = {.lap_bytes = 2 * ROOM,
                                       .spell_bytes = 2 * ROOM,
                                       .next_bytes = 2 * ROOM,
                                       .cached_cost = 100,
                                       .streamed_cost = 100,
                                       .streaming = streaming == 1};
                memset(to, 0x77, ROOM);
                rondo_shm_copy(&pace, to + 64, from + shift, bytes);
                assert_memory_equal(to + 64, from + shift, bytes);
                for (uint64_t at = 0; at < 64; at++) {
                    assert_int_equal(to[at], 0x77);
                    assert_int_equal(to[64 + bytes + at], 0x77);
                }
            }
        }
    }
    free(from);
    free(to);
}

/* --- a machine of numbers --------------------------------------------------------- */

/* What copies cost on it. A cached copy is quick again after a streamed lap. */
struct machine {
    uint64_t streamed;
    uint64_t cached_first; /* over lines that were streamed before */
    uint64_t cached;       /* over lines that were written through the cache */
    uint64_t lap;          /* copies that fill the store */
    uint64_t noise_every;  /* each so many copies one takes very long; 0: none */
    uint64_t copies;
    uint64_t cached_in_row;
};

/* Run `n` copies; the share that streamed, in percent. */
static uint64_t
run(struct machine *machine, rondo_shm_pace *pace, uint64_t n)
{
    uint64_t streamed = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t cost = machine->streamed;
        machine->copies++;
        if (pace->streaming) {
            streamed++;
            machine->cached_in_row = 0;
        } else {
            machine->cached_in_row++;
            cost = machine->cached_in_row > machine->lap ? machine->cached
                                                         : machine->cached_first;
        }
        if (machine->noise_every != 0 && machine->copies % machine->noise_every == 0) {
            cost = 50000000;
        }
        rondo_shm_pace_judge(pace, cost, PIECE);
    }
    return streamed * 100 / n;
}

static void
quick_caches_are_used(void **state)
{
    (void)state;
    for (uint64_t cached = 1; cached <= 80; cached += 8) {
        struct machine machine = {
            .streamed = 40, .cached_first = cached, .cached = cached, .lap = 64};
        rondo_shm_pace pace = {.lap_bytes = machine.lap * PIECE};
        assert_true(run(&machine, &pace, 100) <= 10);
        assert_true(run(&machine, &pace, 100000) <= 1);
    }
}

static void
slow_caches_are_not(void **state)
{
    (void)state;
    for (uint64_t lap = 2; lap <= 512; lap = lap * 2 + 16) {
        for (uint64_t cached = 200; cached <= 20000; cached *= 3) {
            struct machine machine = {
                .streamed = 40, .cached_first = 50, .cached = cached, .lap = lap};
            rondo_shm_pace pace = {.lap_bytes = machine.lap * PIECE};
            /* Of many copies, all but the first laps; and dear ones are few. */
            (void)run(&machine, &pace, 20 * (lap + 64));
            assert_true(run(&machine, &pace, 100000) >= 75);
        }
    }
}

static void
a_machine_that_changes_is_followed(void **state)
{
    struct machine machine = {.streamed = 40, .lap = 64};
    rondo_shm_pace pace = {.lap_bytes = machine.lap * PIECE};

    (void)state;
    for (int round = 0; round < 20; round++) {
        machine.cached_first = machine.cached = 30;
        (void)run(&machine, &pace, 10000);
        assert_true(run(&machine, &pace, 10000) <= 1);
        assert_false(pace.streaming);
        machine.cached_first = 50;
        machine.cached = 400;
        (void)run(&machine, &pace, 6);
        assert_true(pace.streaming);
        assert_true(run(&machine, &pace, 10000) >= 90);
    }
}

static void
interrupts_change_nothing(void **state)
{
    (void)state;
    for (uint64_t every = 10; every <= 10000; every = every * 3 + 7) {
        struct machine machine = {.streamed = 40,
                                  .cached_first = 30,
                                  .cached = 30,
                                  .lap = 64,
                                  .noise_every = every};
        rondo_shm_pace pace = {.lap_bytes = machine.lap * PIECE};
        (void)run(&machine, &pace, 1000);
        assert_true(run(&machine, &pace, 100000) <= 2);
    }
}

/* Costs of 0 and beyond all bounds do no harm. */
static void
any_cost_is_survived(void **state)
{
    rondo_shm_pace pace = {.lap_bytes = 10 * PIECE};

    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t word = rondo_hash_mix(i);
        rondo_shm_pace_judge(&pace, i % 3 == 0 ? 0 : word >> word % 64, PIECE);
        assert_true(pace.done_bytes <= pace.spell_bytes);
        assert_true(pace.next_bytes >= pace.lap_bytes);
        assert_true(pace.next_bytes <= 64 * pace.lap_bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_exact),
        cmocka_unit_test(quick_caches_are_used),
        cmocka_unit_test(slow_caches_are_not),
        cmocka_unit_test(a_machine_that_changes_is_followed),
        cmocka_unit_test(interrupts_change_nothing),
        cmocka_unit_test(any_cost_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
