/* average_pairs.c - averaging in pairs between real ranks: ten thousand exchanges end,
 * nothing is lost, pieces change as a whole, both sides get the same, everybody can
 * leave, and strange messages are refused. ctest: timeout=180 hosts */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/ranks.h"

#define NRANKS_MAX 8
#define CHANNEL    9
#define PIECE      ((uint64_t)65536)
#define MARK_END   0

/* One run; children see a copy. */
typedef struct plan {
    uint64_t count;
    uint64_t steps; /* of each even rank */
    uint32_t pause_us_max;
} plan;

/* What ranks hold at the end, for sums over all of them. */
typedef struct ending {
    float values[NRANKS_MAX][2 * 1024];
    uint64_t exchanges[NRANKS_MAX];
} ending;

static ending *ends;

/* Pieces are constant at the start, so they must be constant for ever: an average that
 * took a part of one would show. */
static float
brought(uint32_t rank, uint64_t piece)
{
    return (float)rank * 1.25F - (float)piece * 0.3F + 0.7F;
}

static bool
is_even_in_pieces(rank_self *self, const float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!rank_expect(self, values[i] == values[i - i % PIECE],
                         "value %d is %.9g, its piece began with %.9g", (int)i,
                         (double)values[i], (double)values[i - i % PIECE])) {
            return false;
        }
    }
    return true;
}

static void
dawdle(uint64_t *seed, uint32_t pause_us_max)
{
    if (pause_us_max != 0 && model_random(seed) % 4 == 0) {
        (void)usleep((useconds_t)(model_random(seed) % pause_us_max));
    }
}

static bool
even_part(rank_self *self, rondo_comm *comm, rondo_pairs *pairs, const plan *p)
{
    uint64_t seed = self->rank + 100;

    for (uint64_t step = 0; step < p->steps; step++) {
        rank_note(self, "step %llu", (unsigned long long)step);
        if (!rank_expect_status(self, rondo_pairs_step(pairs, model_random(&seed)),
                                RONDO_OK, comm, "rondo_pairs_step")) {
            return false;
        }
        dawdle(&seed, p->pause_us_max);
    }
    return true;
}

/* Steps and polls in turn, and pauses in which nobody is answered. */
static bool
odd_part(rank_self *self, rondo_comm *comm, rondo_pairs *pairs, const plan *p)
{
    uint64_t seed = self->rank + 100;

    for (uint64_t step = 0; step < p->steps; step++) {
        const rondo_status status =
            step % 2 == 0 ? rondo_pairs_poll(pairs) : rondo_pairs_step(pairs, step);
        if (!rank_expect_status(self, status, RONDO_OK, comm, "answering")) {
            return false;
        }
        dawdle(&seed, p->pause_us_max);
    }
    return true;
}

static void
exchange(rank_self *self)
{
    const plan *const p = self->user;
    rondo_comm *comm = NULL;
    rondo_pairs *pairs = NULL;
    float *const values = malloc(p->count * sizeof *values);

    if (values == NULL || !rank_join(self, 20000, &comm)) {
        free(values);
        return;
    }
    for (uint64_t i = 0; i < p->count; i++) {
        values[i] = brought(self->rank, i / PIECE);
    }
    if (!rank_expect_status(self,
                            rondo_pairs_create(comm, CHANNEL, values, p->count, &pairs),
                            RONDO_OK, comm, "rondo_pairs_create")) {
        return;
    }
    const bool fine = self->rank % 2 == 0 ? even_part(self, comm, pairs, p)
                                          : odd_part(self, comm, pairs, p);
    if (fine && rank_expect_status(self, rondo_pairs_leave(pairs), RONDO_OK, comm,
                                   "rondo_pairs_leave")) {
        rank_expect_status(self, rondo_pairs_leave(pairs), RONDO_OK, comm,
                           "leaving again");
        rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "after leaving");
        (void)is_even_in_pieces(self, values, p->count);
    }
    for (uint64_t i = 0; i * PIECE < p->count; i++) {
        ends->values[self->rank][i] = values[i * PIECE];
    }
    ends->exchanges[self->rank] = rondo_pairs_exchanges(pairs);
    rondo_pairs_destroy(pairs);
    rondo_comm_destroy(comm);
    free(values);
}

