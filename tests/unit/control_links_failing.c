/* control_links_failing.c - processes that die: all hosts get a sentence that names the
 * rank, its process and its host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lib/linked.h"

static const uint32_t shapes[][LINKED_HOSTS + 1] = {
    {1, 1, 0}, {2, 2, 0}, {1, 3, 0}, {2, 1, 2, 0}, {1, 1, 1, 1, 0}};

#define SHAPES (sizeof shapes / sizeof shapes[0])

/* Every host that still has a rank knows who it was. */
static bool
all_blame(linked *cast, uint32_t culprit)
{
    for (uint32_t i = 0; i < cast->nranks; i++) {
        rondo_breakage why;
        if (!cast->gone[i] && (!rondo_board_breakage(linked_board(cast, i), &why) ||
                               why.culprit != culprit)) {
            return false;
        }
    }
    return true;
}

static bool
has_leader(linked *cast, uint32_t rank)
{
    for (uint32_t i = 0; i < cast->nranks; i++) {
        if (cast->stage->host_of[i] == cast->stage->host_of[rank]) {
            return !cast->gone[i];
        }
    }
    return false;
}

/* The ranks of the dead leader's own host have nobody who tells them, but they see the
 * process end. */
static void
forget_orphans(linked *cast)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        if (!cast->gone[rank] && !has_leader(cast, rank)) {
            linked_kill(cast, rank);
        }
    }
}

static void
assert_sentence(linked *cast, uint32_t rank)
{
    char process[64];
    char host[64];

    (void)snprintf(process, sizeof process, "rank %u (process %d on node%u", rank,
                   cast->ranks[rank].pid, cast->stage->host_of[rank]);
    (void)snprintf(host, sizeof host, "died");
    for (uint32_t i = 0; i < cast->nranks; i++) {
        rondo_breakage why;
        if (!cast->gone[i]) {
            assert_true(rondo_board_breakage(linked_board(cast, i), &why));
            assert_int_equal(why.status, RONDO_ERR_PEER);
            assert_non_null(strstr(why.text, process));
            assert_non_null(strstr(why.text, host));
        }
    }
}

static void
whoever_dies_is_named(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        uint32_t nranks = 1;
        for (uint32_t victim = 0; victim < nranks; victim++) {
            linked cast;
            linked_open(shapes[i], &cast);
            nranks = cast.nranks;
            linked_do_all(&cast, 'j');
            linked_kill(&cast, victim);
            forget_orphans(&cast);
            assert_true(linked_until(&cast, all_blame, victim, 2000));
            assert_sentence(&cast, victim);
            assert_true(linked_end(&cast));
        }
    }
}

/* A child that a member has forked inherits nothing that would keep its link alive. */
static void
children_keep_nothing(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 2; victim++) {
        linked cast;
        linked_open(shapes[0], &cast);
        linked_do_all(&cast, 'j');
        linked_do(&cast, victim, 'F');
        linked_kill(&cast, victim);
        assert_true(linked_until(&cast, all_blame, victim, 2000));
        assert_sentence(&cast, victim);
        assert_true(linked_end(&cast));
    }
}

/* A rank that has left in order may die: nobody is told. */
static void
the_left_may_die(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 4; victim++) {
        linked cast;
        linked_open(shapes[1], &cast);
        linked_do_all(&cast, 'j');
        (void)usleep(50000);
        linked_do(&cast, victim, 'l');
        (void)usleep(50000);
        linked_kill(&cast, victim);
        (void)usleep(300000);
        for (uint32_t host = 0; host < cast.nhosts; host++) {
            assert_false(rondo_board_broken(&cast.boards[host]));
            assert_int_equal(rondo_board_presence(&cast.boards[host], victim),
                             RONDO_LEFT);
        }
        assert_true(linked_end(&cast));
    }
}

/* Closed without having left: as good as dead for the others. */
static void
closing_without_a_word(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 2; victim++) {
        linked cast;
        linked_open(shapes[0], &cast);
        linked_do_all(&cast, 'j');
        linked_do(&cast, victim, 'x');
        assert_in_range(cast.stage->took_ns[victim], 0, RONDO_NS_PER_S);
        assert_true(linked_end(&cast));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_dies_is_named),
        cmocka_unit_test(children_keep_nothing),
        cmocka_unit_test(the_left_may_die),
        cmocka_unit_test(closing_without_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
