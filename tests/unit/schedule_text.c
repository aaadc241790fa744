/* schedule_text.c - what is printed is read back the same, and what is no schedule is
 * refused with the line it stands on. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/schedules.h"
#include "schedule/text.h"
#include "verify/verify.h"

static rondo_status
parse(const char *text, size_t bytes, rondo_schedule **schedule)
{
    char *const copy = malloc(bytes + 1);

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    /* A stream of no bytes cannot be opened in memory. */
    FILE *const in = bytes == 0 ? fopen("/dev/null", "r") : fmemopen(copy, bytes, "r");
    assert_non_null(in);
    const rondo_status status = rondo_schedule_parse(in, schedule);
    assert_int_equal(fclose(in), 0);
    free(copy);
    return status;
}

static void
read_back(const rondo_schedule *schedule)
{
    char *const text = schedules_text(schedule);
    rondo_schedule *read = NULL;

    if (parse(text, strlen(text), &read) != RONDO_OK) {
        fail_msg("%s\n%s", rondo_error_text(), text);
    }
    char *const again = schedules_text(read);
    assert_string_equal(text, again);
    assert_int_equal(read->nsteps, schedule->nsteps);
    free(text);
    free(again);
    rondo_schedule_destroy(read);
}

static void
test_read_back(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 1; nranks <= 9; nranks++) {
            const rondo_coll coll = {.nranks = nranks,
                                     .count = 3 * nranks + 2,
                                     .segment = nranks % 3 == 0 ? 7 : 0,
                                     .root = nranks / 2};
            schedules set;

            schedules_build(rondo_algo_at(row), &coll, PLACES_MIXED, &set);
            for (uint32_t rank = 0; rank < nranks; rank++) {
                read_back(set.of[rank]);
            }
            schedules_clear(&set);
        }
    }
}

/* Codes and numbers at their limits, which no row has. */
static void
test_read_back_odd(void **state)
{
    const rondo_coll coll = {.kind = RONDO_COLL_ALL_GATHER,
                             .rank = 4000000000,
                             .nranks = 4000000001,
                             .count = 1000000000,
                             .segment = UINT64_MAX};
    rondo_schedule *schedule = NULL;
    rondo_step steps[] = {
        {.kind = RONDO_STEP_ENCODE,
         .to = rondo_slice_make(RONDO_BUF_WIRE, UINT64_MAX - 9, 9),
         .a = rondo_slice_of(3, RONDO_BUF_IN, 7, 9),
         .reader = RONDO_NO_STEP},
        {.kind = RONDO_STEP_DECODE,
         .to = rondo_slice_make(RONDO_BUF_OUT, 0, 9),
         .a = rondo_slice_make(RONDO_BUF_WIRE, UINT64_MAX - 9, 9),
         .reader = RONDO_NO_STEP},
        {.kind = RONDO_STEP_SIGNAL, .signal = UINT32_MAX, .reader = RONDO_NO_STEP},
    };

    (void)state;
    assert_int_equal(rondo_schedule_bare(&coll, &schedule), RONDO_OK);
    schedule->steps = steps;
    schedule->nsteps = 3;
    schedule->wire_count = UINT64_MAX;
    schedule->signals = UINT32_MAX;
    read_back(schedule);
    schedule->steps = NULL;
    rondo_schedule_destroy(schedule);
}

#define HEAD                                                           \
    "schedule all_reduce rank 0 of 2 root 0 count 4 segment 0 apart\n" \
    "scratch 4 wire 4 signals 1\n"

