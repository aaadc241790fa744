/* control_board_lines.c - what of a board travels between hosts: nothing is lost on the
 * way, nothing impossible gets in, nothing goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "control/agreement.h"

#define RANKS 5

static void *
fresh(uint32_t nranks)
{
    void *const memory = aligned_alloc(4096, rondo_board_bytes(nranks));

    assert_non_null(memory);
    memset(memory, 0, rondo_board_bytes(nranks));
    return memory;
}

static rondo_signature
signature_of(uint64_t sequence)
{
    return (rondo_signature){.what = (uint32_t)sequence + 1,
                             .dtype = (uint32_t)sequence * 3,
                             .op = (uint32_t)sequence * 5,
                             .root = (uint32_t)sequence * 7,
                             .count = sequence * 11};
}

static void
enter(rondo_board *board, uint64_t sequence)
{
    const rondo_signature signature = signature_of(sequence);

    rondo_board_enter(board, sequence, &signature);
}

/* All that can be read of `rank` is alike on both. */
static void
assert_alike(const rondo_board *one, const rondo_board *other, uint32_t rank)
{
    rondo_activity here;
    rondo_activity there;

    rondo_board_activity(one, rank, &here);
    rondo_board_activity(other, rank, &there);
    assert_int_equal(here.sequence, there.sequence);
    assert_int_equal(here.finished, there.finished);
    assert_int_equal(here.step, there.step);
    assert_int_equal(here.peer, there.peer);
    assert_int_equal(rondo_board_presence(one, rank),
                     rondo_board_presence(other, rank));
    assert_int_equal(rondo_board_pulse(one, rank), rondo_board_pulse(other, rank));
    assert_int_equal(rondo_agreement_stage(one, rank),
                     rondo_agreement_stage(other, rank));
    for (uint64_t s = 0; s < here.sequence + 3; s++) {
        rondo_signature mine;
        rondo_signature theirs;
        const rondo_status status = rondo_board_signature(one, rank, s, &mine);
        assert_int_equal(rondo_board_signature(other, rank, s, &theirs), status);
        if (status == RONDO_OK) {
            assert_memory_equal(&mine, &theirs, sizeof mine);
        }
    }
}

/* After each change of a line, and after any number of them at once. */
static void
lines_travel(void **state)
{
    (void)state;
    for (uint32_t every = 1; every <= 25; every++) {
        void *const here = fresh(RANKS);
        void *const there = fresh(RANKS);
        rondo_board mine;
        rondo_board theirs;
        rondo_board_line line;
        uint32_t changes = 0;
        rondo_board_open(here, RANKS, 3, &mine);
        rondo_board_open(there, RANKS, 0, &theirs);
        for (uint64_t i = 0; i < 120; i++) {
            const uint64_t s = i / 4 + 1;
            switch (i % 4) {
            case 0:
                enter(&mine, s);
                break;
            case 1:
                rondo_board_standing_set(&mine, s * 2, (uint32_t)(s % RANKS));
                break;
            case 2:
                rondo_board_finish(&mine, s);
                break;
            default:
                rondo_board_pulse_set(&mine, 3, i);
                rondo_board_presence_set(&mine, i < 60 ? RONDO_JOINED : RONDO_LEFT);
                rondo_agreement_enter(&mine, (uint32_t)i);
                break;
            }
            if (++changes % every == 0) {
                rondo_board_export(&mine, 3, &line);
                assert_int_equal(rondo_board_import(&theirs, 3, &line), RONDO_OK);
                assert_alike(&mine, &theirs, 3);
            }
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            if (rank != 3) {
                assert_int_equal(rondo_board_presence(&theirs, rank), RONDO_ABSENT);
                assert_int_equal(rondo_board_pulse(&theirs, rank), 0);
            }
        }
        free(here);
        free(there);
    }
}

