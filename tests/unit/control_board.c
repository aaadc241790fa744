/* control_board.c - the board: what one rank writes the others read whole or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "control/board.h"

#define RANKS_MAX 17

static void *
fresh(uint32_t nranks)
{
    const size_t bytes = rondo_board_bytes(nranks);
    void *const memory = aligned_alloc(4096, bytes);

    assert_non_null(memory);
    assert_int_equal(bytes % 4096, 0);
    memset(memory, 0, bytes);
    return memory;
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
assert_signature(const rondo_board *board, uint32_t rank, uint64_t sequence)
{
    const rondo_signature want = signature_of(sequence);
    rondo_signature got;

    assert_int_equal(rondo_board_signature(board, rank, sequence, &got), RONDO_OK);
    assert_memory_equal(&got, &want, sizeof got);
}

static void
empty_is_empty(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= RANKS_MAX; n++) {
        void *const memory = fresh(n);
        rondo_board board;
        rondo_board_open(memory, n, n - 1, &board);
        assert_false(rondo_board_broken(&board));
        assert_false(rondo_board_breakage(&board, &(rondo_breakage){.culprit = 0}));
        for (uint32_t rank = 0; rank < n + 2; rank++) {
            rondo_activity activity;
            rondo_offer offer;
            rondo_signature signature;
            assert_int_equal(rondo_board_presence(&board, rank), RONDO_ABSENT);
            rondo_board_activity(&board, rank, &activity);
            assert_int_equal(activity.sequence, 0);
            assert_false(activity.finished);
            assert_int_equal(activity.peer, UINT32_MAX);
            assert_int_equal(rondo_board_signature(&board, rank, 1, &signature),
                             rank < n ? RONDO_BUSY : RONDO_ERR_STATE);
            assert_int_equal(rondo_board_offer(&board, rank, 1, &offer),
                             rank < n ? RONDO_BUSY : RONDO_ERR_STATE);
        }
        free(memory);
    }
}

/* Every rank writes its own, reads everybody's; nobody's values are taken for
 * another's. */
static void
signatures_and_presence(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= RANKS_MAX; n++) {
        void *const memory = fresh(n);
        rondo_board boards[RANKS_MAX];
        for (uint32_t rank = 0; rank < n; rank++) {
            rondo_board_open(memory, n, rank, &boards[rank]);
            rondo_board_presence_set(&boards[rank], RONDO_JOINED);
            for (uint64_t s = 1; s <= 20 + rank; s++) {
                const rondo_signature signature = signature_of(s);
                rondo_board_enter(&boards[rank], s, &signature);
            }
        }
        rondo_board_presence_set(&boards[n - 1], RONDO_LEFT);
        for (uint32_t rank = 0; rank < n; rank++) {
            const uint64_t last = 20 + rank;
            rondo_signature none;
            for (uint64_t s = 1; s + 8 <= last; s++) {
                assert_int_equal(rondo_board_signature(&boards[0], rank, s, &none),
                                 RONDO_ERR_STATE);
            }
            for (uint64_t s = last - 7; s <= last; s++) {
                assert_signature(&boards[0], rank, s);
            }
            assert_int_equal(rondo_board_signature(&boards[0], rank, last + 1, &none),
                             RONDO_BUSY);
            assert_int_equal(rondo_board_presence(&boards[0], rank),
                             rank == n - 1 ? RONDO_LEFT : RONDO_JOINED);
        }
        free(memory);
    }
}

/* Sequences need not be neighbours: what was never entered is not made up. */
static void
skipped_sequences(void **state)
{
    void *const memory = fresh(1);
    rondo_board board;
    rondo_signature none;

    (void)state;
    rondo_board_open(memory, 1, 0, &board);
    for (uint64_t s = 3; s < 100; s += 3) {
        const rondo_signature signature = signature_of(s);
        rondo_board_enter(&board, s, &signature);
        assert_signature(&board, 0, s);
        assert_int_equal(rondo_board_signature(&board, 0, s - 1, &none),
                         RONDO_ERR_STATE);
        assert_int_equal(rondo_board_signature(&board, 0, s + 1, &none), RONDO_BUSY);
    }
    free(memory);
}

