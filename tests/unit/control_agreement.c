/* control_agreement.c - ranks agree who goes on, whoever dies when: all see the same,
 * and boards of other hosts see it too. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/agreement.h"

#define RANKS_MAX    160
#define ATTEMPTS_MAX 200
#define WORDS_MAX    3

static void *
fresh(uint32_t nranks)
{
    void *const memory = aligned_alloc(4096, rondo_board_bytes(nranks));

    assert_non_null(memory);
    memset(memory, 0, rondo_board_bytes(nranks));
    return memory;
}

static rondo_decision
decision_of(const rondo_board *board)
{
    rondo_decision decision;

    rondo_agreement_decision(board, &decision);
    return decision;
}

/* --- who takes part --------------------------------------------------------------- */

static void
ranks_enter_and_quit(void **state)
{
    void *const memory = fresh(3);
    rondo_board board;
    uint64_t before = 0;

    (void)state;
    rondo_board_open(memory, 3, 1, &board);
    for (uint32_t attempt = 1; attempt < 50; attempt++) {
        assert_false(rondo_agreement_entered(&board, 1, attempt));
        for (uint32_t i = 0; i < attempt; i++) {
            rondo_agreement_enter(&board, attempt);
            rondo_agreement_enter(&board, attempt);
            assert_true(rondo_agreement_entered(&board, 1, attempt));
            assert_true(rondo_agreement_stage(&board, 1) > before);
            before = rondo_agreement_stage(&board, 1);
            rondo_agreement_quit(&board, attempt + 1);
            assert_true(rondo_agreement_entered(&board, 1, attempt));
            rondo_agreement_quit(&board, attempt);
            rondo_agreement_quit(&board, attempt);
            assert_false(rondo_agreement_entered(&board, 1, attempt));
            assert_true(rondo_agreement_stage(&board, 1) > before);
            before = rondo_agreement_stage(&board, 1);
        }
        rondo_agreement_enter(&board, attempt);
        assert_false(rondo_agreement_entered(&board, 0, attempt));
        assert_false(rondo_agreement_entered(&board, 3, attempt));
    }
    free(memory);
}

static void
only_the_next_can_be_proposed(void **state)
{
    const uint64_t members[1] = {5};
    const uint64_t others[1] = {2};
    void *const memory = fresh(3);
    uint64_t seen[1];
    rondo_board board;
    rondo_board other;

    (void)state;
    rondo_board_open(memory, 3, 2, &board);
    rondo_board_open(memory, 3, 0, &other);
    for (uint32_t attempt = 1; attempt < 20; attempt++) {
        assert_false(rondo_agreement_propose(&board, attempt + 1, members));
        assert_false(rondo_agreement_propose(&board, attempt - 1, members));
        assert_false(
            rondo_agreement_conclude(&board, attempt, RONDO_OUTCOME_COMMITTED));
        assert_true(rondo_agreement_propose(&board, attempt, members));
        assert_false(rondo_agreement_propose(&other, attempt, others));
        assert_false(rondo_agreement_propose(&other, attempt + 1, others));
        const rondo_decision decision = decision_of(&other);
        assert_int_equal(decision.attempt, attempt);
        assert_int_equal(decision.outcome, RONDO_OUTCOME_PROPOSED);
        assert_int_equal(decision.proposer, 2);
        rondo_agreement_members(&other, &decision, seen);
        assert_int_equal(seen[0], 5);
        assert_false(
            rondo_agreement_conclude(&board, attempt + 1, RONDO_OUTCOME_FAILED));
        assert_true(rondo_agreement_conclude(&other, attempt, RONDO_OUTCOME_FAILED));
        assert_false(
            rondo_agreement_conclude(&board, attempt, RONDO_OUTCOME_COMMITTED));
    }
    free(memory);
}

/* --- many at a time --------------------------------------------------------------- */

typedef struct cast {
    void *memory;
    uint32_t nranks;
    atomic_bool wrong;
    pthread_mutex_t lock; /* of what follows: what was seen first */
    bool known[ATTEMPTS_MAX];
    uint64_t seen[ATTEMPTS_MAX][WORDS_MAX];
} cast;

typedef struct actor {
    cast *cast;
    uint32_t rank;
    uint32_t seed;
    uint32_t dies_after; /* looks; 0: never */
    uint32_t committed;
} actor;

static uint32_t
next_random(actor *self)
{
    self->seed = self->seed * 1664525 + 1013904223;
    return self->seed >> 8;
}

/* Whoever reads a decision reads what everybody else does. */
static bool
compare(actor *self, const rondo_board *board, const rondo_decision *decision)
{
    cast *const all = self->cast;
    const uint32_t words = rondo_agreement_words(all->nranks);
    uint64_t members[WORDS_MAX] = {0};
    bool same = true;

    rondo_agreement_members(board, decision, members);
    (void)pthread_mutex_lock(&all->lock);
    if (!all->known[decision->attempt]) {
        all->known[decision->attempt] = true;
        memcpy(all->seen[decision->attempt], members, sizeof members);
    }
    same = memcmp(all->seen[decision->attempt], members, words * sizeof *members) == 0;
    (void)pthread_mutex_unlock(&all->lock);
    return same && (members[self->rank / 64] >> self->rank % 64 & 1) != 0;
}

