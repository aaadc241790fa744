/* exec_ready.c - the set of ready steps against a plain array of booleans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "exec/ready.h"

static uint64_t
least_of(const bool *plain, uint64_t indexes)
{
    uint64_t least = 0;

    while (least < indexes && !plain[least]) {
        least++;
    }
    return least;
}

/* Adds and takes in an order that a seed decides, until all is empty again. */
static void
check_size(uint64_t indexes)
{
    const uint64_t nwords = rondo_ready_words(indexes);
    uint64_t *const words = calloc(nwords + 1, sizeof *words);
    bool *const plain = calloc(indexes + 1, sizeof *plain);
    rondo_ready ready;
    uint64_t inside = 0;

    words[nwords] = 77;
    rondo_ready_init(&ready, indexes, words);
    assert_false(rondo_ready_any(&ready));
    for (uint64_t turn = 0; turn < 600 || inside > 0; turn++) {
        const uint64_t index = rondo_hash_mix(indexes * 1000 + turn) % indexes;

        if (turn < 600 && (inside == 0 || rondo_hash_mix(turn) % 5 < 3)) {
            inside += plain[index] ? 0 : 1;
            plain[index] = true;
            rondo_ready_add(&ready, index);
        } else {
            const uint64_t least = least_of(plain, indexes);
            assert_int_equal(rondo_ready_take(&ready), least);
            plain[least] = false;
            inside--;
        }
        assert_int_equal(rondo_ready_any(&ready), inside > 0);
    }
    for (uint64_t at = 0; at < nwords; at++) {
        assert_int_equal(words[at], 0);
    }
    assert_int_equal(words[nwords], 77);
    free(words);
    free(plain);
}

static void
takes_the_least(void **state)
{
    static const uint64_t sizes[] = {1,    2,    63,   64,     65,     127,  128,
                                     4095, 4096, 4097, 262143, 262145, 70000};

    (void)state;
    for (uint64_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        check_size(sizes[at]);
    }
}

static void
holds_every_index(void **state)
{
    (void)state;
    const uint64_t nwords = rondo_ready_words(UINT32_MAX);
    uint64_t levels = 0;

    /* Six levels are enough for 64^6 indexes; an index has 32 bits. */
    for (uint64_t left = UINT32_MAX; left > 1; left = (left + 63) / 64) {
        levels++;
    }
    assert_true(levels <= RONDO_READY_LEVELS);
    assert_true(nwords > UINT32_MAX / 64);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_least),
        cmocka_unit_test(holds_every_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