static void
activity_follows(void **state)
{
    void *const memory = fresh(4);
    rondo_board mine;
    rondo_board theirs;
    rondo_activity activity;

    (void)state;
    rondo_board_open(memory, 4, 2, &mine);
    rondo_board_open(memory, 4, 0, &theirs);
    for (uint64_t s = 1; s < 30; s++) {
        const rondo_signature signature = signature_of(s);
        rondo_board_enter(&mine, s, &signature);
        rondo_board_activity(&theirs, 2, &activity);
        assert_int_equal(activity.sequence, s);
        assert_false(activity.finished);
        assert_int_equal(activity.step, 0);
        assert_int_equal(activity.peer, UINT32_MAX);
        rondo_board_standing_set(&mine, s * 10, (uint32_t)(s % 4));
        rondo_board_activity(&theirs, 2, &activity);
        assert_int_equal(activity.step, s * 10);
        assert_int_equal(activity.peer, s % 4);
        rondo_board_finish(&mine, s);
        rondo_board_activity(&theirs, 2, &activity);
        assert_true(activity.finished);
        assert_int_equal(activity.sequence, s);
    }
    rondo_board_standing_set(&mine, UINT64_MAX, UINT32_MAX);
    rondo_board_activity(&theirs, 2, &activity);
    assert_int_equal(activity.step, UINT32_MAX);
    assert_int_equal(activity.peer, UINT32_MAX);
    rondo_board_standing_set(&mine, 1, 4);
    rondo_board_activity(&theirs, 2, &activity);
    assert_int_equal(activity.peer, UINT32_MAX);
    free(memory);
}

static rondo_offer
offer_of(uint64_t sequence)
{
    return (rondo_offer){.mapped = 1,
                         .in_block = (uint32_t)sequence,
                         .out_block = (uint32_t)(sequence + 1),
                         .in_at = sequence << 40,
                         .out_at = sequence << 41 | 1};
}

/* Not by memory: there is padding. */
static bool
same_offer(const rondo_offer *one, const rondo_offer *other)
{
    return one->mapped == other->mapped && one->in_block == other->in_block &&
           one->out_block == other->out_block && one->in_at == other->in_at &&
           one->out_at == other->out_at;
}

static void
offers_are_found_by_sequence(void **state)
{
    void *const memory = fresh(2);
    rondo_board mine;
    rondo_board theirs;

    (void)state;
    rondo_board_open(memory, 2, 1, &mine);
    rondo_board_open(memory, 2, 0, &theirs);
    for (uint64_t step = 1; step <= 5; step++) {
        for (uint64_t s = step; s < 200; s += step) {
            const rondo_offer want = offer_of(s);
            const rondo_offer before = offer_of(s - step);
            rondo_offer got;
            rondo_board_offer_set(&mine, s, &want);
            assert_int_equal(rondo_board_offer(&theirs, 1, s, &got), RONDO_OK);
            assert_true(same_offer(&got, &want));
            if (s > step) {
                assert_int_equal(rondo_board_offer(&theirs, 1, s - step, &got),
                                 RONDO_OK);
                assert_true(same_offer(&got, &before));
            }
            assert_int_equal(rondo_board_offer(&theirs, 1, s + 1000, &got), RONDO_BUSY);
        }
    }
    free(memory);
}

