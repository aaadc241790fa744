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

/* What each row is shown with. */
static const struct golden {
    const char *name;
    enum places places;
    rondo_coll coll;
} goldens[] = {
    {"2", PLACES_APART, {.nranks = 2, .count = 4}},
    {"3_in_place", PLACES_IN_PLACE, {.nranks = 3, .count = 7}},
    {"5_mixed_segments",
     PLACES_MIXED,
     {.nranks = 5, .count = 12, .segment = 4, .root = 0}},
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
    FILE *const out = open_memstream(&text, &bytes);

    assert_non_null(out);
    schedules_build(algo, &golden->coll, golden->places, &set);
    for (uint32_t rank = 0; rank < set.nranks; rank++) {
        assert_int_equal(rondo_schedule_print(set.of[rank], out), RONDO_OK);
    }
    schedules_clear(&set);
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
