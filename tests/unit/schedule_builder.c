/* schedule_builder.c - what the builder appends, what it leaves out, what it
 * refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/schedules.h"
#include "schedule/blocks.h"

static rondo_schedule *
begin(rondo_coll coll)
{
    rondo_schedule *schedule = NULL;

    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_OK);
    return schedule;
}

/* The steps, one a line, without the two lines in front and the one behind. */
static void
expect(rondo_schedule *schedule, const char *steps)
{
    assert_int_equal(rondo_schedule_seal(schedule), RONDO_OK);
    char *const text = schedules_text(schedule);
    const char *const first = strchr(strchr(text, '\n') + 1, '\n') + 1;
    const size_t bytes = strlen(first) - strlen("end\n");

    if (bytes != strlen(steps) || strncmp(first, steps, bytes) != 0) {
        fail_msg("wanted\n%sgot\n%s", steps, first);
    }
    free(text);
    rondo_schedule_destroy(schedule);
}

/* In place one memory has one name; apart and for peers names stay as they are. */
static void
test_in_place(void **state)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 1, 2);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 1, 2);
    const struct {
        rondo_coll coll;
        const char *steps;
    } cases[] = {
        {{.kind = RONDO_COLL_ALL_REDUCE, .rank = 2, .nranks = 4, .count = 5},
         "0 send in[1+2] to 0\n1 send out[1+2] to 0 needs 0\n"},
        {{.kind = RONDO_COLL_ALL_REDUCE,
          .rank = 2,
          .nranks = 4,
          .count = 5,
          .in_place = 1},
         "0 send out[1+2] to 0\n1 send out[1+2] to 0 needs 0\n"},
        {{.kind = RONDO_COLL_BROADCAST,
          .rank = 2,
          .nranks = 4,
          .count = 5,
          .in_place = 1},
         "0 send out[1+2] to 0\n1 send out[1+2] to 0 needs 0\n"},
        {{.kind = RONDO_COLL_REDUCE,
          .rank = 2,
          .root = 2,
          .nranks = 4,
          .count = 5,
          .in_place = 1},
         "0 send out[1+2] to 0\n1 send out[1+2] to 0 needs 0\n"},
        {{.kind = RONDO_COLL_REDUCE,
          .rank = 2,
          .root = 1,
          .nranks = 4,
          .count = 5,
          .in_place = 1},
         "0 send in[1+2] to 0\n1 send out[1+2] to 0 needs 0\n"},
        {{.kind = RONDO_COLL_ALL_GATHER,
          .rank = 2,
          .nranks = 4,
          .count = 5,
          .in_place = 1},
         "0 send out[11+2] to 0\n1 send out[1+2] to 0 needs 0\n"},
        {{.kind = RONDO_COLL_REDUCE_SCATTER,
          .rank = 2,
          .nranks = 4,
          .count = 5,
          .in_place = 1},
         "0 send in[1+2] to 0\n1 send in[11+2] to 0 needs 0\n"},
    };

    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        rondo_schedule *const schedule = begin(cases[at].coll);

        rondo_schedule_send(schedule, 0, in);
        rondo_schedule_send(schedule, 0, out);
        expect(schedule, cases[at].steps);
    }
}

/* Nothing for nothing, on either side; no copy of a thing to itself. */
static void
test_nothing(void **state)
{
    rondo_schedule *const schedule = begin((rondo_coll){.kind = RONDO_COLL_ALL_REDUCE,
                                                        .rank = 1,
                                                        .nranks = 2,
                                                        .count = 4,
                                                        .in_place = true});
    const rondo_slice none = rondo_slice_make(RONDO_BUF_OUT, 2, 0);
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, 4);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, 4);
    const rondo_slice mine = rondo_slice_of(1, RONDO_BUF_OUT, 0, 4);

    (void)state;
    rondo_schedule_send(schedule, 0, none);
    rondo_schedule_recv(schedule, 0, none);
    rondo_schedule_copy(schedule, none, none);
    rondo_schedule_reduce(schedule, none, none, none);
    rondo_schedule_reduce_final(schedule, none, none, none);
    rondo_schedule_copy(schedule, out, in);
    rondo_schedule_copy(schedule, out, mine);
    expect(schedule, "");
}