static void
first_breaking_wins(void **state)
{
    void *const memory = fresh(3);
    rondo_board boards[3];

    (void)state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        rondo_board_open(memory, 3, rank, &boards[rank]);
    }
    for (uint32_t rank = 3; rank-- > 0;) {
        rondo_breakage why = {
            .status = RONDO_ERR_TIMEOUT, .culprit = 1, .reporter = rank};
        memset(why.text, 'a' + (int)rank, sizeof why.text);
        assert_int_equal(rondo_board_break(&boards[rank], &why), rank == 2);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        rondo_breakage got;
        assert_true(rondo_board_broken(&boards[rank]));
        assert_true(rondo_board_breakage(&boards[rank], &got));
        assert_int_equal(got.status, RONDO_ERR_TIMEOUT);
        assert_int_equal(got.culprit, 1);
        assert_int_equal(got.reporter, 2);
        assert_int_equal(strlen(got.text), RONDO_BOARD_TEXT_MAX - 1);
        assert_int_equal(got.text[0], 'c');
    }
    free(memory);
}

/* The words at the front of the memory are the claim and its publication. */
static void
claimer_that_died(void **state)
{
    for (uint32_t claim = 1; claim <= 4; claim++) {
        uint32_t *const memory = fresh(3);
        rondo_board board;
        rondo_breakage got;
        char want[32];

        (void)state;
        rondo_board_open(memory, 3, 0, &board);
        memory[0] = claim;
        const uint64_t start = rondo_now_ns();
        assert_true(rondo_board_broken(&board));
        assert_true(rondo_board_breakage(&board, &got));
        assert_true(rondo_now_ns() - start < RONDO_NS_PER_S);
        assert_int_equal(got.status, RONDO_ERR_PEER);
        assert_int_equal(got.reporter, claim <= 3 ? claim - 1 : UINT32_MAX);
        (void)snprintf(want, sizeof want, "rank %u ", claim - 1);
        assert_true(claim > 3 || strstr(got.text, want) != NULL);
        assert_false(rondo_board_break(&board, &got));
        free(memory);
    }
}

/* Any rubbish in the memory gives values that can be used, and no endless loop. */
static void
scribbled_memory(void **state)
{
    const size_t bytes = rondo_board_bytes(3);
    unsigned char *const memory = fresh(3);

    (void)state;
    srand(1);
    for (uint32_t round = 0; round < 300; round++) {
        rondo_board board;
        rondo_breakage why;
        rondo_activity activity;
        rondo_signature signature;
        rondo_offer offer;
        for (size_t at = 0; at < bytes; at++) {
            memory[at] = (unsigned char)rand();
        }
        rondo_board_open(memory, 3, 0, &board);
        assert_true(rondo_board_breakage(&board, &why));
        assert_true(memchr(why.text, '\0', sizeof why.text) != NULL);
        assert_true(why.culprit < 3 || why.culprit == UINT32_MAX);
        assert_true(why.reporter < 3 || why.reporter == UINT32_MAX);
        assert_true(why.status < 0);
        assert_string_not_equal(rondo_status_name(why.status), "RONDO_UNKNOWN");
        for (uint32_t rank = 0; rank < 4; rank++) {
            rondo_board_activity(&board, rank, &activity);
            assert_true(activity.peer < 3 || activity.peer == UINT32_MAX);
            assert_true(rondo_board_presence(&board, rank) <= RONDO_LEFT);
            const rondo_status read =
                rondo_board_signature(&board, rank, round, &signature);
            assert_true(read == RONDO_OK || read == RONDO_BUSY ||
                        read == RONDO_ERR_STATE);
            assert_int_not_equal(rondo_board_offer(&board, rank, round, &offer),
                                 RONDO_OK);
        }
    }
    free(memory);
}

#define ROUNDS 200000

typedef struct race {
    rondo_board board;
    _Atomic uint64_t last; /* sequences written so far */
    _Atomic bool failed;
} race;