static const struct refusal {
    const char *text;
    const char *sentence;
} refusals[] = {
    {"", "line 1: \"schedule\" expected at the end of the line"},
    {"schedule", "line 1: a collective expected"},
    {"schedule all_refuse rank", "line 1: a collective expected at \"all_refuse\""},
    {"schedule all_reduce rank -1", "line 1: a number expected at \"-1\""},
    {"schedule all_reduce rank 4294967296", "line 1: a number expected"},
    {"schedule all_reduce rank 0 of 99999999999999999999", "line 1: a number expected"},
    {"schedule all_reduce rank 0 of 2 root 0 count 4 segment 0 beside\n",
     "line 1: \"apart\" or \"in_place\" expected at \"beside\""},
    {"schedule all_reduce rank 2 of 2 root 0 count 4 segment 0 apart\n", "rank 2"},
    {"schedule all_reduce rank 0 of 2 root 0 count 4 segment 0 apart more\n",
     "line 1: \"end of line\" expected at \"more\""},
    {"schedule all_reduce rank 0 of 2 root 0 count 4 segment 0 apart\nend\n",
     "line 2: \"scratch\" expected at \"end\""},
    {HEAD, "line 3: a number expected at the end of the line"},
    {HEAD "end", "line 3: \"end of line\" expected"},
    {HEAD "1 signal 1\nend\n", "line 3: the number of the next step expected at \"1\""},
    {HEAD "0 signal 1\n0 signal 2\nend\n", "line 4: the number of the next step"},
    {HEAD "0 sign 1\nend\n", "line 3: a kind of step expected at \"sign\""},
    {HEAD "0 send in[0+4] from 1\nend\n", "line 3: \"to\" expected at \"from\""},
    {HEAD "0 send into[0+4] to 1\nend\n", "line 3: a slice expected at \"into[0+4]\""},
    {HEAD "0 send in[0-4] to 1\nend\n", "line 3: a slice expected"},
    {HEAD "0 send in[0+4]] to 1\nend\n", "line 3: a slice expected"},
    {HEAD "0 send 1;in[0+4] to 1\nend\n", "line 3: a slice expected"},
    {HEAD "0 send 4294967295:in[0+4] to 1\nend\n", "line 3: a slice expected"},
    {HEAD "0 send [0+4] to 1\nend\n", "line 3: a slice expected"},
    {HEAD "0 send in[0+4] to 1 needs\nend\n", "line 3: a number expected"},
    {HEAD "0 send in[0+4] to 1 needs 0\nend\n", "line 3: it needs a step that is not"},
    {HEAD "0 signal 1\n1 signal 2 needs 0 0\nend\n", "line 4: needs in rising order"},
    {HEAD "0 send in[0+4] to 1 because\nend\n", "line 3: \"needs\" or the end"},
    {HEAD "0 send in[0+5] to 1\nend\n", "line 3: a slice reaches out of its buffer"},
    {HEAD "0 send in[18446744073709551615+4] to 1\nend\n",
     "line 3: a slice reaches out of its buffer"},
    {HEAD "0 send in[0+0] to 1\nend\n", "line 3: a slice is empty"},
    {HEAD "0 send in[0+4] to 2\nend\n", "line 3: its peer does not exist"},
    {HEAD "0 send in[0+4] to 0\nend\n", "line 3: its peer is the rank itself"},
    {HEAD "0 send 1:in[0+4] to 1\nend\n", "line 3: a message is sent from"},
    {HEAD "0 recv in[0+4] from 1\nend\n", "line 3: it writes to IN"},
    {HEAD "0 copy 1:in[0+4] = in[0+4]\nend\n", "line 3: it writes to IN"},
    {HEAD "0 copy 2:out[0+4] = in[0+4]\nend\n", "line 3: a slice belongs to a rank"},
    {HEAD "0 copy 0:out[0+4] = in[0+4]\nend\n", "line 3: its own slice is written as"},
    {HEAD "0 copy 1:scratch[0+4] = in[0+4]\nend\n", "line 3: a slice reaches out"},
    {HEAD "0 copy out[0+4] = in[0+3]\nend\n", "line 3: its slices differ in length"},
    {HEAD "0 reduce out[0+4] = in[0+4] op scratch[0+3]\nend\n",
     "line 3: its slices differ in length"},
    {HEAD "0 copy scratch[0+3] = scratch[1+3]\nend\n", "line 3: it writes over a part"},
    {HEAD "0 reduce out[0+2] = in[0+2] op out[1+2]\nend\n", "line 3: it writes over"},
    {HEAD "0 reduce out[0+4] = in[0+4] op wire[0+4]\nend\n", "line 3: it works on"},
    {HEAD "0 copy wire[0+4] = in[0+4]\nend\n", "line 3: it works on encoded bytes"},
    {HEAD "0 encode out[0+4] = in[0+4]\nend\n", "line 3: encoded bytes lie in WIRE"},
    {HEAD "0 decode out[0+4] = in[0+4]\nend\n", "line 3: encoded bytes lie in WIRE"},
    {HEAD "0 recv out[0+4] from 1 reader 0\nend\n", "line 3: its reader is not"},
    {HEAD "0 recv scratch[0+4] from 1 reader 1\nend\n", "line 3: its reader is not"},
};