/* Sums over all ranks, before and after. */
static void
mass_check(uint32_t nranks, const plan *p)
{
    uint64_t exchanges[2] = {0, 0};

    for (uint64_t piece = 0; piece * PIECE < p->count; piece++) {
        double before = 0.0;
        double after = 0.0;
        for (uint32_t r = 0; r < nranks; r++) {
            before += (double)brought(r, piece);
            after += (double)ends->values[r][piece];
        }
        if (fabs(after - before) > 1e-4 * nranks) {
            fail_msg("%u ranks: sum %.9g became %.9g", nranks, before, after);
        }
        for (uint32_t r = 0; r < nranks; r++) {
            /* Many exchanges have made them one, up to rounding. */
            assert_true(p->steps < 200 ||
                        fabs((double)ends->values[r][piece] - after / nranks) < 1e-4);
        }
    }
    for (uint32_t r = 0; r < nranks; r++) {
        exchanges[r % 2] += ends->exchanges[r];
        assert_true(r % 2 == 1 || ends->exchanges[r] == p->steps);
    }
    assert_int_equal(exchanges[0], exchanges[1]);
}

static void
many_exchanges_end(void **state)
{
    (void)state;
    for (uint32_t nranks = 2; nranks <= NRANKS_MAX; nranks++) {
        const uint32_t evens = (nranks + 1) / 2;
        const plan p = {.count = 700, .steps = 1500 / evens + 1, .pause_us_max = 300};
        plan copy = p;

        run_ranks(nranks, nranks % 2 == 0 ? AS_PROCESSES : AS_THREADS, exchange, &copy,
                  60000);
        mass_check(nranks, &p);
    }
}

static void
vectors_of_several_pieces(void **state)
{
    static const uint64_t sizes[] = {PIECE, PIECE + 1, 2 * PIECE + 17};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (uint32_t nranks = 2; nranks <= 5; nranks++) {
            const plan p = {.count = sizes[s], .steps = 12, .pause_us_max = 2000};
            plan copy = p;

            run_ranks(nranks, AS_PROCESSES, exchange, &copy, 60000);
            mass_check(nranks, &p);
        }
    }
}

/* --- both sides ------------------------------------------------------------------- */

/* Any numbers: after its only exchange each pair holds the same bits, the mean. */
static void
once(rank_self *self)
{
    static float values[3000];
    rondo_comm *comm = NULL;
    rondo_pairs *pairs = NULL;
    const uint32_t other = self->rank ^ 1;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    float sides[2][3000];
    for (uint32_t r = 0; r < 2; r++) {
        uint64_t seed = self->rank / 2 * 2 + r;
        for (uint32_t i = 0; i < 3000; i++) {
            const uint32_t bits = (uint32_t)model_random(&seed);
            memcpy(&sides[r][i], &bits, sizeof bits);
            sides[r][i] = isfinite(sides[r][i]) ? sides[r][i] : 3e38F;
        }
    }
    memcpy(values, sides[self->rank % 2], sizeof values);
    rank_expect_status(self, rondo_pairs_create(comm, CHANNEL, values, 3000, &pairs),
                       RONDO_OK, comm, "rondo_pairs_create");
    /* Even rank 2 k takes odd rank 2 k + 1: draw is an index of odd ranks. */
    rank_expect_status(self,
                       rondo_pairs_step(pairs, self->rank / 2 + 8 * self->nranks / 2),
                       RONDO_OK, comm, "rondo_pairs_step");
    rank_expect_status(self, rondo_pairs_leave(pairs), RONDO_OK, comm,
                       "rondo_pairs_leave");
    rank_expect(self, rondo_pairs_exchanges(pairs) == 1, "%d exchanges with rank %u",
                (int)rondo_pairs_exchanges(pairs), other);
    for (uint32_t i = 0; i < 3000; i++) {
        const float mean = (float)(((double)sides[0][i] + (double)sides[1][i]) / 2.0);
        /* Tiny numbers: their halves are rounded as well. */
        rank_expect(self, values[i] == mean || fabsf(values[i] - mean) <= 3e-45F,
                    "value %u is %.9g, not %.9g", i, (double)values[i], (double)mean);
    }
    if (self->rank % 2 == 1) {
        rank_expect_status(self, rondo_send(comm, values, 3000, RONDO_FP32, other),
                           RONDO_OK, comm, "showing");
    } else {
        float theirs[3000];
        rank_expect_status(self, rondo_recv(comm, theirs, 3000, RONDO_FP32, other),
                           RONDO_OK, comm, "looking");
        rank_expect(self, memcmp(theirs, values, sizeof values) == 0,
                    "the two sides differ");
        rank_expect_status(self, rondo_pairs_step(pairs, 0), RONDO_ERR_STATE, NULL,
                           "a step after leaving");
    }
    /* Who ends a communicator ends it for all. */
    rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "at the end");
    rondo_pairs_destroy(pairs);
    rondo_comm_destroy(comm);
}