static void *
write_many(void *user)
{
    race *const shared = user;

    for (uint64_t s = 1; s <= ROUNDS; s++) {
        const rondo_signature signature = signature_of(s);
        const rondo_offer offer = offer_of(s);
        rondo_board_enter(&shared->board, s, &signature);
        rondo_board_standing_set(&shared->board, s & 0xffff, (uint32_t)(s & 1));
        rondo_board_offer_set(&shared->board, s, &offer);
        rondo_board_finish(&shared->board, s);
        atomic_store_explicit(&shared->last, s, memory_order_relaxed);
    }
    return NULL;
}

static bool
read_one(const rondo_board *board, uint64_t sequence)
{
    const rondo_signature want = signature_of(sequence);
    const rondo_offer offered = offer_of(sequence);
    rondo_signature got;
    rondo_offer offer;
    rondo_activity activity;
    bool right = true;

    if (rondo_board_signature(board, 0, sequence, &got) == RONDO_OK) {
        right = memcmp(&got, &want, sizeof got) == 0;
    }
    if (rondo_board_offer(board, 0, sequence, &offer) == RONDO_OK) {
        right = right && same_offer(&offer, &offered);
    }
    rondo_board_activity(board, 0, &activity);
    if (activity.peer != UINT32_MAX) {
        right = right && activity.step == (activity.sequence & 0xffff) &&
                activity.peer == (activity.sequence & 1);
    }
    return right;
}

static void *
read_many(void *user)
{
    race *const shared = user;
    uint64_t last = 0;

    while (last < ROUNDS) {
        last = atomic_load_explicit(&shared->last, memory_order_relaxed);
        for (uint64_t back = 0; back < 10; back++) {
            if (last > back && !read_one(&shared->board, last - back + 2)) {
                atomic_store(&shared->failed, true);
                return NULL;
            }
        }
    }
    return NULL;
}

static void
readers_never_see_a_mixture(void **state)
{
    void *const memory = fresh(2);
    race shared = {.last = 0};
    pthread_t writer;
    pthread_t readers[2];

    (void)state;
    rondo_board_open(memory, 2, 0, &shared.board);
    assert_int_equal(pthread_create(&writer, NULL, write_many, &shared), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_many, &shared), 0);
    }
    (void)pthread_join(writer, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        (void)pthread_join(readers[i], NULL);
    }
    assert_false(shared.failed);
    free(memory);
}

typedef struct breaker {
    rondo_board board;
    bool won;
    bool agrees;
} breaker;

static void *
break_it(void *user)
{
    breaker *const self = user;
    rondo_breakage why = {.status = RONDO_ERR_ABORTED, .culprit = self->board.rank};

    (void)snprintf(why.text, sizeof why.text, "by %u", self->board.rank);
    self->won = rondo_board_break(&self->board, &why);
    self->agrees = rondo_board_breakage(&self->board, &why) &&
                   why.culprit == why.reporter &&
                   (uint32_t)(why.text[3] - '0') == why.reporter;
    return NULL;
}

static void
breaking_from_many_threads(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        void *const memory = fresh(4);
        breaker breakers[4];
        pthread_t threads[4];
        uint32_t winners = 0;
        for (uint32_t rank = 0; rank < 4; rank++) {
            rondo_board_open(memory, 4, rank, &breakers[rank].board);
            assert_int_equal(
                pthread_create(&threads[rank], NULL, break_it, &breakers[rank]), 0);
        }
        for (uint32_t rank = 0; rank < 4; rank++) {
            (void)pthread_join(threads[rank], NULL);
            winners += breakers[rank].won;
            assert_true(breakers[rank].agrees);
        }
        assert_int_equal(winners, 1);
        free(memory);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_empty),
        cmocka_unit_test(signatures_and_presence),
        cmocka_unit_test(skipped_sequences),
        cmocka_unit_test(activity_follows),
        cmocka_unit_test(offers_are_found_by_sequence),
        cmocka_unit_test(first_breaking_wins),
        cmocka_unit_test(claimer_that_died),
        cmocka_unit_test(scribbled_memory),
        cmocka_unit_test(readers_never_see_a_mixture),
        cmocka_unit_test(breaking_from_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
