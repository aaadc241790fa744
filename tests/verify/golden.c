/* golden.c - small schedules of every row as text, compared with tests/golden, so that
 * a change shows in review. With --write they are written anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/schedules.h"

static const uint32_t two_by_two[] = {0, 1, 0, 1};
static const uint32_t three_and_one[] = {0, 0, 1, 0};
static const uint32_t two_by_four[] = {0, 0, 0, 0, 1, 1, 1, 1};
static const uint32_t in_halves[] = {0, 0, 1, 1, 0, 0, 1, 1};

/* What each row is shown with; what has hosts is for the rows that look at levels. */
static const struct golden {
    const char *name;
    enum places places;
    rondo_coll coll;
    const uint32_t *host_of;
    const uint32_t *part_of;
} goldens[] = {
    {"2", PLACES_APART, {.nranks = 2, .count = 4}, NULL, NULL},
    {"3_in_place", PLACES_IN_PLACE, {.nranks = 3, .count = 7}, NULL, NULL},
    {"5_mixed_segments",
     PLACES_MIXED,
     {.nranks = 5, .count = 12, .segment = 4, .root = 0},
     NULL,
     NULL},
    {"2x2", PLACES_APART, {.nranks = 4, .count = 9}, two_by_two, NULL},
    {"3_and_1_in_place",
     PLACES_IN_PLACE,
     {.nranks = 4, .count = 5, .inner = RONDO_SHAPE_ONE_SHOT},
     three_and_one,
     NULL},
    {"2x2_mixed_segments",
     PLACES_MIXED,
     {.nranks = 4, .count = 24, .segment = 8, .outer = RONDO_SHAPE_ONE_SHOT},
     two_by_two,
     NULL},
    {"2x2x2",
     PLACES_APART,
     {.nranks = 8, .count = 8, .outer = RONDO_SHAPE_TREE},
     two_by_four,
     in_halves},
};

#define GOLDENS (sizeof goldens / sizeof goldens[0])

static bool writing;

static void
path_of(const rondo_algo *algo, const char *name, char *path, size_t room)
{
    const char *const source = getenv("RONDO_SOURCE");

    if (source == NULL) {
        fail_msg("RONDO_SOURCE names the source tree; ctest sets it");
    }
    (void)snprintf(path, room, "%s/tests/golden/%s_%s_%s.txt", source,
                   rondo_coll_text(algo->kind), algo->shape, name);
}

/* All ranks' schedules, one behind the other. */
static char *
text_of(const rondo_algo *algo, const struct golden *golden)
{
    char *text = NULL;
    size_t bytes = 0;
    schedules set;
    rondo_coll coll = golden->coll;
    FILE *const out = open_memstream(&text, &bytes);

    assert_non_null(out);
    if (golden->host_of != NULL) {
        assert_int_equal(rondo_levels_create(coll.nranks, golden->host_of,
                                             golden->part_of, &coll.levels),
                         RONDO_OK);
    }
    schedules_build(algo, &coll, golden->places, &set);
    for (uint32_t rank = 0; rank < set.nranks; rank++) {
        assert_int_equal(rondo_schedule_print(set.of[rank], out), RONDO_OK);
    }
    schedules_clear(&set);
    rondo_levels_destroy(coll.levels);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *
read_file(const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const in = fopen(path, "r");

    if (in == NULL) {
        fail_msg("%s is missing: run this test with --write, and read what it wrote",
                 path);
    }
    if (getdelim(&text, &bytes, '\0', in) < 0) {
        fail_msg("%s is empty", path);
    }
    assert_int_equal(fclose(in), 0);
    return text;
}

static void
write_file(const char *path, const char *text)
{
    FILE *const out = fopen(path, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void
test_golden(void **state)
{
    char path[4096];

    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_algo *const algo = rondo_algo_at(row);

        for (size_t at = 0; at < GOLDENS; at++) {
            if (goldens[at].host_of != NULL && row != RONDO_ALGO_all_reduce_levels) {
                continue;
            }
            char *const text = text_of(algo, &goldens[at]);

            path_of(algo, goldens[at].name, path, sizeof path);
            if (writing) {
                write_file(path, text);
            }
            char *const known = read_file(path);
            if (strcmp(text, known) != 0) {
                fail_msg("%s is no longer what is built; if it should not be, run this "
                         "test with --write\n%s",
                         path, text);
            }
            free(known);
            free(text);
        }
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};

    writing = argc > 1 && strcmp(argv[1], "--write") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
