/* tune_forced.c - what RONDO_ALGO may say, and what it is told when it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rondo/status.h>

#include "tune/tune.h"

static void
reads_what_there_is(void **state)
{
    rondo_tune_forced forced;

    (void)state;
    assert_int_equal(rondo_tune_forced_parse("", &forced), RONDO_OK);
    for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
        assert_int_equal(forced.algo[kind], RONDO_TUNE_FREE);
    }
    assert_false(forced.shapes);
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_algo *const algo = rondo_algo_at(row);
        char text[128];

        (void)snprintf(text, sizeof text, "%s=%s", rondo_coll_text(algo->kind),
                       algo->shape);
        assert_int_equal(rondo_tune_forced_parse(text, &forced), RONDO_OK);
        for (uint32_t kind = 0; kind < RONDO_COLLS; kind++) {
            assert_int_equal(forced.algo[kind],
                             kind == algo->kind ? row : RONDO_TUNE_FREE);
        }
        assert_false(forced.shapes);
    }
    assert_int_equal(rondo_tune_forced_parse("broadcast=tree,all_reduce=ring", &forced),
                     RONDO_OK);
    assert_int_equal(forced.algo[RONDO_COLL_ALL_REDUCE], RONDO_ALGO_all_reduce_ring);
    assert_int_equal(forced.algo[RONDO_COLL_BROADCAST], RONDO_ALGO_broadcast_tree);
}

static void
reads_every_pair_of_shapes(void **state)
{
    (void)state;
    for (uint32_t pair = 0; pair < RONDO_SHAPES * RONDO_SHAPES; pair++) {
        const rondo_shape inner = (rondo_shape)(pair / RONDO_SHAPES);
        const rondo_shape outer = (rondo_shape)(pair % RONDO_SHAPES);
        rondo_tune_forced forced;
        char text[128];

        (void)snprintf(text, sizeof text, "reduce=tree,all_reduce=levels:%s+%s",
                       rondo_shape_text(inner), rondo_shape_text(outer));
        assert_int_equal(rondo_tune_forced_parse(text, &forced), RONDO_OK);
        assert_int_equal(forced.algo[RONDO_COLL_ALL_REDUCE],
                         RONDO_ALGO_all_reduce_levels);
        assert_true(forced.shapes);
        assert_int_equal(forced.inner, inner);
        assert_int_equal(forced.outer, outer);
    }
}

static void
refuses_the_rest(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"ring", "collective=algorithm"},
        {"=ring", "no collective"},
        {"sum=ring", "no collective"},
        {"all_reduce=", "all_reduce has one_shot, ring"},
        {"all_reduce=level", "levels"},
        {"all_reduce=levelsX", "levels"},
        {"all_reduce=ring:ring+ring", "all_reduce has"},
        {"broadcast=tree:ring+ring", "broadcast has tree"},
        {"broadcast=levels", "broadcast has tree"},
        {"all_reduce=levels:",
         "INNER+OUTER has ring, one_shot, tree, halving_doubling"},
        {"all_reduce=levels:ring", "INNER+OUTER has ring"},
        {"all_reduce=levels:ring+", "INNER+OUTER has ring"},
        {"all_reduce=levels:+ring", "INNER+OUTER has ring"},
        {"all_reduce=levels:direct+ring", "INNER+OUTER has ring"},
        {"all_reduce=levels:ring+direct", "INNER+OUTER has ring"},
        {"all_reduce=levels:ring+ring+ring", "INNER+OUTER has ring"},
        {"all_reduce=levels:rin+ring", "INNER+OUTER has ring"},
        {"reduce=tree,all_reduce=levels:tree+rings",
         "\"all_reduce=levels:tree+rings\""},
    };
    char longest[400];

    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        rondo_tune_forced forced = {.inner = RONDO_SHAPE_TREE};

        assert_int_equal(rondo_tune_forced_parse(cases[at].text, &forced),
                         RONDO_ERR_ARG);
        if (strstr(rondo_error_text(), cases[at].says) == NULL) {
            fail_msg("\"%s\": %s", cases[at].text, rondo_error_text());
        }
        /* Nothing is set then. */
        assert_int_equal(forced.inner, RONDO_SHAPE_TREE);
        assert_false(forced.shapes);
    }
    memset(longest, ',', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    rondo_tune_forced forced;
    assert_int_equal(rondo_tune_forced_parse(longest, &forced), RONDO_ERR_ARG);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_there_is),
        cmocka_unit_test(reads_every_pair_of_shapes),
        cmocka_unit_test(refuses_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
