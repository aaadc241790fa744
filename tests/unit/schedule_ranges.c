/* schedule_ranges.c - the list of ranges against a plain array that does the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/model.h"
#include "schedule/ranges.h"

#define ELEMENTS 400

/* The plain array: who wrote each element, and whether a range begins there. */
struct plain {
    uint64_t writer[ELEMENTS];
    bool begins[ELEMENTS];
};

static rondo_ranges_place
cut(rondo_ranges *ranges, struct plain *plain, uint64_t at)
{
    rondo_ranges_place place;

    assert_int_equal(rondo_ranges_cut(ranges, at, &place), RONDO_OK);
    assert_int_equal(rondo_ranges_at(ranges, place)->first, at);
    if (at < ELEMENTS) {
        plain->begins[at] = true;
    }
    return place;
}

/* Both say the same, range by range. */
static void
compare(rondo_ranges *ranges, struct plain *plain)
{
    rondo_ranges_place place = cut(ranges, plain, 0);

    for (uint64_t at = 0; at < ELEMENTS; at++) {
        const rondo_range *const range = rondo_ranges_at(ranges, place);

        if (plain->begins[at]) {
            assert_int_equal(range->first, at);
            assert_int_equal(range->writer, plain->writer[at]);
            place = rondo_ranges_next(ranges, place);
        }
    }
    const rondo_range *const last = rondo_ranges_at(ranges, place);
    if (last != NULL) {
        assert_true(last->first >= ELEMENTS);
    }
}

/* Writes [first, end) the way the builder does: cut out, join, label. */
static void
write_run(rondo_ranges *ranges, struct plain *plain, uint64_t first, uint64_t end,
          uint64_t writer)
{
    (void)cut(ranges, plain, end);
    const rondo_ranges_place place = cut(ranges, plain, first);

    rondo_ranges_join(ranges, place, end);
    *rondo_ranges_at(ranges, place) = (rondo_range){.first = first, .writer = writer};
    for (uint64_t at = first; at < end; at++) {
        plain->writer[at] = writer;
        plain->begins[at] = at == first;
    }
}

static void
test_random(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        rondo_ranges ranges = {0};
        struct plain plain = {{0}, {0}};
        /* Short runs make many leaves, long ones take them away again. */
        const uint64_t longest = round % 3 == 0 ? 3 : (round % 3 == 1 ? 40 : ELEMENTS);

        for (uint64_t writer = 1; writer < 300; writer++) {
            const uint64_t first = model_random(&seed) % ELEMENTS;
            const uint64_t count = 1 + model_random(&seed) % longest;
            const uint64_t end = first + count > ELEMENTS ? ELEMENTS : first + count;

            if (writer % 5 == 0) {
                (void)cut(&ranges, &plain, first);
            } else {
                write_run(&ranges, &plain, first, end, writer);
            }
            if (writer % 20 == 0) {
                compare(&ranges, &plain);
            }
        }
        compare(&ranges, &plain);
        rondo_ranges_clear(&ranges);
    }
}

/* One element at a time, upwards and downwards, then all in one. */
static void
test_order(void **state)
{
    (void)state;
    for (uint32_t down = 0; down < 2; down++) {
        rondo_ranges ranges = {0};
        struct plain plain = {{0}, {0}};

        for (uint64_t at = 0; at < ELEMENTS; at++) {
            const uint64_t first = down == 1 ? ELEMENTS - 1 - at : at;

            write_run(&ranges, &plain, first, first + 1, at + 1);
        }
        compare(&ranges, &plain);
        write_run(&ranges, &plain, 0, ELEMENTS, ELEMENTS + 1);
        compare(&ranges, &plain);
        rondo_ranges_clear(&ranges);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