static void
both_sides_get_the_same(void **state)
{
    (void)state;
    for (uint32_t nranks = 2; nranks <= 6; nranks += 2) {
        run_ranks(nranks, AS_PROCESSES, once, NULL, 20000);
    }
}

/* A rank alone, and arguments that make no sense. */
static void
alone(rank_self *self)
{
    rondo_comm *comm = NULL;
    rondo_pairs *pairs = NULL;
    float value = 4.0F;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    rank_expect_status(self, rondo_pairs_create(NULL, 1, &value, 1, &pairs),
                       RONDO_ERR_ARG, NULL, "no communicator");
    rank_expect_status(self, rondo_pairs_create(comm, 1, NULL, 1, &pairs),
                       RONDO_ERR_ARG, NULL, "no parameters");
    rank_expect_status(self, rondo_pairs_create(comm, 1, &value, 0, &pairs),
                       RONDO_ERR_ARG, NULL, "no values");
    rank_expect_status(self, rondo_pairs_create(comm, 1, &value, 1, NULL),
                       RONDO_ERR_ARG, NULL, "nowhere to put it");
    rank_expect_status(
        self, rondo_pairs_create(comm, RONDO_MESSAGE_CHANNELS, &value, 1, &pairs),
        RONDO_ERR_ARG, NULL, "no such channel");
    rank_expect_status(self, rondo_pairs_step(NULL, 0), RONDO_ERR_ARG, NULL, "null");
    rank_expect_status(self, rondo_pairs_poll(NULL), RONDO_ERR_ARG, NULL, "null");
    rank_expect_status(self, rondo_pairs_leave(NULL), RONDO_ERR_ARG, NULL, "null");
    rondo_pairs_destroy(NULL);
    rank_expect_status(self, rondo_pairs_create(comm, 1, &value, 1, &pairs), RONDO_OK,
                       comm, "rondo_pairs_create");
    rank_expect_status(self, rondo_pairs_step(pairs, 5), RONDO_OK, comm, "a step");
    rank_expect_status(self, rondo_pairs_poll(pairs), RONDO_OK, comm, "a poll");
    rank_expect_status(self, rondo_pairs_leave(pairs), RONDO_OK, comm, "leaving");
    rank_expect(self, value == 4.0F && rondo_pairs_exchanges(pairs) == 0,
                "a rank alone has averaged");
    rondo_pairs_destroy(pairs);
    rondo_comm_destroy(comm);
}

static void
a_rank_alone_does_nothing(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, alone, NULL, 20000);
}

/* --- what goes wrong -------------------------------------------------------------- */

/* The odd rank makes no progress: its partner gives up at the deadline, by name. */
static void
deaf(rank_self *self)
{
    rondo_comm *comm = NULL;
    rondo_pairs *pairs = NULL;
    float value = 4.0F;

    if (!rank_join(self, 500, &comm)) {
        return;
    }
    rank_expect_status(self, rondo_pairs_create(comm, CHANNEL, &value, 1, &pairs),
                       RONDO_OK, comm, "rondo_pairs_create");
    if (self->rank == 1) {
        (void)rank_reached(self, 0, MARK_END, 10000);
        /* Between hosts an abort may come after the ask that it is about. */
        const uint64_t until_ms = test_now_ms() + 2000;
        rondo_status status = RONDO_OK;
        while (status == RONDO_OK && test_now_ms() < until_ms) {
            status = rondo_pairs_poll(pairs);
        }
        rank_expect_status(self, status, RONDO_ERR_ABORTED, comm, "the deaf rank");
    } else {
        const uint64_t before_ms = test_now_ms();
        rank_expect_status(self, rondo_pairs_step(pairs, 0), RONDO_ERR_TIMEOUT, NULL,
                           "a deaf partner");
        rank_expect_text(self, rondo_error_text(), "rank 1 has not answered",
                         "the sentence");
        rank_expect(self, test_now_ms() - before_ms < 2000, "it took %d ms",
                    (int)(test_now_ms() - before_ms));
        rank_mark(self, MARK_END);
    }
    rank_expect(self, self->rank == 1 || value == 4.0F, "half of a mean: %g",
                (double)value);
    rondo_pairs_destroy(pairs);
    rondo_comm_destroy(comm);
}

static void
a_deaf_partner_is_named(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, deaf, NULL, 20000);
}

