/*
 * transport_ucx_lost.c - links whose other end is killed, closes, stops or cannot be
 * reached: told once, soon, with a reason; every parcel ends; nothing waits for long.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/spaces.h"
#include "lib/wires.h"

#define PATIENCE_MS 40000
#define NOTICE_MS   1500
#define SLOTS       128

/* Marks: everybody has talked; the victim may be dealt with; it has been. */
enum { TALKED = 1, DEALT_WITH, LEFT };

static wires_board *
board_on(const char *devices)
{
    wires_board *board = test_shared(sizeof(*board));

    board->devices = devices;
    return board;
}

/* A parcel each way, so that the connection is made. */
static bool
talk(wires_end *end)
{
    const uint32_t peer = 1 - end->self->rank;
    wires_parcel parcel;

    if (!wires_room(&parcel, 100)) {
        return false;
    }
    wires_send(end, peer, 100, &parcel);
    const bool good = wires_arrived(end, peer, 1, 10000) &&
                      wires_done(end, &parcel, 10000) &&
                      wires_flushed(end, peer, 10000);
    rank_mark(end->self, TALKED);
    /* The other may still want its flush answered. */
    while (good && !rank_reached(end->self, peer, TALKED, 0)) {
        (void)wires_pump(end);
    }
    free(parcel.data);
    return good;
}

static bool
fill_link(wires_end *end, wires_parcel *slots)
{
    for (uint32_t k = 0; k < SLOTS; k++) {
        if (!wires_room(&slots[k], end->parcel_bytes)) {
            return rank_expect(end->self, false, "no memory");
        }
        wires_send(end, 1 - end->self->rank, end->parcel_bytes, &slots[k]);
    }
    return rank_expect(end->self, !slots[SLOTS - 1].parcel.done,
                       "8 MiB went to somebody who takes nothing");
}

/* After a loss: told once, all parcels ended, new ones fail at once, closing is
 * quick. */
static void
look_at_loss(wires_end *end, wires_parcel *slots)
{
    const uint32_t peer = 1 - end->self->rank;
    uint32_t failed = 0;

    for (uint32_t k = 0; slots != NULL && k < SLOTS; k++) {
        if (!wires_done(end, &slots[k], 1000)) {
            return;
        }
        failed += slots[k].parcel.failed ? 1 : 0;
    }
    (void)rank_expect(end->self, slots == NULL || failed > 0,
                      "no parcel failed with its link");
    wires_parcel late;
    if (!wires_room(&late, 10)) {
        return;
    }
    wires_send(end, peer, 10, &late);
    (void)rank_expect(end->self, late.parcel.done && late.parcel.failed,
                      "a parcel on a lost link did not fail");
    (void)rank_expect(end->self, end->ops->flushed(end->wire, end->of[peer].link),
                      "a lost link is never flushed");
    wires_linger(end, 50);
    (void)rank_expect(end->self, end->of[peer].lost == 1, "lost %u times",
                      end->of[peer].lost);
    (void)rank_expect(end->self, strlen(end->of[peer].why) > 5, "no reason: \"%s\"",
                      end->of[peer].why);
    free(late.data);
    end->ops->disconnect(end->wire, end->of[peer].link);
    const uint64_t before = test_now_ms();
    wires_close(end);
    (void)rank_expect(end->self, test_now_ms() - before < 1000, "close took %llu ms",
                      (unsigned long long)(test_now_ms() - before));
}

/* --- a peer that is killed -------------------------------------------------------- */

static void
killed(rank_self *self)
{
    static wires_parcel slots[SLOTS];
    wires_end end;

    if (!wires_join(self, self->user, &end) || !talk(&end)) {
        return;
    }
    if (self->rank == 1) {
        rank_pause(PATIENCE_MS);
        return;
    }
    if (fill_link(&end, slots)) {
        rank_mark(self, DEALT_WITH);
        if (wires_lost(&end, 1, 5000)) {
            look_at_loss(&end, slots);
        }
    }
}

static void
kill_second(const rank_stage *stage, void *user)
{
    (void)user;
    if (stage_reached(stage, 0, DEALT_WITH, 20000)) {
        (void)kill(stage->pid[1], SIGKILL);
    }
}

