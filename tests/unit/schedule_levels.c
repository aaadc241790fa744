/* schedule_levels.c - ranks put into groups, their text, and frames of the builder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/groupings.h"
#include "lib/schedules.h"
#include "schedule/text.h"

/* --- levels ----------------------------------------------------------------------- */

static void
expect_numbers(const uint32_t *numbers, const char *wanted)
{
    char text[128] = "";

    for (size_t at = 0; wanted[at] != '\0'; at++) {
        text[at] = (char)('0' + numbers[at]);
        text[at + 1] = '\0';
    }
    assert_string_equal(text, wanted);
}

/* Whatever numbers hosts and parts go by, groups are numbered as ranks come. */
static void
test_numbers(void **state)
{
    static const uint32_t host_of[] = {77, 5, 77, 5, 77, 9};
    static const uint32_t part_of[] = {1, 1, 0, 1, 1, 0};
    const rondo_levels *levels = NULL;

    (void)state;
    assert_int_equal(rondo_levels_create(6, host_of, part_of, &levels), RONDO_OK);
    assert_int_equal(levels->nranks, 6);
    assert_int_equal(levels->depth, 3);
    assert_int_equal(rondo_levels_hosts(levels), 3);
    assert_int_equal(levels->at[0].ngroups, 1);
    assert_int_equal(levels->at[1].ngroups, 3);
    assert_int_equal(levels->at[2].ngroups, 4);
    assert_int_equal(levels->at[3].ngroups, 6);
    expect_numbers(levels->order, "042135");
    expect_numbers(levels->at[0].group_of, "000000");
    expect_numbers(levels->at[1].group_of, "010102");
    expect_numbers(levels->at[2].group_of, "021203");
    expect_numbers(levels->at[3].group_of, "032415");
    expect_numbers(levels->at[0].leaders, "0");
    expect_numbers(levels->at[1].leaders, "015");
    expect_numbers(levels->at[2].leaders, "0215");
    expect_numbers(levels->at[3].leaders, "042135");
    expect_numbers(levels->at[0].first, "06");
    expect_numbers(levels->at[1].first, "0356");
    expect_numbers(levels->at[2].first, "02356");
    expect_numbers(levels->at[3].first, "0123456");
    assert_true(rondo_levels_even(levels, 0));
    assert_false(rondo_levels_even(levels, 1));
    assert_true(rondo_levels_even(levels, 3));
    rondo_levels_destroy(levels);
    rondo_levels_destroy(NULL);
    assert_int_equal(rondo_levels_hosts(NULL), 1);
}

/* Each level tiles the ranks inside the one around it, in every grouping. */
static void
check_level(const rondo_levels *levels, uint32_t at)
{
    const rondo_level *const level = &levels->at[at];

    assert_int_equal(level->first[0], 0);
    assert_int_equal(level->first[level->ngroups], levels->nranks);
    for (uint32_t group = 0; group < level->ngroups; group++) {
        assert_true(level->first[group] < level->first[group + 1]);
        assert_int_equal(levels->order[level->first[group]], level->leaders[group]);
        for (uint32_t i = level->first[group]; i < level->first[group + 1]; i++) {
            const uint32_t rank = levels->order[i];

            assert_int_equal(level->group_of[rank], group);
            assert_true(rank >= level->leaders[group]);
            assert_true(at == 0 ||
                        levels->at[at - 1].group_of[rank] ==
                            levels->at[at - 1].group_of[level->leaders[group]]);
        }
    }
}

static void
test_tiles(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 64; nranks++) {
        for (uint32_t number = 0; number < groupings_count(); number++) {
            const rondo_levels *const levels = groupings_make(number, nranks);

            for (uint32_t at = 0; levels != NULL && at <= levels->depth; at++) {
                check_level(levels, at);
            }
            rondo_levels_destroy(levels);
        }
    }
}

static void
test_same(void **state)
{
    static const uint32_t numbers[][4] = {
        {0, 0, 1, 1}, {8, 8, 3, 3}, {0, 1, 0, 1}, {0, 0, 0, 1}};
    const rondo_levels *made[5];

    (void)state;
    for (uint32_t at = 0; at < 4; at++) {
        assert_int_equal(rondo_levels_create(4, numbers[at], NULL, &made[at]),
                         RONDO_OK);
    }
    assert_int_equal(rondo_levels_create(4, numbers[0], numbers[2], &made[4]),
                     RONDO_OK);
    for (uint32_t one = 0; one < 5; one++) {
        for (uint32_t other = 0; other < 5; other++) {
            assert_int_equal(rondo_levels_same(made[one], made[other]),
                             one == other || one + other == 1);
        }
        assert_false(rondo_levels_same(made[one], NULL));
        assert_false(rondo_levels_same(NULL, made[one]));
    }
    assert_true(rondo_levels_same(NULL, NULL));
    for (uint32_t at = 0; at < 5; at++) {
        rondo_levels_destroy(made[at]);
    }
}