static void
old_lines_change_nothing(void **state)
{
    void *const here = fresh(RANKS);
    void *const there = fresh(RANKS);
    rondo_board mine;
    rondo_board theirs;
    rondo_board_line lines[40];
    rondo_board_line latest;
    rondo_board_line now;

    (void)state;
    rondo_board_open(here, RANKS, 1, &mine);
    rondo_board_open(there, RANKS, 0, &theirs);
    for (uint64_t s = 1; s <= 40; s++) {
        enter(&mine, s);
        rondo_board_standing_set(&mine, s, 2);
        rondo_board_finish(&mine, s);
        rondo_board_pulse_set(&mine, 1, s);
        rondo_board_presence_set(&mine, s < 40 ? RONDO_JOINED : RONDO_LEFT);
        rondo_board_export(&mine, 1, &lines[s - 1]);
    }
    assert_int_equal(rondo_board_import(&theirs, 1, &lines[39]), RONDO_OK);
    rondo_board_export(&theirs, 1, &latest);
    assert_memory_equal(&latest, &lines[39], sizeof latest);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(rondo_board_import(&theirs, 1, &lines[i]), RONDO_OK);
        rondo_board_export(&theirs, 1, &now);
        assert_memory_equal(&latest, &now, sizeof now);
    }
    free(here);
    free(there);
}

static void
refuse(rondo_board *board, uint32_t rank, const rondo_board_line *line)
{
    rondo_board_line before;
    rondo_board_line after;

    rondo_board_export(board, 1, &before);
    assert_int_equal(rondo_board_import(board, rank, line), RONDO_ERR_WIRE);
    rondo_board_export(board, 1, &after);
    assert_memory_equal(&before, &after, sizeof after);
}

static void
impossible_lines_are_refused(void **state)
{
    const rondo_board_line good = {.presence = RONDO_JOINED,
                                   .peer = 2,
                                   .entered = 20,
                                   .finished = 19,
                                   .standing_of = 20,
                                   .sequences = {16, 17, 18}};
    void *const memory = fresh(RANKS);
    rondo_board board;

    (void)state;
    rondo_board_open(memory, RANKS, 0, &board);
    rondo_board_line bad = good;
    refuse(&board, RANKS, &good);
    bad.presence = RONDO_GONE + 1;
    refuse(&board, 1, &bad);
    bad = good;
    bad.peer = RANKS;
    refuse(&board, 1, &bad);
    bad = good;
    bad.finished = 21;
    refuse(&board, 1, &bad);
    bad = good;
    bad.standing_of = 21;
    refuse(&board, 1, &bad);
    bad = good;
    bad.step = UINT64_C(1) << 32;
    refuse(&board, 1, &bad);
    for (uint32_t i = 0; i < RONDO_BOARD_SIGNATURES; i++) {
        bad = good;
        bad.sequences[i] = i + 17;
        refuse(&board, 1, &bad);
        bad.sequences[i] = i + 24;
        refuse(&board, 1, &bad);
    }
    assert_int_equal(rondo_board_import(&board, 1, &good), RONDO_OK);
    free(memory);
}

