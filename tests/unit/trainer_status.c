/* trainer_status.c - the workers' lines of the display, on terminals of every size;
 * what workers' reports come to; spans and their shares; names of files. */
#include "trainer/files.h"
#include "trainer/spans.h"
#include "trainer/status.h"
#include "trainer/trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define WORKERS_MAX 40u
#define TEXT_BYTES  16384u

/* --- reports ---------------------------------------------------------------------- */

static status_board
board(uint32_t workers)
{
    problem why;
    status_board s;
    assert_true(status_create(workers, &s, &why));
    return s;
}

/* As if `worker` had told it: without a communicator nothing is sent. */
static void
tell(status_board *s, const status_report *r)
{
    s->next = 0.0;
    status_tell(s, r);
}

static status_report
report(uint32_t worker, uint64_t step)
{
    return (status_report){.worker = worker,
                           .step = step,
                           .version = step,
                           .staleness = -1.0,
                           .images = 10 * step,
                           .seconds = (double)step,
                           .compute = 0.7 * (double)step,
                           .communicate = 0.1 * (double)step,
                           .wait = 0.2 * (double)step,
                           .loss = 0.5};
}

static void
test_rates_are_of_the_time_between_reports(void **state)
{
    (void)state;
    status_board s = board(3);
    status_report r = report(1, 10);
    tell(&s, &r);
    status_rates rates = status_rates_of(&s.worker[1]);
    assert_true(fabs(rates.images_second - 10.0) < 1e-9);
    assert_true(fabs(rates.wait - 0.2) < 1e-9);
    /* Twice as fast from now on, and it only waits. */
    r.images += 200;
    r.seconds += 10.0;
    r.wait += 10.0;
    tell(&s, &r);
    rates = status_rates_of(&s.worker[1]);
    assert_true(fabs(rates.images_second - 20.0) < 1e-9);
    assert_true(fabs(rates.wait - 1.0) < 1e-9);
    assert_true(fabs(rates.compute) < 1e-9);
    /* Reports that follow fast: the rate still is over a second or so. */
    for (int i = 0; i < 20; i++) {
        r.images += i % 2 == 0 ? 4 : 0;
        r.seconds += 0.1;
        tell(&s, &r);
        rates = status_rates_of(&s.worker[1]);
        assert_true(rates.images_second > 15.0 && rates.images_second < 30.0);
    }
    /* One that came back counts from 0 again. */
    status_gone(&s, 1);
    r = report(1, 2);
    tell(&s, &r);
    rates = status_rates_of(&s.worker[1]);
    assert_true(fabs(rates.images_second - 10.0) < 1e-9);
    /* Nothing told, a worker that does not exist, no board. */
    assert_true(status_rates_of(&s.worker[0]).images_second == 0.0);
    r.worker = 3;
    tell(&s, &r);
    status_gone(&s, 3);
    status_back(&s, 3);
    status_tell(NULL, &r);
    status_free(&s);
}

static void
test_a_worker_tells_twice_a_second_at_most(void **state)
{
    (void)state;
    status_board s = board(1);
    status_report r = report(0, 1);
    status_tell(&s, &r);
    for (uint64_t step = 2; step < 1000; step++) {
        r.step = step;
        status_tell(&s, &r);
    }
    /* A thousand reports take no half second. */
    assert_int_equal(s.worker[0].last.step, 1);
    status_free(&s);
}

static void
test_images_of_all(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 5; workers++) {
        status_board s = board(workers);
        assert_int_equal(status_images(&s, 0, 70, 7.0), 70 * workers);
        /* Ten seconds each, the second twice as fast as the first, and so on. */
        uint64_t expected = 100;
        for (uint32_t i = 1; i < workers; i++) {
            status_report r = report(i, 10);
            r.images *= i + 1;
            tell(&s, &r);
            expected += r.images;
        }
        assert_int_equal(status_images(&s, 0, 100, 10.0), expected);
        assert_int_equal(status_images(&s, 0, 300, 30.0), 3 * expected);
        assert_int_equal(status_images(&s, 0, 200, 20.0), 3 * expected);
        /* Who is gone or done makes no more. */
        for (uint32_t i = 1; i < workers; i++) {
            status_gone(&s, i);
        }
        assert_int_equal(status_images(&s, 0, 6000, 600.0), 6000 + expected - 100);
        status_free(&s);
    }
}

/* --- lines ------------------------------------------------------------------------ */

static status_board
crowd(uint32_t workers)
{
    status_board s = board(workers);
    for (uint32_t i = 0; i < workers; i++) {
        const status_report r = report(i, 1000 + i);
        tell(&s, &r);
    }
    return s;
}

