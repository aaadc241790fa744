/* kill_connecting.c - a rank that dies, or that the others leave, in each moment of the
 * making of its first connection: an error that names it, never the end of them all.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/halfway.h"

/* Turns rank 1 takes at its connection before it stops taking part; it is up after a
 * few. */
#define TURNS 16

static void
connecting(rank_self *self)
{
    halfway_run(self, self->user);
}

static void
in_each_moment(halfway_end end)
{
    static rank_report report;

    for (int turns = 0; turns < TURNS; turns++) {
        halfway at = {turns, end, 10000, 10000};
        const rank_run run = {.nranks = 2,
                              .kind = AS_PROCESSES,
                              .function = connecting,
                              .user = &at,
                              .deadline_ms = 20000};
        ranks_run(&run, &report);
        if (report.outcome[0].end != RANK_RETURNED) {
            print_error("after %d turns\n", turns);
        }
        ranks_expect(&report, RANK_RETURNED, end == HALFWAY_DIES ? 1 : RANKS_MAX);
    }
}

static void
it_dies(void **state)
{
    (void)state;
    in_each_moment(HALFWAY_DIES);
}

static void
it_is_left(void **state)
{
    (void)state;
    in_each_moment(HALFWAY_IS_LEFT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_dies),
        cmocka_unit_test(it_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
