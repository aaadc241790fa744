/*
 * transport_ucx_wire.c - parcels over the real wire: all of them, in order, unchanged,
 * whatever their size, over loopback and between namespaces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/spaces.h"
#include "lib/wires.h"

#define PATIENCE_MS 50000
#define PARCELS     8 /* on their way at once, per peer */

/* Sends the sizes that `size_of` gives, `parcels` of them, to every other rank, and
 * waits until as many have come from each. */
typedef size_t (*size_function)(const wires_end *end, uint64_t number);

static bool
send_some(wires_end *end, uint64_t parcels, size_function size_of)
{
    static wires_parcel slots[WIRES_MAX][PARCELS];
    const uint32_t nranks = end->self->nranks;
    const uint64_t until = test_now_ms() + PATIENCE_MS / 2;
    uint64_t left = parcels * (nranks - 1);

    for (uint32_t peer = 0; peer < nranks; peer++) {
        for (uint32_t k = 0; k < PARCELS; k++) {
            if (!wires_room(&slots[peer][k], end->parcel_bytes)) {
                return rank_expect(end->self, false, "no memory");
            }
        }
    }
    while (left > 0 && test_now_ms() < until) {
        for (uint32_t peer = 0; peer < nranks; peer++) {
            const uint64_t number = end->of[peer].sent;
            wires_parcel *slot = &slots[peer][number % PARCELS];
            if (peer != end->self->rank && number < parcels && slot->parcel.done) {
                wires_send(end, peer, size_of(end, number), slot);
                left--;
            }
        }
        (void)wires_pump(end);
    }
    for (uint32_t peer = 0; peer < nranks; peer++) {
        for (uint32_t k = 0; peer != end->self->rank && k < PARCELS; k++) {
            if (!wires_done(end, &slots[peer][k], PATIENCE_MS / 4)) {
                return false;
            }
        }
    }
    return rank_expect(end->self, left == 0, "%llu parcels could not be sent",
                       (unsigned long long)left);
}

static void
exchange(rank_self *self, uint64_t parcels, size_function size_of, uint32_t keep_every)
{
    wires_end end;

    if (!wires_join(self, self->user, &end)) {
        return;
    }
    end.keep_every = keep_every;
    if (!send_some(&end, parcels, size_of)) {
        return;
    }
    for (uint32_t peer = 0; peer < self->nranks; peer++) {
        if (peer != self->rank &&
            !wires_arrived(&end, peer, parcels, PATIENCE_MS / 4)) {
            return;
        }
    }
    /* Leave together, for what is on its way is lost with a process. */
    for (uint32_t peer = 0; peer < self->nranks; peer++) {
        if (peer != self->rank && !wires_flushed(&end, peer, PATIENCE_MS / 4)) {
            return;
        }
    }
    rank_mark(self, 1);
    for (uint32_t peer = 0; peer < self->nranks; peer++) {
        while (!rank_reached(self, peer, 1, 0)) {
            (void)wires_pump(&end);
        }
        (void)rank_expect(self, peer == self->rank || end.of[peer].lost == 0,
                          "the link to %u was lost: %s", peer, end.of[peer].why);
    }
    wires_close(&end);
}

static wires_board *
board_on(const char *devices)
{
    wires_board *board = test_shared(sizeof(*board));

    board->devices = devices;
    return board;
}

/* --- sizes ------------------------------------------------------------------------ */

/* All short ones, and those around every limit: UCX's thresholds, its segments,
 * ours. */
static size_t
every_size(const wires_end *end, uint64_t number)
{
    static const size_t limits[] = {1024, 2048, 4096, 8000, 8037, 8192, 16384, 32768};
    const uint64_t around = 24;

    if (number < 300) {
        return number;
    }
    const uint64_t at = (number - 300) / (2 * around);
    const uint64_t off = (number - 300) % (2 * around);
    if (at < sizeof limits / sizeof limits[0]) {
        return limits[at] - around + off;
    }
    return end->parcel_bytes - off / 2;
}

#define EVERY_SIZE (300 + 9 * 48)

static void
sizes(rank_self *self)
{
    exchange(self, EVERY_SIZE, every_size, 3);
}

static void
all_sizes_both_ways(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, sizes, board_on(NULL), PATIENCE_MS);
}

/* --- many links ------------------------------------------------------------------- */

static size_t
mixed_size(const wires_end *end, uint64_t number)
{
    const uint64_t odd = number * 0x9e3779b97f4a7c15u >> 40;

    return number % 4 == 0 ? odd % (end->parcel_bytes + 1) : odd % 700;
}

static void
mixed(rank_self *self)
{
    exchange(self, 400, mixed_size, 5);
}