static void
test_refusals(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof refusals / sizeof refusals[0]; at++) {
        rondo_schedule *schedule = NULL;
        const rondo_status status =
            parse(refusals[at].text, strlen(refusals[at].text), &schedule);

        if (status != RONDO_ERR_ARG ||
            strstr(rondo_error_text(), refusals[at].sentence) == NULL) {
            fail_msg("%swanted \"%s\", got status %d, \"%s\"", refusals[at].text,
                     refusals[at].sentence, (int)status, rondo_error_text());
        }
        assert_null(schedule);
    }
}

/* Every text cut off anywhere is refused. */
static void
test_cut_off(void **state)
{
    const rondo_coll coll = {.nranks = 3, .count = 7};
    schedules set;

    (void)state;
    schedules_build(rondo_algo_find(RONDO_COLL_ALL_REDUCE, "direct"), &coll,
                    PLACES_MIXED, &set);
    char *const text = schedules_text(set.of[1]);
    for (size_t bytes = 0; bytes < strlen(text); bytes++) {
        rondo_schedule *schedule = NULL;

        assert_int_equal(parse(text, bytes, &schedule), RONDO_ERR_ARG);
    }
    free(text);
    schedules_clear(&set);
}

static void
damage(char *text, uint64_t *seed)
{
    const size_t bytes = strlen(text);
    static const char letters[] = "0123456789 \n[]+:=inoutscrawe\xff\x01";

    for (uint64_t times = 1 + model_random(seed) % 4; times > 0; times--) {
        const size_t at = model_random(seed) % bytes;
        const size_t from = model_random(seed) % bytes;

        switch (model_random(seed) % 3) {
        case 0:
            text[at] = letters[model_random(seed) % (sizeof letters - 1)];
            break;
        case 1:
            text[at] = text[from];
            break;
        default:
            memmove(&text[at], &text[at + 1], bytes - at);
            return;
        }
    }
}

/* Whatever could be read, the verifier says yes or no to it. */
static void
judge(const schedules *set, uint32_t rank, const rondo_schedule *schedule)
{
    const rondo_schedule *shown[SCHEDULES_RANKS_MAX];

    if (schedule->scratch_count > 10000 || schedule->wire_count > 10000) {
        return;
    }
    memcpy(shown, set->of, sizeof shown);
    shown[rank] = schedule;
    const rondo_status status = rondo_verify(shown, set->nranks, NULL);
    assert_true(status == RONDO_OK || status == RONDO_ERR_INTERNAL);
}

/* Damaged text is either refused or read as a schedule that prints and reads back. */
static void
test_damaged(void **state)
{
    uint64_t seed = 3;
    uint64_t read = 0;
    uint64_t refused = 0;

    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_coll coll = {.nranks = 3, .count = 7};
        schedules set;

        schedules_build(rondo_algo_at(row), &coll, PLACES_APART, &set);
        for (uint32_t round = 0; round < 4000; round++) {
            char *const text = schedules_text(set.of[round % 3]);
            rondo_schedule *schedule = NULL;

            damage(text, &seed);
            if (parse(text, strlen(text), &schedule) == RONDO_OK) {
                read_back(schedule);
                judge(&set, round % 3, schedule);
                rondo_schedule_destroy(schedule);
                read++;
            } else {
                assert_non_null(strstr(rondo_error_text(), " "));
                refused++;
            }
            free(text);
        }
        schedules_clear(&set);
    }
    assert_true(read > 100);
    assert_true(refused > 10000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_back), cmocka_unit_test(test_read_back_odd),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