static void
test_steps(void **state)
{
    rondo_schedule *const schedule = begin((rondo_coll){
        .kind = RONDO_COLL_ALL_REDUCE, .rank = 1, .nranks = 3, .count = 4});
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, 4);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, 4);
    const rondo_slice scratch = rondo_schedule_scratch(schedule, 4);
    const rondo_slice wire = rondo_schedule_wire(schedule, 4);
    const rondo_slice theirs = rondo_slice_of(2, RONDO_BUF_IN, 0, 4);
    const rondo_slice more = rondo_schedule_scratch(schedule, 3);

    (void)state;
    assert_int_equal(more.first, 4);
    assert_int_equal(schedule->scratch_count, 7);
    assert_int_equal(schedule->wire_count, 4);
    rondo_schedule_recv(schedule, 0, scratch);
    rondo_schedule_reduce(schedule, scratch, scratch, in);
    rondo_schedule_encode(schedule, wire, scratch);
    rondo_schedule_send(schedule, 2, wire);
    rondo_schedule_decode(schedule, out, wire);
    rondo_schedule_signal(schedule);
    rondo_schedule_wait(schedule, 2, 1);
    rondo_schedule_reduce_final(schedule, out, scratch, theirs);
    rondo_schedule_copy(schedule, rondo_slice_part(more, 1, 2),
                        rondo_slice_part(out, 2, 2));
    expect(schedule, "0 recv scratch[0+4] from 0 reader 1\n"
                     "1 reduce scratch[0+4] = scratch[0+4] op in[0+4] needs 0\n"
                     "2 encode wire[0+4] = scratch[0+4] needs 1\n"
                     "3 send wire[0+4] to 2 needs 2\n"
                     "4 decode out[0+4] = wire[0+4] needs 2\n"
                     "5 signal 1 needs 3 4\n"
                     "6 wait 1 of 2\n"
                     "7 finish out[0+4] = scratch[0+4] op 2:in[0+4] needs 1 4 6\n"
                     "8 copy scratch[5+2] = out[2+2] needs 7\n");
}

static void
test_refused(void **state)
{
    const rondo_coll good = {.kind = RONDO_COLL_REDUCE, .nranks = 2, .count = 1};
    rondo_coll bad[5] = {good, good, good, good, good};
    rondo_schedule *schedule = NULL;

    (void)state;
    bad[0].nranks = 0;
    bad[1].rank = 2;
    bad[2].root = 2;
    bad[3].kind = RONDO_COLLS;
    bad[4].count = UINT64_MAX;
    for (size_t at = 0; at < sizeof bad / sizeof bad[0]; at++) {
        assert_int_equal(rondo_schedule_create(&bad[at], &schedule), RONDO_ERR_ARG);
        assert_null(schedule);
    }
    const rondo_algo *const algo = rondo_algo_find(RONDO_COLL_REDUCE, "tree");
    assert_int_equal(rondo_algo_build(algo, &bad[2], &schedule), RONDO_ERR_ARG);
    assert_non_null(strstr(rondo_error_text(), "root 2"));
    assert_null(schedule);
    rondo_schedule_destroy(NULL);
}

/* More scratch than can be numbered; what follows is not appended. */
static void
test_sticky(void **state)
{
    rondo_schedule *const schedule =
        begin((rondo_coll){.kind = RONDO_COLL_ALL_REDUCE, .nranks = 2, .count = 4});
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, 4);

    (void)state;
    rondo_schedule_send(schedule, 1, in);
    (void)rondo_schedule_scratch(schedule, UINT64_MAX);
    (void)rondo_schedule_scratch(schedule, 1);
    rondo_schedule_send(schedule, 1, in);
    rondo_schedule_signal(schedule);
    assert_int_equal(schedule->nsteps, 1);
    assert_int_equal(schedule->signals, 0);
    assert_int_equal(rondo_schedule_seal(schedule), RONDO_ERR_ARG);
    rondo_schedule_destroy(schedule);
}

static void
test_table(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_algo *const algo = rondo_algo_at(row);

        assert_ptr_equal(rondo_algo_find(algo->kind, algo->shape), algo);
        assert_true(strlen(algo->good_for) > 0);
    }
    assert_null(rondo_algo_find(RONDO_COLL_ALL_REDUCE, "hexagon"));
    assert_null(rondo_algo_find(RONDO_COLL_BARRIER, "ring"));
    assert_string_equal(rondo_coll_text(RONDO_COLL_ALL_GATHER), "all_gather");
    assert_string_equal(rondo_coll_text(RONDO_COLLS), "?");
}

/* Blocks tile the vector, the longer ones first. */
static void
test_blocks(void **state)
{
    (void)state;
    for (uint64_t blocks = 1; blocks < 20; blocks++) {
        for (uint64_t count = 0; count < 60; count++) {
            uint64_t first = 0;

            for (uint64_t index = 0; index < blocks; index++) {
                const uint64_t length = rondo_block_count(count, blocks, index);

                assert_int_equal(rondo_block_first(count, blocks, index), first);
                assert_true(length == count / blocks || length == count / blocks + 1);
                assert_true(index == 0 ||
                            length <= rondo_block_count(count, blocks, index - 1));
                first += length;
            }
            assert_int_equal(first, count);
        }
    }
    assert_int_equal(rondo_ring_back(0, 1, 5), 4);
    assert_int_equal(rondo_ring_back(3, 5, 5), 3);
    assert_int_equal(rondo_ring_back(UINT32_MAX - 2, 7, UINT32_MAX - 1),
                     UINT32_MAX - 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sticky),   cmocka_unit_test(test_table),
        cmocka_unit_test(test_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