static void
try_to_propose(actor *self, rondo_board *board, uint32_t attempt)
{
    uint64_t members[WORDS_MAX] = {0};

    for (uint32_t rank = 0; rank < self->cast->nranks; rank++) {
        if (rondo_board_presence(board, rank) != RONDO_JOINED) {
            continue;
        }
        if (!rondo_agreement_entered(board, rank, attempt)) {
            return;
        }
        members[rank / 64] |= UINT64_C(1) << rank % 64;
    }
    (void)rondo_agreement_propose(board, attempt, members);
}

/* One look; true: over. */
static bool
act(actor *self, rondo_board *board)
{
    const rondo_decision decision = decision_of(board);
    const bool open = decision.outcome == RONDO_OUTCOME_NONE ||
                      decision.outcome == RONDO_OUTCOME_FAILED;
    const uint32_t attempt = decision.attempt + (open ? 1 : 0);

    if (attempt >= ATTEMPTS_MAX) {
        return true;
    }
    if (decision.outcome == RONDO_OUTCOME_COMMITTED) {
        self->committed = compare(self, board, &decision) ? attempt : UINT32_MAX;
        return true;
    }
    rondo_agreement_enter(board, attempt);
    if (open) {
        try_to_propose(self, board, attempt);
        return false;
    }
    /* Only who has entered it may read it. */
    if (!compare(self, board, &decision)) {
        const rondo_decision now = decision_of(board);
        if (now.attempt == decision.attempt) {
            atomic_store(&self->cast->wrong, true);
        }
    }
    if (next_random(self) % 4 == 0) {
        (void)rondo_agreement_conclude(board, attempt,
                                       next_random(self) % 8 != 0
                                           ? RONDO_OUTCOME_FAILED
                                           : RONDO_OUTCOME_COMMITTED);
    }
    return false;
}

static void *
play(void *argument)
{
    actor *const self = argument;
    rondo_board board;
    uint32_t looks = 0;

    rondo_board_open(self->cast->memory, self->cast->nranks, self->rank, &board);
    while (!act(self, &board)) {
        if (self->dies_after != 0 && ++looks > self->dies_after) {
            rondo_board_gone_set(&board, self->rank);
            return NULL;
        }
        (void)sched_yield();
    }
    return NULL;
}

static void
perform(uint32_t nranks, uint32_t seed)
{
    static cast all;
    static actor actors[RANKS_MAX];
    static pthread_t threads[RANKS_MAX];
    uint32_t committed = 0;

    memset((void *)&all, 0, sizeof all);
    all.memory = fresh(nranks);
    all.nranks = nranks;
    (void)pthread_mutex_init(&all.lock, NULL);
    for (uint32_t r = 0; r < nranks; r++) {
        rondo_board board;
        rondo_board_open(all.memory, nranks, r, &board);
        rondo_board_presence_set(&board, RONDO_JOINED);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        actors[r] = (actor){.cast = &all, .rank = r, .seed = seed * 7919 + r};
        actors[r].dies_after = r != seed % nranks && next_random(&actors[r]) % 3 == 0
                                   ? 1 + next_random(&actors[r]) % 40
                                   : 0;
        assert_int_equal(pthread_create(&threads[r], NULL, play, &actors[r]), 0);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        (void)pthread_join(threads[r], NULL);
    }
    assert_false(atomic_load(&all.wrong));
    for (uint32_t r = 0; r < nranks; r++) {
        if (actors[r].committed != 0) {
            assert_int_not_equal(actors[r].committed, UINT32_MAX);
            assert_true(committed == 0 || committed == actors[r].committed);
            committed = actors[r].committed;
        }
    }
    (void)pthread_mutex_destroy(&all.lock);
    free(all.memory);
}

static void
all_see_the_same(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 8, 64, 65, 130};

    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t rounds = sizes[i] < 10 ? 40 : 4;
        for (uint32_t seed = 1; seed <= rounds; seed++) {
            perform(sizes[i], seed);
        }
    }
}

/* More ranks than places: who shares a place with a lower rank leaves it to that. */
static void
places_are_shared(void **state)
{
    const uint64_t members[WORDS_MAX] = {1, 2, 3};
    void *const memory = fresh(130);
    rondo_board board;

    (void)state;
    for (uint32_t r = 0; r < 130; r++) {
        rondo_board_open(memory, 130, r, &board);
        rondo_board_presence_set(&board, RONDO_JOINED);
    }
    for (uint32_t r = 64; r < 130; r++) {
        rondo_board_open(memory, 130, r, &board);
        assert_false(rondo_agreement_propose(&board, 1, members));
    }
    rondo_board_gone_set(&board, 1);
    rondo_board_open(memory, 130, 129, &board);
    assert_false(rondo_agreement_propose(&board, 1, members));
    rondo_board_gone_set(&board, 65);
    assert_true(rondo_agreement_propose(&board, 1, members));
    free(memory);
}

/* --- between hosts ---------------------------------------------------------------- */