static void
test_refused(void **state)
{
    static const uint32_t host_of[] = {0, 1};
    const rondo_levels *levels = NULL;
    rondo_coll coll = {.nranks = 3};
    rondo_schedule *schedule = NULL;

    (void)state;
    assert_int_equal(rondo_levels_create(0, host_of, NULL, &levels), RONDO_ERR_ARG);
    assert_int_equal(rondo_levels_create(2, NULL, host_of, &levels), RONDO_ERR_ARG);
    assert_int_equal(rondo_levels_create(UINT32_MAX, host_of, NULL, &levels),
                     RONDO_ERR_ARG);
    assert_null(levels);
    assert_int_equal(rondo_levels_create(2, host_of, NULL, &levels), RONDO_OK);
    coll.levels = levels;
    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_ERR_ARG);
    coll = (rondo_coll){.nranks = 2, .inner = RONDO_SHAPES};
    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_ERR_ARG);
    coll = (rondo_coll){.nranks = 2, .outer = RONDO_SHAPES};
    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_ERR_ARG);
    assert_null(schedule);
    rondo_levels_destroy(levels);
}

/* --- text ------------------------------------------------------------------------- */

static rondo_status
parse(const char *text, rondo_schedule **schedule)
{
    FILE *const in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_non_null(in);
    const rondo_status status = rondo_schedule_parse(in, schedule);
    assert_int_equal(fclose(in), 0);
    return status;
}

static void
test_read_back(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 9; nranks++) {
        for (uint32_t number = 0; number < groupings_count(); number++) {
            const rondo_coll coll = {.nranks = nranks,
                                     .count = 20,
                                     .inner = (rondo_shape)(number % RONDO_SHAPES),
                                     .outer = (rondo_shape)(number / 3 % RONDO_SHAPES),
                                     .levels = groupings_make(number, nranks)};
            schedules set;

            schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll,
                            PLACES_MIXED, &set);
            for (uint32_t rank = 0; rank < nranks; rank++) {
                char *const text = schedules_text(set.of[rank]);
                rondo_schedule *read = NULL;

                assert_int_equal(parse(text, &read), RONDO_OK);
                char *const again = schedules_text(read);
                assert_string_equal(text, again);
                assert_true(rondo_levels_same(read->coll.levels, coll.levels));
                /* Parsed levels are the schedule's own. */
                rondo_schedule_destroy(read);
                free(text);
                free(again);
            }
            schedules_clear(&set);
            rondo_levels_destroy(coll.levels);
        }
    }
}

#define HEAD "schedule all_reduce rank 0 of 2 root 0 count 4 segment 0 apart\n"
#define ROOM "scratch 4 wire 4 signals 1\n"

static void
test_text_refused(void **state)
{
    static const struct {
        const char *text;
        const char *sentence;
    } cases[] = {
        {HEAD "levels\n", "line 2: a shape expected"},
        {HEAD "levels ring\n", "line 2: a shape expected"},
        {HEAD "levels ring rings hosts 0 1\n", "line 2: a shape expected"},
        {HEAD "levels ring tree\n", "line 2: \"hosts\" expected"},
        {HEAD "levels ring tree hosts\n", "line 2: a number expected"},
        {HEAD "levels ring tree hosts 0\n", "line 2: a number expected"},
        {HEAD "levels ring tree hosts 0 x\n", "line 2: a number expected at \"x\""},
        {HEAD "levels ring tree hosts 0 1 2\n", "line 2: end of line expected"},
        {HEAD "levels ring tree hosts 0 1 parts\n", "line 2: a number expected"},
        {HEAD "levels ring tree hosts 0 1 parts 0 1 2\n", "line 2: end of line"},
        {HEAD "levels ring tree hosts 0 1\n", "line 3: \"scratch\" expected"},
        {HEAD "levels ring tree hosts 0 1\nlevels ring tree hosts 0 1\n",
         "line 3: \"scratch\" expected"},
        {HEAD "levels ring tree hosts 0 1\n" ROOM "0 send in[0+5] to 1\nend\n",
         "line 4: a slice reaches out"},
        {"schedule all_reduce rank 0 of 4000000000 root 0 count 4 segment 0 apart\n"
         "levels ring tree hosts 0 1\n",
         "line 2: a number expected"},
    };

    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        rondo_schedule *schedule = NULL;
        const rondo_status status = parse(cases[at].text, &schedule);

        if (status != RONDO_ERR_ARG ||
            strstr(rondo_error_text(), cases[at].sentence) == NULL) {
            fail_msg("%swanted \"%s\", got status %d, \"%s\"", cases[at].text,
                     cases[at].sentence, (int)status, rondo_error_text());
        }
        assert_null(schedule);
    }
}

/* --- frames ----------------------------------------------------------------------- */

static rondo_schedule *
begin(void)
{
    const rondo_coll coll = {.rank = 4, .nranks = 9, .count = 20};
    rondo_schedule *schedule = NULL;

    assert_int_equal(rondo_schedule_create(&coll, &schedule), RONDO_OK);
    return schedule;
}