static void
wires_are_set_once(void **state)
{
    unsigned char address[RONDO_BOARD_WIRE_MAX];
    unsigned char got[RONDO_BOARD_WIRE_MAX];

    (void)state;
    for (size_t length = 0; length <= RONDO_BOARD_WIRE_MAX; length += 125) {
        void *const memory = fresh(RANKS);
        rondo_board boards[RANKS];
        size_t bytes = sizeof got;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            rondo_board_open(memory, RANKS, rank, &boards[rank]);
            assert_int_equal(rondo_board_wire(&boards[0], rank, got, &bytes),
                             RONDO_BUSY);
        }
        memset(address, (int)length, sizeof address);
        rondo_board_wire_set(&boards[2], address, length);
        rondo_board_wire_import(&boards[0], 4, address, length);
        memset(address, 1, sizeof address);
        rondo_board_wire_import(&boards[0], 2, address, 7);
        rondo_board_wire_import(&boards[0], 3, address, RONDO_BOARD_WIRE_MAX + 1);
        rondo_board_wire_import(&boards[0], RANKS, address, 7);
        memset(address, (int)length, sizeof address);
        for (uint32_t rank = 2; rank <= 4; rank += 2) {
            bytes = sizeof got;
            assert_int_equal(rondo_board_wire(&boards[1], rank, got, &bytes), RONDO_OK);
            assert_int_equal(bytes, length);
            assert_memory_equal(got, address, length);
        }
        bytes = length - 1;
        assert_int_equal(rondo_board_wire(&boards[1], 2, got, &bytes),
                         length == 0 ? RONDO_OK : RONDO_ERR_WIRE);
        assert_int_equal(rondo_board_wire(&boards[1], 3, got, &bytes), RONDO_BUSY);
        assert_int_equal(rondo_board_wire(&boards[1], RANKS, got, &bytes),
                         RONDO_ERR_STATE);
        free(memory);
    }
}

static void
hosts_are_linked_once(void **state)
{
    void *const memory = fresh(2);
    rondo_board board;
    char interfaces[RONDO_BOARD_INTERFACES_MAX];
    char many[2 * RONDO_BOARD_INTERFACES_MAX];
    unsigned char address[16] = {10, 77, 0, 4};
    uint16_t family = 0;

    (void)state;
    rondo_board_open(memory, 2, 1, &board);
    assert_int_equal(rondo_board_linked(&board, interfaces, sizeof interfaces),
                     RONDO_BUSY);
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    rondo_board_linked_set(&board, many);
    rondo_board_unlinked_set(&board, RONDO_ERR_START, "too late");
    assert_int_equal(rondo_board_linked(&board, interfaces, sizeof interfaces),
                     RONDO_OK);
    assert_int_equal(strlen(interfaces), RONDO_BOARD_INTERFACES_MAX - 1);
    assert_false(rondo_board_reached(&board, 0, &family, address));
    assert_false(rondo_board_reached(&board, 2, &family, address));
    rondo_board_reached_set(&board, 0, 4, address);
    address[3] = 5;
    rondo_board_reached_set(&board, 0, 6, address);
    assert_true(rondo_board_reached(&board, 0, &family, address));
    assert_int_equal(family, 4);
    assert_int_equal(address[3], 4);
    free(memory);
}

/* Whatever lies there, what is read can be used. */
static void
scribbled_memory(void **state)
{
    const size_t bytes = rondo_board_bytes(3);
    unsigned char *const memory = fresh(3);
    void *const clean = fresh(3);

    (void)state;
    srand(3);
    for (uint32_t round = 0; round < 300; round++) {
        rondo_board board;
        rondo_board other;
        rondo_board_line line;
        char interfaces[RONDO_BOARD_INTERFACES_MAX];
        unsigned char wire[RONDO_BOARD_WIRE_MAX];
        size_t length = sizeof wire;
        for (size_t at = 0; at < bytes; at++) {
            memory[at] = (unsigned char)rand();
        }
        rondo_board_open(memory, 3, 0, &board);
        rondo_board_open(clean, 3, 0, &other);
        for (uint32_t rank = 0; rank < 3; rank++) {
            rondo_board_export(&board, rank, &line);
            assert_int_equal(rondo_board_import(&other, rank, &line), RONDO_OK);
            length = sizeof wire;
            assert_int_equal(rondo_board_wire(&board, rank, wire, &length),
                             RONDO_ERR_WIRE);
        }
        const rondo_status status =
            rondo_board_linked(&board, interfaces, sizeof interfaces);
        assert_true(status < 0);
    }
    free(memory);
    free(clean);
}

typedef struct race {
    rondo_board mine;
    rondo_board theirs;
    _Atomic bool over;
} race;

