/* perf_words.c - the benchmark's sizes, sweeps, columns and order statistics. */
#include "common/collective.h"
#include "common/samples.h"
#include "common/sizes.h"
#include "common/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {{"0", 0},           {"8", 8},
                {"8B", 8},          {"1K", 1024},
                {"1k", 1024},       {"1.5M", 1572864},
                {"2MiB", 2097152},  {"64MB", 67108864},
                {"1G", 1073741824}, {"1T", 1099511627776},
                {".5K", 512},       {"4194304T", (uint64_t)1 << 62}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 1;
        assert_true(perf_size_parse(rows[i].text, &bytes));
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void
what_is_no_size_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",   "abc",   "-5",  "-5K",      "+5",           " 5",  "5 K",
        "5X", "5KK",   "1e3", "0x1",      "inf",          "nan", "K",
        ".",  "1.2.3", "5M2", "8388609T", "999999999999T"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t bytes = 77;
        assert_false(perf_size_parse(texts[i], &bytes));
        assert_int_equal(bytes, 77);
    }
}

/* The sizes of a whole sweep, as one line. */
static void
sweep_is(perf_sweep sweep, size_t width, const char *expected)
{
    char line[256] = "";
    uint64_t size = sweep.least;
    int steps = 0;
    do {
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "%llu ",
                 (unsigned long long)size);
        steps++;
        assert_true(steps < 12);
    } while (perf_sweep_next(&sweep, width, &size));
    assert_string_equal(line, expected);
}

static void
sweeps_end(void **state)
{
    (void)state;
    sweep_is((perf_sweep){67108864, 73400320, 2097152, 1}, 4,
             "67108864 69206016 71303168 73400320 ");
    sweep_is((perf_sweep){8, 64, 1048576, 2}, 4, "8 16 32 64 ");
    sweep_is((perf_sweep){8, 100, 1048576, 3}, 4, "8 24 72 ");
    sweep_is((perf_sweep){0, 64, 1048576, 4}, 8, "0 8 32 ");
    sweep_is((perf_sweep){0, 0, 1, 2}, 8, "0 ");
    sweep_is((perf_sweep){5, 5, 1, 1}, 8, "5 ");
    sweep_is((perf_sweep){0, 3, 1, 1}, 8, "0 1 2 3 ");
    sweep_is((perf_sweep){(uint64_t)1 << 62, UINT64_MAX, 1, 4}, 1,
             "4611686018427387904 ");
    sweep_is((perf_sweep){UINT64_MAX - 1, UINT64_MAX, 5, 1}, 1,
             "18446744073709551614 ");
}

static void
numbers_fit_their_columns(void **state)
{
    (void)state;
    static const struct {
        double value;
        int width;
        const char *text;
    } rows[] = {{0, 7, "   0.00"},          {0.004, 7, "   0.00"},
                {0.217, 7, "   0.22"},      {412.371, 7, " 412.37"},
                {9999.994, 7, "9999.99"},   {9999.996, 7, "10000.0"},
                {123456.7, 7, " 123457"},   {9999999, 7, "9999999"},
                {123456789, 7, "1.2e+08"},  {142.4, 6, "142.40"},
                {1424.44, 6, "1424.4"},     {12345678, 6, " 1e+07"},
                {(double)NAN, 6, "  0.00"}, {(double)INFINITY, 7, "   0.00"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];
        perf_fit(rows[i].value, rows[i].width, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
}

static void
blocks_are_rounded_down_to_16_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 9 * 4 * 300; i++) {
        const uint32_t nranks = 1 + i % 9;
        const size_t width = (size_t)1 << (i / 9 % 4);
        const uint64_t count = i / 36;
        const uint64_t block = perf_block(count, width, nranks);
        assert_int_equal(block * width % 16, 0);
        assert_true(block * nranks <= count);
        assert_true((block + 16 / width) * nranks > count);
    }
    assert_int_equal(perf_block(2, 4, 4), 0);
    assert_int_equal(perf_block(73, 4, 4), 16);
}

static void
factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_true(perf_factor_one(7) == 1.0);
    assert_true(perf_factor_ranks(7) == 7.0);
    assert_true(perf_factor_others(4) == 0.75);
    assert_true(perf_factor_twice_others(4) == 1.5);
    assert_true(perf_factor_twice_others(2) == 1.0);
    assert_true(perf_factor_twice_others(1) == 0.0);
}

static void
summaries_are_right(void **state)
{
    (void)state;
    perf_summary s;
    double numbers[200];
    for (uint32_t i = 0; i < 200; i++) {
        numbers[i] = 200 - i;
    }
    assert_true(perf_summarise(numbers, 200, &s));
    assert_true(s.least == 1 && s.most == 200 && s.mean == 100.5);
    assert_true(s.p50 == 100 && s.p95 == 190 && s.p99 == 198);
    assert_true(fabs(s.deviation - sqrt((200.0 * 200.0 - 1) / 12)) < 1e-9);
    assert_true(fabs(s.variation - s.deviation / 1.005) < 1e-9);
    assert_true(perf_summarise(numbers, 1, &s));
    assert_true(s.least == 200 && s.p50 == 200 && s.p99 == 200 && s.deviation == 0);
    const double zeros[3] = {0, 0, 0};
    assert_true(perf_summarise(zeros, 3, &s));
    assert_true(s.variation == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(sweeps_end),
        cmocka_unit_test(numbers_fit_their_columns),
        cmocka_unit_test(blocks_are_rounded_down_to_16_bytes),
        cmocka_unit_test(factors_are_those_of_nccl_tests),
        cmocka_unit_test(summaries_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
