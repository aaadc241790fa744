/* control_links_ask.c - what ranks on other hosts do, and whether their processes
 * answer: brought when asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <signal.h>

#include "base/clock.h"
#include "lib/linked.h"

static const uint32_t shapes[][LINKED_HOSTS + 1] = {
    {1, 1, 0}, {2, 2, 0}, {1, 3, 0}, {2, 1, 2, 0}, {4, 2, 1, 3, 0}};

#define SHAPES (sizeof shapes / sizeof shapes[0])

/* What the asker expects to see of all ranks. */
static uint64_t wanted;
static bool wanted_finished;
static uint64_t pulses[LINKED_RANKS];
static bool silent[LINKED_RANKS];

static bool
knows_activities(linked *cast, uint32_t asker)
{
    const rondo_board *const board = linked_board(cast, asker);

    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        rondo_activity activity;
        rondo_signature signature;
        rondo_board_activity(board, rank, &activity);
        if (activity.sequence != wanted || activity.finished != wanted_finished ||
            activity.step != 7 ||
            rondo_board_signature(board, rank, wanted, &signature) != RONDO_OK ||
            signature.count != 1000 + wanted || signature.what != 1) {
            return false;
        }
    }
    return true;
}

static void
note_pulses(linked *cast, uint32_t asker)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        pulses[rank] = rondo_board_pulse(linked_board(cast, asker), rank);
    }
}

/* All but the silent ones have changed; the silent ones have not. */
static bool
pulses_changed(linked *cast, uint32_t asker)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        const bool changed =
            rondo_board_pulse(linked_board(cast, asker), rank) != pulses[rank];
        if (changed == silent[rank]) {
            return false;
        }
    }
    return true;
}

static bool
is_broken(linked *cast, uint32_t unused)
{
    (void)unused;
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        if (rondo_board_broken(&cast->boards[host])) {
            return true;
        }
    }
    return false;
}

static void
whoever_asks_is_answered(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        linked cast;
        linked_open(shapes[i], &cast);
        linked_do_all(&cast, 'j');
        memset(silent, 0, sizeof silent);
        wanted = 0;
        for (uint32_t asker = 0; asker < cast.nranks; asker++) {
            wanted++;
            wanted_finished = false;
            linked_do_all(&cast, 'e');
            note_pulses(&cast, asker);
            linked_do(&cast, asker, 'a');
            assert_true(linked_until(&cast, knows_activities, asker, 3000));
            assert_true(linked_until(&cast, pulses_changed, asker, 3000));
            wanted_finished = true;
            linked_do_all(&cast, 'f');
            (void)usleep(12000);
            linked_do(&cast, asker, 'a');
            assert_true(linked_until(&cast, knows_activities, asker, 3000));
        }
        assert_true(linked_end(&cast));
    }
}

/* Nobody hears of what ranks do as long as nobody asks. */
static void
nothing_comes_unasked(void **state)
{
    linked cast;

    (void)state;
    linked_open(shapes[1], &cast);
    linked_do_all(&cast, 'j');
    (void)usleep(500000);
    linked_do_all(&cast, 'e');
    (void)usleep(500000);
    rondo_activity activity;
    rondo_board_activity(&cast.boards[0], 3, &activity);
    assert_int_equal(activity.sequence, 0);
    assert_int_equal(rondo_board_pulse(&cast.boards[0], 3), 0);
    assert_true(linked_end(&cast));
}

/* Asks every 20 ms for a while. */
static void
keep_asking(linked *cast, uint32_t asker, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        linked_do(cast, asker, 'a');
        (void)usleep(20000);
    }
}

/* Without its leader a host is silent, without the hub all others are: the lowest of
 * the silent ranks is the one that is stopped. */
static void
is_silent_without(const linked *cast, uint32_t stopped, uint32_t asker)
{
    const uint32_t *const host_of = cast->stage->host_of;
    const bool leads = stopped == 0 || host_of[stopped - 1] != host_of[stopped];

    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        silent[rank] = rank == stopped ||
                       (leads && host_of[rank] == host_of[stopped]) ||
                       (stopped == 0 && host_of[rank] != host_of[asker]);
    }
}

static void
stopped_process_is_silent(void **state)
{
    (void)state;
    for (uint32_t stopped = 0; stopped < 5; stopped++) {
        linked cast;
        const uint32_t asker = stopped == 4 ? 2 : 4;
        linked_open(shapes[3], &cast);
        linked_do_all(&cast, 'j');
        memset(silent, 0, sizeof silent);
        note_pulses(&cast, asker);
        linked_do(&cast, asker, 'a');
        assert_true(linked_until(&cast, pulses_changed, asker, 3000));
        (void)usleep(400000);
        peer_signal(&cast.ranks[stopped], SIGSTOP);
        (void)usleep(50000);
        note_pulses(&cast, asker);
        if (stopped == 3) {
            /* The asker's own leader: its ranks are looked at by the asker itself. */
            silent[3] = silent[4] = true;
            silent[0] = silent[1] = silent[2] = true;
        } else {
            is_silent_without(&cast, stopped, asker);
        }
        keep_asking(&cast, asker, 20);
        assert_true(linked_until(&cast, pulses_changed, asker, 3000));
        peer_signal(&cast.ranks[stopped], SIGCONT);
        memset(silent, 0, sizeof silent);
        note_pulses(&cast, asker);
        keep_asking(&cast, asker, 3);
        assert_true(linked_until(&cast, pulses_changed, asker, 3000));
        assert_false(is_broken(&cast, 0));
        assert_true(linked_end(&cast));
    }
}

/* For longer than a path may be silent, and while everybody asks: its kernel answers,
 * so the path is not cut. */
static void
stopped_is_not_cut(void **state)
{
    (void)state;
    for (uint32_t stopped = 0; stopped < 3; stopped += 2) {
        static const uint32_t shape[] = {2, 1, 4, 0};
        linked cast;
        linked_init(shape, &cast);
        cast.stage->silence_ms = 2000;
        linked_start_all(&cast);
        linked_do_all(&cast, 'o');
        linked_do_all(&cast, 'j');
        peer_signal(&cast.ranks[stopped], SIGSTOP);
        for (uint32_t i = 0; i < 200; i++) {
            linked_do(&cast, 3, 'a');
            linked_do(&cast, 1, 'a');
            (void)usleep(20000);
        }
        peer_signal(&cast.ranks[stopped], SIGCONT);
        (void)usleep(300000);
        assert_false(is_broken(&cast, 0));
        memset(silent, 0, sizeof silent);
        note_pulses(&cast, 3);
        linked_do(&cast, 3, 'a');
        assert_true(linked_until(&cast, pulses_changed, 3, 3000));
        assert_true(linked_end(&cast));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_asks_is_answered),
        cmocka_unit_test(nothing_comes_unasked),
        cmocka_unit_test(stopped_process_is_silent),
        cmocka_unit_test(stopped_is_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