static void
fill(uint64_t *members, uint32_t words, uint32_t attempt)
{
    for (uint32_t i = 0; i < words; i++) {
        members[i] = (uint64_t)attempt << 32 | i;
    }
}

/* All pieces of the latest decision. */
static uint32_t
carry(const rondo_board *from, rondo_board *to)
{
    const uint32_t words = rondo_agreement_words(from->nranks);
    const uint64_t word = rondo_agreement_word(from);
    rondo_agreement_piece piece;
    uint32_t first = 0;
    uint32_t pieces = 0;

    do {
        assert_true(rondo_agreement_word(to) < word);
        assert_true(rondo_agreement_export(from, word, first, &piece));
        assert_int_equal(rondo_agreement_import(to, &piece), RONDO_OK);
        first += piece.count;
        pieces++;
    } while (piece.count > 0 && first < words);
    assert_int_equal(rondo_agreement_word(to), word);
    return pieces;
}

static void
travel(uint32_t nranks)
{
    const uint32_t words = rondo_agreement_words(nranks);
    void *const here = fresh(nranks);
    void *const there = fresh(nranks);
    uint64_t *const members = calloc(words, sizeof *members);
    uint64_t *const seen = calloc(words, sizeof *seen);
    rondo_board mine;
    rondo_board theirs;

    assert_non_null(members);
    assert_non_null(seen);
    rondo_board_open(here, nranks, nranks / 2, &mine);
    rondo_board_open(there, nranks, 0, &theirs);
    for (uint32_t attempt = 1; attempt < 6; attempt++) {
        fill(members, words, attempt);
        assert_true(rondo_agreement_propose(&mine, attempt, members));
        (void)carry(&mine, &theirs);
        const rondo_decision decision = decision_of(&theirs);
        assert_int_equal(decision.attempt, attempt);
        assert_int_equal(decision.outcome, RONDO_OUTCOME_PROPOSED);
        rondo_agreement_members(&mine, &decision, members);
        rondo_agreement_members(&theirs, &decision, seen);
        assert_memory_equal(members, seen, words * sizeof *seen);
        const rondo_outcome end =
            attempt == 5 ? RONDO_OUTCOME_COMMITTED : RONDO_OUTCOME_FAILED;
        assert_true(rondo_agreement_conclude(&mine, attempt, end));
        const uint32_t pieces = carry(&mine, &theirs);
        assert_true(end != RONDO_OUTCOME_FAILED || pieces == 1);
        assert_int_equal(decision_of(&theirs).outcome, end);
    }
    free(members);
    free(seen);
    free(here);
    free(there);
}

static void
decisions_travel(void **state)
{
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 200, 8192, 8193, 20000};

    (void)state;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        travel(sizes[i]);
    }
}

static void
refuse(rondo_board *board, const rondo_agreement_piece *piece)
{
    const uint64_t before = rondo_agreement_word(board);

    assert_int_equal(rondo_agreement_import(board, piece), RONDO_ERR_WIRE);
    assert_int_equal(rondo_agreement_word(board), before);
}

static void
impossible_decisions_are_refused(void **state)
{
    const uint64_t attempt = UINT64_C(7) << 40;
    const rondo_agreement_piece good = {
        .word = attempt | UINT64_C(1) << 32 | 4, .count = 2, .members = {3, 1}};
    void *const memory = fresh(70);
    rondo_board board;
    rondo_agreement_piece bad = good;

    (void)state;
    rondo_board_open(memory, 70, 0, &board);
    bad.word = attempt | UINT64_C(1) << 32 | 70;
    refuse(&board, &bad);
    for (uint64_t outcome = 0; outcome < 256; outcome++) {
        bad = good;
        bad.word = attempt | outcome << 32 | 4;
        if (outcome == 0 || outcome > 3 || outcome == RONDO_OUTCOME_FAILED) {
            refuse(&board, &bad);
        }
    }
    bad = good;
    bad.word = UINT64_C(1) << 32 | 4;
    refuse(&board, &bad);
    for (uint32_t first = 1; first < 200; first++) {
        bad = good;
        bad.first = first;
        refuse(&board, &bad);
    }
    for (uint32_t count = 3; count < 400; count++) {
        bad = good;
        bad.count = count;
        refuse(&board, &bad);
    }
    bad = good;
    bad.count = 0;
    refuse(&board, &bad);
    assert_int_equal(rondo_agreement_import(&board, &good), RONDO_OK);
    assert_int_equal(rondo_agreement_word(&board), good.word);
    /* An old one changes nothing. */
    bad = good;
    bad.word = UINT64_C(6) << 40 | UINT64_C(3) << 32 | 5;
    assert_int_equal(rondo_agreement_import(&board, &bad), RONDO_OK);
    assert_int_equal(rondo_agreement_word(&board), good.word);
    free(memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_enter_and_quit),
        cmocka_unit_test(only_the_next_can_be_proposed),
        cmocka_unit_test(all_see_the_same),
        cmocka_unit_test(places_are_shared),
        cmocka_unit_test(decisions_travel),
        cmocka_unit_test(impossible_decisions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