static void
a_killed_peer_is_noticed(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 2,
                          .kind = AS_PROCESSES,
                          .function = killed,
                          .user = board_on(NULL),
                          .deadline_ms = PATIENCE_MS,
                          .director = kill_second};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, 1);
}

/* The one who only listens notices as well, asleep. */
static void
killed_while_asleep(rank_self *self)
{
    wires_end end;

    if (!wires_join(self, self->user, &end) || !talk(&end)) {
        return;
    }
    if (self->rank == 1) {
        rank_pause(PATIENCE_MS);
        return;
    }
    while (wires_pump(&end)) {
    }
    rank_mark(self, DEALT_WITH);
    const uint64_t until = test_now_ms() + 5000;
    while (end.of[1].lost == 0 && test_now_ms() < until) {
        (void)wires_nap(&end, 5000);
    }
    (void)rank_expect(self, test_now_ms() + 5000 - until < NOTICE_MS,
                      "the loss was noticed after %llu ms",
                      (unsigned long long)(test_now_ms() + 5000 - until));
    look_at_loss(&end, NULL);
}

static void
a_sleeper_notices(void **state)
{
    static rank_report report;
    const rank_run run = {.nranks = 2,
                          .kind = AS_PROCESSES,
                          .function = killed_while_asleep,
                          .user = board_on(NULL),
                          .deadline_ms = PATIENCE_MS,
                          .director = kill_second};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, 1);
}

/* --- a peer that closes ----------------------------------------------------------- */

static void
closes(rank_self *self)
{
    wires_end end;

    if (!wires_join(self, self->user, &end) || !talk(&end)) {
        return;
    }
    if (self->rank == 1) {
        const uint64_t before = test_now_ms();
        wires_close(&end);
        (void)rank_expect(self, test_now_ms() - before < 600, "close took %llu ms",
                          (unsigned long long)(test_now_ms() - before));
        rank_mark(self, LEFT);
        return;
    }
    if (wires_lost(&end, 1, 5000)) {
        look_at_loss(&end, NULL);
    }
}

static void
a_peer_that_closes_is_noticed(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, closes, board_on(NULL), PATIENCE_MS);
}

/* What was sent before an orderly end arrives: flushed says so, whatever the other way
 * had in store. */
static void
sends_and_goes(rank_self *self)
{
    static wires_parcel slots[SLOTS];
    const uint32_t peer = 1 - self->rank;
    wires_end end;

    if (!wires_join(self, self->user, &end) || !talk(&end)) {
        return;
    }
    if (self->rank == 0) {
        (void)wires_arrived(&end, peer, 1 + SLOTS, 20000);
        wires_linger(&end, 50);
        wires_close(&end);
        return;
    }
    for (uint32_t k = 0; k < SLOTS; k++) {
        if (!wires_room(&slots[k], end.parcel_bytes)) {
            return;
        }
        wires_send(&end, peer, end.parcel_bytes - k, &slots[k]);
    }
    (void)wires_flushed(&end, peer, 10000);
    wires_close(&end);
}

static void
nothing_flushed_is_lost(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, sends_and_goes, board_on(NULL), PATIENCE_MS);
}

/* --- a peer that stops ------------------------------------------------------------ */

/* It is alive, takes nothing and answers nothing. */
static void
stopped(rank_self *self)
{
    static wires_parcel slots[SLOTS];
    wires_end end;

    if (!wires_join(self, self->user, &end) || !talk(&end)) {
        return;
    }
    if (self->rank == 1) {
        (void)rank_reached(self, 0, LEFT, 20000);
        wires_close(&end);
        return;
    }
    if (!fill_link(&end, slots)) {
        return;
    }
    (void)rank_expect(self, !end.ops->flushed(end.wire, end.of[1].link),
                      "flushed to somebody who takes nothing");
    uint64_t before = test_now_ms();
    end.ops->disconnect(end.wire, end.of[1].link);
    (void)rank_expect(self, test_now_ms() - before < 400, "disconnect took %llu ms",
                      (unsigned long long)(test_now_ms() - before));
    for (uint32_t k = 0; k < SLOTS; k++) {
        (void)rank_expect(self, slots[k].parcel.done, "parcel %u has no end", k);
        free(slots[k].data);
    }
    (void)rank_expect(self, slots[SLOTS - 1].parcel.failed, "the last was sent");
    wires_linger(&end, 50);
    before = test_now_ms();
    wires_close(&end);
    (void)rank_expect(self, test_now_ms() - before < 600, "close took %llu ms",
                      (unsigned long long)(test_now_ms() - before));
    rank_mark(self, LEFT);
}