static void *
carry(void *user)
{
    race *const shared = user;
    rondo_board_line line;

    while (!atomic_load(&shared->over)) {
        rondo_board_export(&shared->mine, 0, &line);
        if (rondo_board_import(&shared->theirs, 0, &line) != RONDO_OK) {
            return shared; /* a line of an honest rank was refused */
        }
    }
    return NULL;
}

/* One rank writes, its line is carried to the other board, a reader there never sees
 * anything that was not written. */
static void
carried_while_written(void **state)
{
    void *const here = fresh(2);
    void *const there = fresh(2);
    race shared = {.over = false};
    pthread_t carrier;
    void *wrong = NULL;
    uint64_t last = 0;
    uint32_t seen = 0;

    (void)state;
    rondo_board_open(here, 2, 0, &shared.mine);
    rondo_board_open(there, 2, 1, &shared.theirs);
    assert_int_equal(pthread_create(&carrier, NULL, carry, &shared), 0);
    /* Until enough has been carried, however busy the machine is. */
    for (uint64_t s = 1; s <= 100000 || seen < 200; s++) {
        rondo_activity activity;
        rondo_signature got;
        enter(&shared.mine, s);
        rondo_board_standing_set(&shared.mine, s & 0xffff, (uint32_t)(s & 1));
        rondo_board_finish(&shared.mine, s);
        rondo_board_activity(&shared.theirs, 0, &activity);
        assert_true(activity.sequence >= last && activity.sequence <= s);
        seen += activity.sequence != last ? 1 : 0;
        last = activity.sequence;
        if (activity.peer != UINT32_MAX) {
            assert_int_equal(activity.step, activity.sequence & 0xffff);
        }
        if (rondo_board_signature(&shared.theirs, 0, last, &got) == RONDO_OK) {
            const rondo_signature want = signature_of(last);
            assert_memory_equal(&got, &want, sizeof want);
        }
    }
    atomic_store(&shared.over, true);
    (void)pthread_join(carrier, &wrong);
    assert_null(wrong);
    free(here);
    free(there);
}

/* Only who has joined can be gone, and stays it; who has left is not. */
static void
ranks_are_gone(void **state)
{
    void *const memory = fresh(RANKS);
    void *const far = fresh(RANKS);
    rondo_board board;
    rondo_board there;
    rondo_board_line line;

    (void)state;
    rondo_board_open(far, RANKS, 0, &there);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rondo_board_open(memory, RANKS, rank, &board);
        rondo_board_gone_set(&board, rank);
        assert_int_equal(rondo_board_presence(&board, rank), RONDO_ABSENT);
        rondo_board_presence_set(&board, RONDO_JOINED);
        if (rank % 2 == 0) {
            rondo_board_presence_set(&board, RONDO_LEFT);
        }
        rondo_board_open(memory, RANKS, 0, &board);
        rondo_board_gone_set(&board, rank);
        const rondo_presence want = rank % 2 == 0 ? RONDO_LEFT : RONDO_GONE;
        assert_int_equal(rondo_board_presence(&board, rank), want);
        rondo_board_export(&board, rank, &line);
        assert_int_equal(rondo_board_import(&there, rank, &line), RONDO_OK);
        assert_int_equal(rondo_board_presence(&there, rank), want);
        line.presence = RONDO_JOINED;
        assert_int_equal(rondo_board_import(&there, rank, &line), RONDO_OK);
        assert_int_equal(rondo_board_presence(&there, rank), want);
    }
    rondo_board_gone_set(&board, RANKS);
    free(memory);
    free(far);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_gone),
        cmocka_unit_test(lines_travel),
        cmocka_unit_test(old_lines_change_nothing),
        cmocka_unit_test(impossible_lines_are_refused),
        cmocka_unit_test(wires_are_set_once),
        cmocka_unit_test(hosts_are_linked_once),
        cmocka_unit_test(scribbled_memory),
        cmocka_unit_test(carried_while_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
