/* pairs.c - AD-PSGD on a communicator: even ranks ask, odd ranks answer. */
#include "average/pairs.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

/* A rank that waits yields for this long, then sleeps between looks. */
#define YIELD_NS (UINT64_C(200) * 1000)
#define SLEEP_NS 50000

/* Waiting for the other side: a deadline that moves on with every letter. */
typedef struct patience {
    uint64_t since_ns; /* the last letter, or the start */
    uint64_t letters;
} patience;

static uint64_t
piece_values(uint64_t count, uint64_t at)
{
    return count - at < RONDO_PAIRS_PIECE ? count - at : RONDO_PAIRS_PIECE;
}

static rondo_status
others_get(rondo_pairs *pairs)
{
    void *memory = NULL;
    const uint64_t values = piece_values(pairs->count, 0);

    rondo_status status =
        rondo_alloc_zero(pairs->nothers * sizeof *pairs->others, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    pairs->others = memory;
    if (pairs->rank % 2 == 0) {
        return RONDO_OK;
    }
    status = rondo_alloc_zero(pairs->nothers * values * sizeof(float), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    pairs->pieces = memory;
    for (uint32_t i = 0; i < pairs->nothers; i++) {
        pairs->others[i].piece = pairs->pieces + i * values;
    }
    return RONDO_OK;
}

rondo_status
rondo_pairs_create(rondo_comm *comm, uint32_t channel, float *parameters,
                   uint64_t count, rondo_pairs **pairs)
{
    void *memory = NULL;

    if (comm == NULL || parameters == NULL || pairs == NULL || count == 0) {
        return rondo_error(RONDO_ERR_ARG, "rondo_pairs_create: %s",
                           count == 0 ? "count is 0" : "a pointer is null");
    }
    rondo_status status = rondo_alloc_zero(sizeof **pairs, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_pairs *const made = memory;
    made->comm = comm;
    made->channel = channel;
    made->rank = rondo_comm_rank(comm);
    made->nothers = (rondo_comm_nranks(comm) + made->rank % 2) / 2;
    made->parameters = parameters;
    made->count = count;
    made->fault = RONDO_OK;
    status = others_get(made);
    if (status == RONDO_OK) {
        status = rondo_message_handler_set(comm, channel, rondo_pairs_take, made);
    }
    if (status != RONDO_OK) {
        rondo_free(made->pieces);
        rondo_free(made->others);
        rondo_free(made);
        return status;
    }
    *pairs = made;
    return RONDO_OK;
}

/* Letters in and out; the fault of one comes before the abort that followed it. */
static rondo_status
look(rondo_pairs *pairs)
{
    rondo_status status = rondo_comm_progress(pairs->comm);

    if (status == RONDO_OK && pairs->npending != 0) {
        status = rondo_pairs_pay(pairs);
    }
    return pairs->fault == RONDO_OK
               ? status
               : rondo_error(pairs->fault, "%s", pairs->fault_text);
}

/* Nobody may wait for a rank that has given up, and what is half averaged is not gone
 * on with: the communicator ends. */
static rondo_status
give_up(rondo_pairs *pairs, uint32_t rank, const char *what)
{
    const uint64_t timeout_ms = rondo_comm_timeout(pairs->comm);

    (void)!rondo_comm_abort(pairs->comm);
    return rondo_error(RONDO_ERR_TIMEOUT, "rank %u has not %s for %.1f s", rank, what,
                       (double)timeout_ms / 1e3);
}

static patience
patience_begin(const rondo_pairs *pairs)
{
    return (patience){rondo_now_ns(), pairs->letters};
}

/* One look, and a pause if it brought nothing. RONDO_BUSY: the deadline has passed. */
static rondo_status
wait_a_little(rondo_pairs *pairs, patience *waiting)
{
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    const rondo_status status = look(pairs);

    if (status != RONDO_OK) {
        return status;
    }
    const uint64_t now_ns = rondo_now_ns();
    if (waiting->letters != pairs->letters) {
        *waiting = (patience){now_ns, pairs->letters};
        return RONDO_OK;
    }
    const uint64_t waited_ns = now_ns - waiting->since_ns;
    if (waited_ns / RONDO_NS_PER_MS >= rondo_comm_timeout(pairs->comm)) {
        return RONDO_BUSY;
    }
    if (waited_ns < YIELD_NS) {
        (void)sched_yield();
    } else {
        (void)nanosleep(&pause, NULL);
    }
    return RONDO_OK;
}

static rondo_status
send_letter(rondo_pairs *pairs, uint32_t peer, const rondo_pairs_letter *letter)
{
    patience waiting = patience_begin(pairs);

    for (;;) {
        rondo_status status = rondo_message_send(
            pairs->comm, peer, pairs->channel, letter, sizeof *letter,
            letter->values == 0 ? NULL : pairs->parameters + letter->at,
            letter->values * sizeof *pairs->parameters);
        if (status != RONDO_BUSY) {
            return status;
        }
        status = wait_a_little(pairs, &waiting);
        if (status == RONDO_BUSY) {
            return give_up(pairs, peer, "taken a message");
        }
        if (status != RONDO_OK) {
            return status;
        }
    }
}

static rondo_status
exchange_piece(rondo_pairs *pairs)
{
    rondo_status status = send_letter(pairs, pairs->partner, &pairs->question);
    patience waiting = patience_begin(pairs);

    while (status == RONDO_OK && pairs->asked) {
        status = wait_a_little(pairs, &waiting);
    }
    return status == RONDO_BUSY ? give_up(pairs, pairs->partner, "answered") : status;
}

rondo_status
rondo_pairs_step(rondo_pairs *pairs, uint64_t draw)
{
    if (pairs == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_pairs_step: the pairs are null");
    }
    if (pairs->rank % 2 == 1 || pairs->nothers == 0) {
        return look(pairs);
    }
    if (pairs->left) {
        return rondo_error(RONDO_ERR_STATE, "rank %u has left the averages in pairs",
                           pairs->rank);
    }
    pairs->partner = 2 * (uint32_t)(draw % pairs->nothers) + 1;
    for (uint64_t at = 0; at < pairs->count; at += RONDO_PAIRS_PIECE) {
        pairs->question = (rondo_pairs_letter){
            .kind = RONDO_PAIRS_ASK,
            .values = (uint32_t)piece_values(pairs->count, at),
            .count = pairs->count,
            .at = at,
            .exchange = pairs->exchanges + 1,
        };
        pairs->asked = true;
        const rondo_status status = exchange_piece(pairs);
        if (status != RONDO_OK) {
            pairs->asked = false;
            return status;
        }
    }
    pairs->exchanges++;
    return RONDO_OK;
}

rondo_status
rondo_pairs_poll(rondo_pairs *pairs)
{
    if (pairs == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_pairs_poll: the pairs are null");
    }
    return look(pairs);
}

/* The first rank of the other side that is not done, for sentences. */
static uint32_t
first_undone(const rondo_pairs *pairs)
{
    uint32_t index = 0;

    while (index + 1 < pairs->nothers && pairs->others[index].done) {
        index++;
    }
    return 2 * index + (pairs->rank % 2 == 0 ? 1 : 0);
}

/* Goodbye to all, then until all have seen it: so every message has left, too. */
static rondo_status
leave_even(rondo_pairs *pairs)
{
    const rondo_pairs_letter bye = {.kind = RONDO_PAIRS_BYE, .count = pairs->count};
    rondo_status status = RONDO_OK;

    pairs->left = true;
    for (uint32_t i = 0; i < pairs->nothers && status == RONDO_OK; i++) {
        status = send_letter(pairs, 2 * i + 1, &bye);
    }
    patience waiting = patience_begin(pairs);
    while (status == RONDO_OK && pairs->ndone < pairs->nothers) {
        status = wait_a_little(pairs, &waiting);
    }
    return status == RONDO_BUSY
               ? give_up(pairs, first_undone(pairs), "seen the goodbye")
               : status;
}

static rondo_status
leave_odd(rondo_pairs *pairs)
{
    rondo_status status = look(pairs);
    patience waiting = patience_begin(pairs);

    while (status == RONDO_OK &&
           (pairs->ndone < pairs->nothers || pairs->npending != 0)) {
        status = wait_a_little(pairs, &waiting);
    }
    return status == RONDO_BUSY ? give_up(pairs, first_undone(pairs), "asked or left")
                                : status;
}

rondo_status
rondo_pairs_leave(rondo_pairs *pairs)
{
    if (pairs == NULL) {
        return rondo_error(RONDO_ERR_ARG, "rondo_pairs_leave: the pairs are null");
    }
    if (pairs->left) {
        return look(pairs);
    }
    return pairs->rank % 2 == 0 ? leave_even(pairs) : leave_odd(pairs);
}

uint64_t
rondo_pairs_exchanges(const rondo_pairs *pairs)
{
    return pairs != NULL ? pairs->exchanges : 0;
}

void
rondo_pairs_destroy(rondo_pairs *pairs)
{
    if (pairs == NULL) {
        return;
    }
    /* Refused where the communicator is broken; then nothing is delivered any more. */
    (void)!rondo_message_handler_set(pairs->comm, pairs->channel, NULL, NULL);
    rondo_free(pairs->pieces);
    rondo_free(pairs->others);
    rondo_free(pairs);
}