static void
unequal(rank_self *self)
{
    static float values[20];
    rondo_comm *comm = NULL;
    rondo_pairs *pairs = NULL;

    if (!rank_join(self, 5000, &comm)) {
        return;
    }
    rank_expect_status(
        self, rondo_pairs_create(comm, CHANNEL, values, 10 + self->rank, &pairs),
        RONDO_OK, comm, "rondo_pairs_create");
    if (self->rank == 1) {
        rank_expect_status(self, rondo_pairs_leave(pairs), RONDO_ERR_MISMATCH, NULL,
                           "another count");
        rank_expect_text(self, rondo_error_text(),
                         "rank 0 averages vectors of 10 values, this rank of 11",
                         "the sentence");
    } else {
        rank_expect_status(self, rondo_pairs_step(pairs, 0), RONDO_ERR_ABORTED, comm,
                           "another count");
    }
    rondo_pairs_destroy(pairs);
    rondo_comm_destroy(comm);
}

static void
unequal_counts_are_an_error(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, unequal, NULL, 20000);
}

/* A letter as it is sent, and how it is wrong. */
typedef struct letter {
    uint32_t kind;
    uint32_t values;
    uint64_t count;
    uint64_t at;
    uint64_t exchange;
    uint64_t payload_bytes;
    uint64_t header_bytes;
} letter;

#define WHOLE 32 /* bytes of a letter */

static const letter strange[] = {
    {1, 10, 10, 1, 1, 40, WHOLE},          /* one value over the end */
    {1, 10, 10, UINT64_MAX, 1, 40, WHOLE}, /* a place beyond it */
    {1, 10, 10, 0, 1, 36, WHOLE},          /* too short */
    {1, 10, 10, 0, 1, 44, WHOLE},          /* too long */
    {1, 0, 10, 0, 1, 0, WHOLE},            /* nothing asked */
    {1, UINT32_MAX, 10, 0, 1, 40, WHOLE},  /* more than a piece */
    {2, 10, 10, 0, 1, 40, WHOLE},          /* an answer to an odd rank */
    {4, 0, 10, 0, 1, 0, WHOLE},            /* a goodbye seen by an even one */
    {3, 1, 10, 0, 1, 4, WHOLE},            /* a goodbye with values */
    {0, 0, 10, 0, 1, 0, WHOLE},            /* no kind */
    {77, 0, 10, 0, 1, 0, WHOLE},           /* no kind */
    {1, 10, 10, 0, 1, 40, WHOLE - 8},      /* no letter */
    {1, 10, 10, 0, 1, 40, 0},              /* no letter at all */
};

static void
hostile(rank_self *self)
{
    static float values[10] = {1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F};
    static unsigned char noise[64];
    const letter *const sent = self->user;
    rondo_comm *comm = NULL;
    rondo_pairs *pairs = NULL;

    if (!rank_join(self, 5000, &comm)) {
        return;
    }
    if (self->rank == 0) {
        rank_expect_status(
            self,
            rondo_message_send(comm, 1, CHANNEL, sent->header_bytes == 0 ? NULL : sent,
                               sent->header_bytes, noise, sent->payload_bytes),
            RONDO_OK, comm, "rondo_message_send");
        while (rondo_comm_progress(comm) == RONDO_OK) {
            rank_pause(1);
        }
        rank_expect_status(self, rondo_comm_state(comm), RONDO_ERR_ABORTED, comm,
                           "after a strange letter");
    } else {
        rank_expect_status(self, rondo_pairs_create(comm, CHANNEL, values, 10, &pairs),
                           RONDO_OK, comm, "rondo_pairs_create");
        rank_expect_status(self, rondo_pairs_leave(pairs), RONDO_ERR_WIRE, NULL,
                           "a strange letter");
        rank_expect_text(self, rondo_error_text(), "rank 0 sent", "the sentence");
        for (uint32_t i = 0; i < 8; i++) {
            rank_expect(self, values[i] == 1.0F, "value %u has changed", i);
        }
        rondo_pairs_destroy(pairs);
    }
    rondo_comm_destroy(comm);
}

static void
strange_letters_are_refused(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof strange / sizeof *strange; s++) {
        letter copy = strange[s];
        run_ranks(2, AS_PROCESSES, hostile, &copy, 20000);
    }
}

static int
share(void **state)
{
    (void)state;
    ends = test_shared(sizeof *ends);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_exchanges_end),
        cmocka_unit_test(vectors_of_several_pieces),
        cmocka_unit_test(both_sides_get_the_same),
        cmocka_unit_test(a_rank_alone_does_nothing),
        cmocka_unit_test(a_deaf_partner_is_named),
        cmocka_unit_test(unequal_counts_are_an_error),
        cmocka_unit_test(strange_letters_are_refused),
    };

    return cmocka_run_group_tests(tests, share, NULL);
}