static void
disconnect_ends_all_parcels(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, stopped, board_on(NULL), PATIENCE_MS);
}

/* --- a peer that cannot be reached ------------------------------------------------ */

/* Its address is known, but it is gone, or its cable is out. */
static void
unreachable(rank_self *self, uint64_t notice_ms)
{
    wires_parcel parcel;
    wires_end end;

    if (!wires_open(self, self->user, &end) || !rank_meet(self, 0, 20000)) {
        return;
    }
    if (self->rank == 1) {
        wires_close(&end);
        rank_mark(self, LEFT);
        return;
    }
    if (!rank_reached(self, 1, LEFT, 20000) || !wires_room(&parcel, 10)) {
        return;
    }
    const wires_board *board = self->user;
    while (!board->go) {
        rank_pause(1);
    }
    const uint64_t before = test_now_ms();
    if (!wires_link(&end, self->user, 1)) {
        return;
    }
    wires_send(&end, 1, 10, &parcel);
    (void)wires_pump(&end);
    (void)rank_expect(self, test_now_ms() - before < 300,
                      "connecting held the caller for %llu ms",
                      (unsigned long long)(test_now_ms() - before));
    if (notice_ms > 0) {
        (void)wires_lost(&end, 1, notice_ms);
        (void)wires_done(&end, &parcel, 1000);
        free(parcel.data);
        look_at_loss(&end, NULL);
        return;
    }
    wires_linger(&end, 500);
    end.ops->disconnect(end.wire, end.of[1].link);
    (void)rank_expect(self, parcel.parcel.done, "the parcel has no end");
    free(parcel.data);
    wires_close(&end);
    (void)rank_expect(self, test_now_ms() - before < 2000, "it took %llu ms",
                      (unsigned long long)(test_now_ms() - before));
}

static void
refused(rank_self *self)
{
    unreachable(self, 5000);
}

static void
nobody_listens(void **state)
{
    wires_board *board = board_on(NULL);

    (void)state;
    board->go = true;
    run_ranks(2, AS_PROCESSES, refused, board, PATIENCE_MS);
}

static void
no_answer(rank_self *self)
{
    unreachable(self, 0);
}

static void
cable_out(const rank_stage *stage, void *user)
{
    wires_board *board = user;

    if (stage_reached(stage, 1, LEFT, 20000)) {
        spaces_link(1, false);
    }
    board->go = true;
}

static void
between_spaces(rank_function function, rank_director director)
{
    static rank_report report;
    wires_board *board = board_on("e0");
    const rank_run run = {.nranks = 2,
                          .kind = AS_PROCESSES,
                          .function = function,
                          .user = board,
                          .deadline_ms = PATIENCE_MS,
                          .director = director};
    spaces hosts;

    if (!spaces_open(2, SPACES_FOUR, &hosts)) {
        skip();
    }
    board->spaces[0] = hosts.fds[0];
    board->spaces[1] = hosts.fds[1];
    board->go = director == NULL;
    ranks_run(&run, &report);
    spaces_close(&hosts);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

static void
nobody_answers(void **state)
{
    (void)state;
    between_spaces(no_answer, cable_out);
}

/* The refusal comes later than on loopback. */
static void
nobody_listens_there(void **state)
{
    (void)state;
    between_spaces(refused, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_peer_is_noticed),
        cmocka_unit_test(a_sleeper_notices),
        cmocka_unit_test(a_peer_that_closes_is_noticed),
        cmocka_unit_test(nothing_flushed_is_lost),
        cmocka_unit_test(disconnect_ends_all_parcels),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(nobody_listens_there),
        cmocka_unit_test(nobody_answers),
    };

    if (wires_ops() == NULL) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