static uint32_t
count_lines(const char *text, uint32_t *longest)
{
    uint32_t lines = 0;
    *longest = 0;
    for (const char *at = text; *at != '\0'; lines++) {
        const char *end = strchr(at, '\n');
        assert_non_null(end);
        const uint32_t length = (uint32_t)(end - at);
        *longest = length > *longest ? length : *longest;
        at = end + 1;
    }
    return lines;
}

static void
test_lines_fit_every_terminal(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers += 3) {
        status_board s = crowd(workers);
        for (uint32_t rows = 0; rows <= WORKERS_MAX + 3; rows++) {
            for (uint32_t columns = 1; columns <= 120; columns += 7) {
                const status_size size = {.rows = rows, .columns = columns};
                const uint32_t lines = status_write(&s, size, text, sizeof text);
                uint32_t longest = 0;
                assert_int_equal(count_lines(text, &longest), lines);
                assert_true(lines <= rows);
                assert_true(longest <= columns);
                /* Everybody is there as soon as there is room for them. */
                if (rows >= 3) {
                    assert_int_equal(lines, workers + 1 <= rows ? workers + 1 : rows);
                } else {
                    assert_int_equal(lines, 0);
                }
            }
        }
        status_free(&s);
    }
}

static void
test_a_short_buffer_is_never_overrun(void **state)
{
    (void)state;
    status_board s = crowd(9);
    for (size_t bytes = 0; bytes < 1200; bytes++) {
        char *text = malloc(bytes + 1);
        assert_non_null(text);
        memset(text, 'x', bytes + 1);
        const status_size size = {.rows = 24, .columns = 80};
        const uint32_t lines = status_write(&s, size, text, bytes);
        assert_int_equal(text[bytes], 'x');
        if (bytes > 0) {
            uint32_t longest = 0;
            assert_non_null(memchr(text, '\0', bytes));
            assert_int_equal(count_lines(text, &longest), lines);
        }
        free(text);
    }
    status_free(&s);
}

static bool
shows(const char *text, uint32_t worker)
{
    char begin[16];
    (void)snprintf(begin, sizeof begin, "\n%6u ", worker);
    return strstr(text, begin) != NULL;
}

static void
test_those_in_trouble_are_shown_first(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    const status_size five = {.rows = 5, .columns = 100}; /* Three workers. */
    for (uint32_t odd = 0; odd < 20; odd++) {
        /* One that is gone, one far behind, one stale; the others are alike. */
        status_board s = board(20);
        for (uint32_t i = 0; i < 20; i++) {
            status_report r = report(i, 500);
            if (i == (odd + 5) % 20) {
                r.step = 400;
            }
            r.staleness = i == (odd + 11) % 20 ? 7.0 : 1.0;
            tell(&s, &r);
        }
        status_gone(&s, odd);
        assert_int_equal(status_write(&s, five, text, sizeof text), 5);
        for (uint32_t i = 0; i < 20; i++) {
            const bool wanted = i == odd || i == (odd + 5) % 20 || i == (odd + 11) % 20;
            assert_int_equal(shows(text, i), wanted);
        }
        assert_non_null(strstr(text, "gone"));
        assert_non_null(strstr(text, "17 more"));
        status_free(&s);
    }
}

static void
test_in_lockstep_the_slowest_is_the_one_that_does_not_wait(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    const status_size three = {.rows = 3, .columns = 100}; /* One worker. */
    for (uint32_t slow = 0; slow < 8; slow++) {
        status_board s = board(8);
        for (uint32_t i = 0; i < 8; i++) {
            status_report r = report(i, 100);
            r.wait = i == slow ? 1.0 : 50.0;
            tell(&s, &r);
        }
        assert_int_equal(status_write(&s, three, text, sizeof text), 3);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(shows(text, i), i == slow);
        }
        status_free(&s);
    }
}

static void
test_what_a_line_says(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    status_board s = board(3);
    status_report r = report(0, 1234);
    r.staleness = 3.0;
    r.finished = 1;
    tell(&s, &r);
    r = report(2, 7);
    tell(&s, &r);
    const status_size size = {.rows = 24, .columns = 100};
    assert_int_equal(status_write(&s, size, text, sizeof text), 4);
    assert_non_null(strstr(text,
                           "\n     0      1234      1234     3        10    70 %    "
                           "10 %    20 %  0.5000  done\n"));
    assert_non_null(strstr(text, "\n     1  not heard of yet\n"));
    assert_non_null(strstr(text, "\n     2         7         7     - "));
    status_free(&s);
}

/* --- spans ------------------------------------------------------------------------ */

static void
linger(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
}