static void
expect_steps(rondo_schedule *schedule, const char *steps)
{
    assert_int_equal(rondo_schedule_seal(schedule), RONDO_OK);
    char *const text = schedules_text(schedule);
    char *const first = strchr(strchr(text, '\n') + 1, '\n') + 1;
    first[strlen(first) - strlen("end\n")] = '\0';
    assert_string_equal(first, steps);
    free(text);
    rondo_schedule_destroy(schedule);
}

/* Peers are places, IN and OUT are what they stand for, partial sums are not final. */
static void
test_frame(void **state)
{
    static const uint32_t ranks[] = {8, 0, 4, 0, 2};
    const rondo_frame frame = {.ranks = ranks,
                               .stride = 2,
                               .nranks = 3,
                               .partial = true,
                               .in = rondo_slice_make(RONDO_BUF_OUT, 10, 6),
                               .out = rondo_slice_make(RONDO_BUF_OUT, 12, 6)};
    rondo_frame last = frame;
    rondo_schedule *const schedule = begin();

    (void)state;
    rondo_schedule_enter(schedule, &frame);
    const rondo_slice heard = rondo_schedule_scratch(schedule, 2);
    rondo_schedule_send(schedule, 0, rondo_slice_make(RONDO_BUF_IN, 0, 2));
    rondo_schedule_recv(schedule, 2, heard);
    rondo_schedule_reduce_final(schedule, rondo_slice_make(RONDO_BUF_OUT, 0, 2), heard,
                                rondo_slice_make(RONDO_BUF_IN, 2, 2));
    /* The same memory twice: nothing to copy. */
    rondo_schedule_copy(schedule, rondo_slice_make(RONDO_BUF_OUT, 2, 2),
                        rondo_slice_make(RONDO_BUF_IN, 4, 2));
    (void)rondo_schedule_leave(schedule);
    last.partial = false;
    rondo_schedule_enter(schedule, &last);
    rondo_schedule_reduce_final(schedule, rondo_slice_make(RONDO_BUF_OUT, 0, 2),
                                rondo_slice_make(RONDO_BUF_OUT, 0, 2),
                                rondo_slice_make(RONDO_BUF_IN, 0, 2));
    (void)rondo_schedule_leave(schedule);
    rondo_schedule_send(schedule, 2, rondo_slice_make(RONDO_BUF_IN, 0, 1));
    expect_steps(schedule, "0 send out[10+2] to 8\n"
                           "1 recv scratch[0+2] from 2 reader 2\n"
                           "2 reduce out[12+2] = scratch[0+2] op out[12+2] needs 1\n"
                           "3 finish out[12+2] = out[12+2] op out[10+2] needs 2\n"
                           "4 send in[0+1] to 2\n");
}

/* A frame takes scratch afresh, or the scratch of another again, never more. */
static void
test_frame_scratch(void **state)
{
    static const uint32_t ranks[] = {4, 5};
    rondo_frame frame = {.ranks = ranks,
                         .stride = 1,
                         .nranks = 2,
                         .in = rondo_slice_make(RONDO_BUF_IN, 0, 20),
                         .out = rondo_slice_make(RONDO_BUF_OUT, 0, 20)};
    rondo_schedule *const schedule = begin();

    (void)state;
    assert_int_equal(rondo_schedule_scratch(schedule, 3).first, 0);
    rondo_schedule_enter(schedule, &frame);
    assert_int_equal(rondo_schedule_scratch(schedule, 4).first, 3);
    assert_int_equal(rondo_schedule_scratch(schedule, 5).first, 7);
    const rondo_slice taken = rondo_schedule_leave(schedule);
    assert_int_equal(taken.first, 3);
    assert_int_equal(taken.count, 9);
    assert_int_equal(rondo_schedule_scratch(schedule, 1).first, 12);
    frame.scratch = taken;
    for (uint32_t times = 0; times < 2; times++) {
        rondo_schedule_enter(schedule, &frame);
        assert_int_equal(rondo_schedule_scratch(schedule, 4).first, 3);
        assert_int_equal(rondo_schedule_scratch(schedule, 4).first, 7);
        const rondo_slice again = rondo_schedule_leave(schedule);
        assert_int_equal(again.first, 3);
        assert_int_equal(again.count, 9);
    }
    assert_int_equal(schedule->scratch_count, 13);
    rondo_schedule_enter(schedule, &frame);
    assert_int_equal(rondo_schedule_scratch(schedule, 9).count, 9);
    assert_int_equal(schedule->status, RONDO_OK);
    assert_int_equal(rondo_schedule_scratch(schedule, 1).count, 1);
    assert_int_equal(schedule->status, RONDO_ERR_INTERNAL);
    (void)rondo_schedule_leave(schedule);
    assert_int_equal(rondo_schedule_seal(schedule), RONDO_ERR_INTERNAL);
    rondo_schedule_destroy(schedule);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_same),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_read_back), cmocka_unit_test(test_text_refused),
        cmocka_unit_test(test_frame),     cmocka_unit_test(test_frame_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