/* All links are made at the same moment, from both sides. */
static void
each_with_each(void **state)
{
    (void)state;
    for (uint32_t nranks = 2; nranks <= 5; nranks++) {
        run_ranks(nranks, AS_PROCESSES, mixed, board_on(NULL), PATIENCE_MS);
    }
}

static void
few(rank_self *self)
{
    exchange(self, 3, mixed_size, 0);
}

/* The race of two connections that meet half way has many outcomes. */
static void
both_sides_connect(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 15; round++) {
        run_ranks(3, AS_PROCESSES, few, board_on(NULL), PATIENCE_MS);
    }
}

/* --- sleeping --------------------------------------------------------------------- */

#define ROUNDS 4000

static void
sleepers(rank_self *self)
{
    const uint32_t peer = 1 - self->rank;
    wires_parcel ball;
    wires_end end;

    if (!wires_join(self, self->user, &end) || !wires_room(&ball, 64)) {
        return;
    }
    const int patience_ms = 5000;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (self->rank == 0) {
            wires_send(&end, peer, round % 64, &ball);
        }
        while (end.of[peer].arrived <= round) {
            if (!rank_expect(self, wires_nap(&end, patience_ms),
                             "round %llu: nothing woke", (unsigned long long)round)) {
                return;
            }
        }
        if (self->rank == 1) {
            wires_send(&end, peer, round % 64, &ball);
        }
        if (!wires_done(&end, &ball, 5000)) {
            return;
        }
    }
    (void)wires_flushed(&end, peer, 500);
    wires_linger(&end, 100);
    wires_close(&end);
    free(ball.data);
}

static void
no_wake_up_is_lost(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, sleepers, board_on(NULL), PATIENCE_MS);
}

/* A sender that sleeps until there is room is woken as well. */
static void
full_sockets(rank_self *self)
{
    static wires_parcel slots[256];
    const uint32_t peer = 1 - self->rank;
    wires_end end;

    if (!wires_join(self, self->user, &end)) {
        return;
    }
    if (self->rank == 1) {
        rank_pause(300);
        (void)wires_arrived(&end, peer, 256, 10000);
        (void)wires_flushed(&end, peer, 1000);
        wires_close(&end);
        return;
    }
    uint32_t late = 0;
    for (uint32_t k = 0; k < 256; k++) {
        if (!wires_room(&slots[k], end.parcel_bytes)) {
            return;
        }
        wires_send(&end, peer, end.parcel_bytes, &slots[k]);
        late += slots[k].parcel.done ? 0 : 1;
    }
    (void)rank_expect(self, late > 0, "16 MiB went nowhere at once");
    while (!slots[255].parcel.done) {
        if (!rank_expect(self, wires_nap(&end, 5000), "room did not wake")) {
            return;
        }
    }
    for (uint32_t k = 0; k < 256; k++) {
        (void)rank_expect(self, slots[k].parcel.done && !slots[k].parcel.failed,
                          "parcel %u was not sent in its turn", k);
    }
    (void)wires_flushed(&end, peer, 1000);
    wires_close(&end);
}

static void
room_wakes_a_sender(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, full_sockets, board_on(NULL), PATIENCE_MS);
}

/* --- between namespaces ----------------------------------------------------------- */

static void
between_spaces(spaces_families families)
{
    static rank_report reports[2];
    wires_board *board = board_on("e0");
    spaces hosts;

    if (!spaces_open(3, families, &hosts)) {
        skip();
    }
    for (uint32_t k = 0; k < 3; k++) {
        board->spaces[k] = hosts.fds[k];
    }
    const rank_run many = {.nranks = 3,
                           .kind = AS_PROCESSES,
                           .function = mixed,
                           .user = board,
                           .deadline_ms = PATIENCE_MS};
    rank_run two = many;
    two.nranks = 2;
    two.function = sleepers;
    ranks_run(&many, &reports[0]);
    ranks_run(&two, &reports[1]);
    spaces_close(&hosts);
    ranks_expect(&reports[0], RANK_RETURNED, RANKS_MAX);
    ranks_expect(&reports[1], RANK_RETURNED, RANKS_MAX);
}

static void
between_hosts_by_ipv4(void **state)
{
    (void)state;
    between_spaces(SPACES_FOUR);
}

static void
between_hosts_by_ipv6_alone(void **state)
{
    (void)state;
    between_spaces(SPACES_SIX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_both_ways),
        cmocka_unit_test(each_with_each),
        cmocka_unit_test(both_sides_connect),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(room_wakes_a_sender),
        cmocka_unit_test(between_hosts_by_ipv4),
        cmocka_unit_test(between_hosts_by_ipv6_alone),
    };

    if (wires_ops() == NULL) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
