/* control_links.c - links between hosts: who joins, leaves and breaks is known on
 * all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lib/linked.h"

static const uint32_t shapes[][LINKED_HOSTS + 1] = {
    {1, 1, 0},    {2, 2, 0},       {3, 1, 0},       {1, 3, 0},
    {1, 1, 1, 0}, {1, 1, 1, 1, 0}, {4, 2, 1, 3, 0}, {2, 2, 2, 2, 2, 2, 0},
};

#define SHAPES (sizeof shapes / sizeof shapes[0])

static bool
all_present(linked *cast, uint32_t presence)
{
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        for (uint32_t rank = 0; rank < cast->nranks; rank++) {
            if (rondo_board_presence(&cast->boards[host], rank) !=
                (rondo_presence)presence) {
                return false;
            }
        }
    }
    return true;
}

static bool
all_broken(linked *cast, uint32_t reporter)
{
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        rondo_breakage why;
        if (!rondo_board_breakage(&cast->boards[host], &why) ||
            why.reporter != reporter ||
            strcmp(why.text, cast->stage->why[reporter].text) != 0) {
            return false;
        }
    }
    return true;
}

static bool
any_broken(linked *cast, uint32_t unused)
{
    (void)unused;
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        if (rondo_board_broken(&cast->boards[host])) {
            return true;
        }
    }
    return false;
}

static void
assert_wires(linked *cast)
{
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        for (uint32_t rank = 0; rank < cast->nranks; rank++) {
            char want[64];
            char got[RONDO_BOARD_WIRE_MAX];
            size_t bytes = sizeof got;
            const int length = snprintf(want, sizeof want, "wire of rank %u", rank);
            assert_int_equal(rondo_board_wire(&cast->boards[host], rank, got, &bytes),
                             RONDO_OK);
            assert_int_equal(bytes, length);
            assert_memory_equal(got, want, bytes);
        }
    }
}

static void
from_beginning_to_end(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        linked cast;
        linked_open(shapes[i], &cast);
        for (uint32_t rank = 0; rank < cast.nranks; rank++) {
            char want[16];
            (void)snprintf(want, sizeof want, "if%u", cast.stage->host_of[rank]);
            assert_string_equal(cast.stage->text[rank], want);
            assert_true(cast.stage->took_ns[rank] < 5 * RONDO_NS_PER_S);
        }
        assert_true(all_present(&cast, RONDO_ABSENT));
        linked_do_all(&cast, 'j');
        assert_true(linked_until(&cast, all_present, RONDO_JOINED, 5000));
        assert_wires(&cast);
        linked_do_all(&cast, 'l');
        assert_false(any_broken(&cast, 0));
        for (uint32_t rank = 0; rank < cast.nranks; rank++) {
            assert_true(cast.stage->took_ns[rank] < RONDO_NS_PER_S);
        }
        assert_true(linked_end(&cast));
    }
}

/* Every rank of every shape says why it broke; all hosts know who said so. */
static void
breaking_reaches_all(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        linked cast;
        linked_open(shapes[i], &cast);
        linked_do_all(&cast, 'j');
        const uint32_t rank = (i * 7 + 1) % cast.nranks;
        cast.stage->why[rank] =
            (rondo_breakage){.status = RONDO_ERR_MISMATCH, .culprit = rank};
        (void)snprintf(cast.stage->why[rank].text, RONDO_BOARD_TEXT_MAX,
                       "rank %u has had enough", rank);
        linked_do(&cast, rank, i % 2 == 0 ? 'b' : 'B');
        assert_true(linked_until(&cast, all_broken, rank, 3000));
        assert_true(linked_end(&cast));
    }
}

/* Whether all hosts that still have ranks know that `rank` has left. */
static bool
has_left(linked *cast, uint32_t rank)
{
    for (uint32_t i = 0; i < cast->nranks; i++) {
        if (!cast->gone[i] &&
            rondo_board_presence(linked_board(cast, i), rank) != RONDO_LEFT) {
            return false;
        }
    }
    return true;
}

/* One after the other, from either end: the others learn of it, also when their leader
 * or the hub has gone before. */
static void
leaving_is_known(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * SHAPES; i++) {
        linked cast;
        linked_open(shapes[i / 2], &cast);
        linked_do_all(&cast, 'j');
        assert_true(linked_until(&cast, all_present, RONDO_JOINED, 5000));
        for (uint32_t at = 0; at < cast.nranks; at++) {
            const uint32_t rank = i % 2 == 0 ? at : cast.nranks - 1 - at;
            linked_do(&cast, rank, 'l');
            assert_in_range(cast.stage->took_ns[rank], 0, RONDO_NS_PER_S);
            cast.gone[rank] = true;
            assert_true(linked_until(&cast, has_left, rank, 1000));
            assert_false(any_broken(&cast, 0));
        }
        memset(cast.gone, 0, sizeof cast.gone);
        assert_true(linked_end(&cast));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_beginning_to_end),
        cmocka_unit_test(breaking_reaches_all),
        cmocka_unit_test(leaving_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