static void
test_each_moment_counts_once(void **state)
{
    (void)state;
    spans s = {.trace = NULL};
    linger(); /* Not in a span: counts for nothing. */
    span_begin(&s, SPAN_STEP, 1);
    const double began = s.mark;
    linger();
    span_begin(&s, SPAN_PULL, 0);
    linger();
    span_begin(&s, SPAN_WAIT, 0);
    linger();
    span_end(&s);
    span_end(&s);
    span_end(&s);
    const double sum = s.total[0] + s.total[1] + s.total[2];
    assert_true(fabs(sum - (s.mark - began)) < 1e-9);
    for (int share = 0; share < SPAN_SHARES; share++) {
        assert_true(s.total[share] >= 0.002);
    }
    spans_move(&s, SHARE_WAIT, SHARE_COMPUTE, 1e9);
    assert_true(s.total[SHARE_WAIT] == 0.0);
    assert_true(fabs(s.total[0] + s.total[1] + s.total[2] - sum) < 1e-9);
}

static void
test_spans_too_deep_or_too_many_ends(void **state)
{
    (void)state;
    for (uint32_t depth = 0; depth <= 3 * SPAN_DEPTH_MAX; depth++) {
        trace t = trace_open("never written", 5,
                             &(trace_owner){.rank = 3, .leads = true, .started = 1.0});
        spans s = {.trace = &t};
        for (uint32_t i = 0; i < depth; i++) {
            span_begin(&s, SPAN_BACKWARD, i);
        }
        spans_unwind(&s, depth / 2);
        assert_int_equal(s.depth, depth / 2);
        for (uint32_t i = 0; i < depth; i++) {
            span_end(&s);
        }
        assert_int_equal(s.depth, 0);
        const uint32_t kept = depth < SPAN_DEPTH_MAX ? depth : SPAN_DEPTH_MAX;
        assert_int_equal(t.count, kept);
        trace_free(&t);
    }
    span_begin(NULL, SPAN_STEP, 0);
    span_beside(NULL, SPAN_STEP, 0.0);
    span_end(NULL);
    spans_unwind(NULL, 0);
}

static void
test_a_trace_holds_the_first_steps_and_evaluations(void **state)
{
    (void)state;
    for (uint64_t steps = 1; steps <= 4; steps++) {
        trace t = trace_open("never written", steps,
                             &(trace_owner){.rank = 0, .leads = true, .started = 1.0});
        spans s = {.trace = &t};
        for (uint64_t step = 1; step <= 6; step++) {
            span_begin(&s, SPAN_STEP, step);
            span_end(&s);
            assert_int_equal(trace_step_done(&t), step == steps);
        }
        span_begin(&s, SPAN_EVALUATE, 0);
        span_end(&s);
        assert_int_equal(t.count, steps + 1);
        trace_free(&t);
    }
    trace none = trace_open(NULL, 5, &(trace_owner){.rank = 0});
    trace_span(&none, SPAN_STEP, 1, 0.0, 1.0);
    assert_int_equal(none.count, 0);
    assert_false(trace_step_done(&none));
    trace_free(&none);
}

/* --- names of files --------------------------------------------------------------- */

static void
test_names_beside(void **state)
{
    (void)state;
    const char *const rows[][2] = {
        {"run.jsonl", "run.rank3.jsonl"},   {"run", "run.rank3"},
        {"a.b/run", "a.b/run.rank3"},       {"a/.hidden", "a/.hidden.rank3"},
        {"./x.tar.gz", "./x.tar.rank3.gz"}, {"x.", "x.rank3."}};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(files_beside(rows[i][0], 3, name));
        assert_string_equal(name, rows[i][1]);
    }
    char *longest = malloc(PATH_MAX + 1);
    assert_non_null(longest);
    for (size_t length = PATH_MAX - 20; length <= PATH_MAX; length++) {
        memset(longest, 'a', length);
        longest[length] = '\0';
        assert_int_equal(files_beside(longest, 3, name), length + 6 < PATH_MAX);
    }
    free(longest);
    assert_true(files_plain("/nowhere/at/all"));
    assert_false(files_plain("/dev/null"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_of_the_time_between_reports),
        cmocka_unit_test(test_a_worker_tells_twice_a_second_at_most),
        cmocka_unit_test(test_images_of_all),
        cmocka_unit_test(test_lines_fit_every_terminal),
        cmocka_unit_test(test_a_short_buffer_is_never_overrun),
        cmocka_unit_test(test_those_in_trouble_are_shown_first),
        cmocka_unit_test(test_in_lockstep_the_slowest_is_the_one_that_does_not_wait),
        cmocka_unit_test(test_what_a_line_says),
        cmocka_unit_test(test_each_moment_counts_once),
        cmocka_unit_test(test_spans_too_deep_or_too_many_ends),
        cmocka_unit_test(test_a_trace_holds_the_first_steps_and_evaluations),
        cmocka_unit_test(test_names_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
