/* control_board_steps.c - the board, instruction by instruction: a reader is stopped
 * after each of its instructions while a writer goes on, and the other way round.
 * ctest: label=noasan label=notsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/board.h"

/* More instructions than any of these calls has. */
#define STEPS_MAX 3000

/* What reader and writer share besides the board. */
typedef struct stage {
    unsigned char board[65536] __attribute__((aligned(4096)));
    bool right; /* what the reader has found */
    bool done;
    volatile bool ended; /* the part that is stepped through */
} stage;

typedef void (*scene)(stage *stage);

static stage *shared;

static void
open_board(stage *on, uint32_t rank, rondo_board *board)
{
    rondo_board_open(on->board, 2, rank, board);
}

static rondo_signature
signature_of(uint64_t sequence)
{
    return (rondo_signature){.what = (uint32_t)sequence,
                             .dtype = (uint32_t)(sequence * 3),
                             .op = (uint32_t)(sequence * 5),
                             .root = (uint32_t)(sequence * 7),
                             .count = sequence << 33 | sequence};
}

static void
enter(stage *on, uint64_t sequence)
{
    const rondo_signature signature = signature_of(sequence);
    rondo_board board;

    open_board(on, 0, &board);
    rondo_board_enter(&board, sequence, &signature);
}

/* Operations 1 to 8 are there; 9 takes the place of 1. */
static void
signatures_before(stage *on)
{
    for (uint64_t s = 1; s <= 8; s++) {
        enter(on, s);
    }
}

static void
signatures_write(stage *on)
{
    enter(on, 9);
}

static void
signatures_read(stage *on)
{
    rondo_signature got;
    rondo_board board;
    bool right = true;

    open_board(on, 1, &board);
    for (uint64_t s = 1; s <= 9; s += 8) {
        const rondo_signature want = signature_of(s);
        if (rondo_board_signature(&board, 0, s, &got) == RONDO_OK) {
            right = right && memcmp(&got, &want, sizeof got) == 0;
        }
    }
    on->right = right;
    on->done = true;
}

static rondo_offer
offer_of(uint64_t sequence)
{
    return (rondo_offer){.mapped = (uint32_t)sequence,
                         .in_block = (uint32_t)sequence + 1,
                         .out_block = (uint32_t)sequence + 2,
                         .in_at = sequence << 40,
                         .out_at = sequence << 41 | 1};
}

static void
offer(stage *on, uint64_t sequence)
{
    const rondo_offer made = offer_of(sequence);
    rondo_board board;

    open_board(on, 0, &board);
    rondo_board_offer_set(&board, sequence, &made);
}

static void
offers_before(stage *on)
{
    for (uint64_t s = 1; s <= 4; s++) {
        offer(on, s);
    }
}

static void
offers_write(stage *on)
{
    offer(on, 5);
}

static void
offers_read(stage *on)
{
    rondo_offer got;
    rondo_board board;
    bool right = true;

    open_board(on, 1, &board);
    for (uint64_t s = 1; s <= 5; s += 4) {
        const rondo_offer want = offer_of(s);
        if (rondo_board_offer(&board, 0, s, &got) == RONDO_OK) {
            right = right && got.mapped == want.mapped &&
                    got.in_block == want.in_block && got.out_block == want.out_block &&
                    got.in_at == want.in_at && got.out_at == want.out_at;
        }
    }
    on->right = right;
    on->done = true;
}

/* In operation 1 it stands at step 100 and waits for 0, in 2 at 200 and waits for 1. */
static void
stand(stage *on, uint64_t sequence)
{
    rondo_board board;

    open_board(on, 0, &board);
    rondo_board_standing_set(&board, sequence * 100, (uint32_t)sequence - 1);
}

static void
standing_before(stage *on)
{
    enter(on, 1);
    stand(on, 1);
}

static void
standing_write(stage *on)
{
    rondo_board board;

    open_board(on, 0, &board);
    rondo_board_finish(&board, 1);
    enter(on, 2);
    stand(on, 2);
}

static void
standing_read(stage *on)
{
    rondo_activity got;
    rondo_board board;

    open_board(on, 1, &board);
    rondo_board_activity(&board, 0, &got);
    on->right = (got.sequence == 1 || got.sequence == 2) &&
                !(got.sequence == 2 && got.finished) &&
                (got.peer == UINT32_MAX ||
                 (got.peer == got.sequence - 1 && got.step == got.sequence * 100));
    on->done = true;
}

/* A breaking that is being written is broken, and its text is whole or generic. */
static void
breaking_before(stage *on)
{
    (void)on;
}

static void
breaking_write(stage *on)
{
    rondo_breakage why = {.status = RONDO_ERR_TIMEOUT, .culprit = 1, .reporter = 0};
    rondo_board board;

    open_board(on, 0, &board);
    memset(why.text, 'x', sizeof why.text - 1);
    (void)rondo_board_break(&board, &why);
}

static void
breaking_read(stage *on)
{
    rondo_breakage got;
    rondo_board board;

    open_board(on, 1, &board);
    on->right = true;
    if (rondo_board_breakage(&board, &got)) {
        const bool whole = got.status == RONDO_ERR_TIMEOUT && got.culprit == 1 &&
                           strspn(got.text, "x") == RONDO_BOARD_TEXT_MAX - 1;
        const bool generic =
            got.status == RONDO_ERR_PEER && strncmp(got.text, "rank 0 ", 7) == 0;
        on->right = rondo_board_broken(&board) && (whole || generic);
    }
    on->done = true;
}

/* The child stops right before `part`: a trap, so that no instruction of a library has
 * to be stepped through. */
static void
stop_here(void)
{
#if defined(__x86_64__)
    __asm__ volatile("int3");
#else
    (void)raise(SIGTRAP);
#endif
}

static pid_t
puppet(scene part)
{
    int how = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(77);
        }
        stop_here();
        part(shared);
        shared->ended = true;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, WUNTRACED), child);
    if (WIFEXITED(how) && WEXITSTATUS(how) == 77) {
        skip();
    }
    assert_true(WIFSTOPPED(how));
    return child;
}

/* One instruction; false when its part is over. */
static bool
step(pid_t child)
{
    int how = 0;

    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSTOPPED(how));
    return !shared->ended;
}

static void
let_go(pid_t child)
{
    int how = 0;

    assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void
begin(scene before)
{
    memset(shared, 0, sizeof *shared);
    before(shared);
}

static void
read_now(scene reader)
{
    shared->done = false;
    reader(shared);
    assert_true(shared->done && shared->right);
}

/* The writer is stopped after every `stride` instructions, and what is there is
 * read. */
static void
stop_the_writer(scene before, scene writer, scene reader, uint32_t stride)
{
    uint32_t steps = 0;

    begin(before);
    const pid_t child = puppet(writer);
    while (step(child)) {
        assert_true(++steps < STEPS_MAX);
        if (steps % stride == 0) {
            read_now(reader);
        }
    }
    read_now(reader);
    let_go(child);
    assert_true(steps > 20);
}

/* Reader after reader is stopped, each an instruction later; then the writer runs. */
static void
stop_the_reader(scene before, scene writer, scene reader, uint32_t stride)
{
    bool alive = true;
    uint32_t steps = 0;

    for (; alive; steps += stride) {
        assert_true(steps < STEPS_MAX);
        begin(before);
        const pid_t child = puppet(reader);
        for (uint32_t i = 0; alive && i < steps; i++) {
            alive = step(child);
        }
        writer(shared);
        let_go(child);
        assert_true(shared->done && shared->right);
    }
    assert_true(steps > 20);
}

static void
interleave(scene before, scene writer, scene reader, uint32_t stride)
{
    stop_the_writer(before, writer, reader, stride);
    stop_the_reader(before, writer, reader, stride);
}

static void
signatures(void **state)
{
    (void)state;
    interleave(signatures_before, signatures_write, signatures_read, 1);
}

static void
offers(void **state)
{
    (void)state;
    interleave(offers_before, offers_write, offers_read, 1);
}

static void
standing(void **state)
{
    (void)state;
    interleave(standing_before, standing_write, standing_read, 1);
}

/* A reader waits 20 ms for a text that is not there, so not after every instruction. */
static void
breaking(void **state)
{
    (void)state;
    interleave(breaking_before, breaking_write, breaking_read, 17);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures),
        cmocka_unit_test(offers),
        cmocka_unit_test(standing),
        cmocka_unit_test(breaking),
    };

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
