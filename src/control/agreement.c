/* agreement.c - how the ranks of a communicator that broke agree who goes on. */
#include "control/agreement.h"

#include "base/error.h"
#include "control/board_inside.h"

/* A decision is one word: attempt, outcome, proposer; later ones are larger. */
#define ATTEMPT_SHIFT 40
#define OUTCOME_SHIFT 32

static uint64_t
word_of(uint32_t attempt, rondo_outcome outcome, uint32_t proposer)
{
    return (uint64_t)attempt << ATTEMPT_SHIFT | (uint64_t)outcome << OUTCOME_SHIFT |
           proposer;
}

static rondo_decision
decision_of(uint64_t word)
{
    return (rondo_decision){.attempt = (uint32_t)(word >> ATTEMPT_SHIFT),
                            .outcome =
                                (rondo_outcome)(word >> OUTCOME_SHIFT & UINT8_MAX),
                            .proposer = (uint32_t)word};
}

uint32_t
rondo_agreement_words(uint32_t nranks)
{
    return (nranks + 63) / 64;
}

size_t
rondo_agreement_bytes(uint32_t nranks)
{
    return sizeof(agreement) +
           2 * (size_t)PROPOSERS * rondo_agreement_words(nranks) * sizeof(uint64_t);
}

static agreement *
area(const rondo_board *board)
{
    return (agreement *)rondo_board_far(board, board->nranks);
}

/* Where a rank writes what it proposes. Attempts take turns between two places: nobody
 * is two attempts behind, since a proposal waits for all. */
static _Atomic uint64_t *
place_of(const rondo_board *board, uint32_t proposer, uint32_t attempt)
{
    const uint32_t place = proposer % PROPOSERS * 2 + attempt % 2;

    return area(board)->members + (size_t)place * rondo_agreement_words(board->nranks);
}

/* The lower half of a stage counts: odd while the rank takes part. */
void
rondo_agreement_enter(rondo_board *board, uint32_t attempt)
{
    _Atomic uint64_t *const stage = &rondo_board_area(board, board->rank)->stage;
    const uint64_t now = rondo_board_get(stage);

    if (now >> 32 < attempt) {
        rondo_board_put(stage, rondo_board_pack(attempt, 1));
    } else if (now % 2 == 0) {
        rondo_board_put(stage, now + 1);
    }
}

void
rondo_agreement_quit(rondo_board *board, uint32_t attempt)
{
    _Atomic uint64_t *const stage = &rondo_board_area(board, board->rank)->stage;
    const uint64_t now = rondo_board_get(stage);

    if (now >> 32 == attempt && now % 2 == 1) {
        rondo_board_put(stage, now + 1);
    }
}

uint64_t
rondo_agreement_stage(const rondo_board *board, uint32_t rank)
{
    return rank < board->nranks ? rondo_board_get(&rondo_board_area(board, rank)->stage)
                                : 0;
}

bool
rondo_agreement_entered(const rondo_board *board, uint32_t rank, uint32_t attempt)
{
    const uint64_t stage = rondo_agreement_stage(board, rank);

    return stage >> 32 == attempt && stage % 2 == 1;
}

uint64_t
rondo_agreement_word(const rondo_board *board)
{
    return rondo_board_get(&area(board)->word);
}

void
rondo_agreement_decision(const rondo_board *board, rondo_decision *decision)
{
    *decision = decision_of(rondo_agreement_word(board));
}

/* Whether the place I would write to is another living rank's as well: it proposes. */
static bool
place_taken(const rondo_board *board)
{
    for (uint32_t rank = board->rank % PROPOSERS; rank < board->rank;
         rank += PROPOSERS) {
        if (rondo_board_presence(board, rank) == RONDO_JOINED) {
            return true;
        }
    }
    return false;
}

bool
rondo_agreement_propose(rondo_board *board, uint32_t attempt, const uint64_t *members)
{
    const uint32_t words = rondo_agreement_words(board->nranks);
    _Atomic uint64_t *const place = place_of(board, board->rank, attempt);

    /* In this order: a rank that is gone has written the word before, if at all, and
     * its place is used again only where it has not. */
    if (place_taken(board)) {
        return false;
    }
    uint64_t before = rondo_agreement_word(board);
    const rondo_decision last = decision_of(before);
    if (last.attempt + 1 != attempt ||
        (last.attempt > 0 && last.outcome != RONDO_OUTCOME_FAILED)) {
        return false;
    }
    for (uint32_t i = 0; i < words; i++) {
        atomic_store_explicit(&place[i], members[i], memory_order_relaxed);
    }
    return atomic_compare_exchange_strong_explicit(
        &area(board)->word, &before,
        word_of(attempt, RONDO_OUTCOME_PROPOSED, board->rank), memory_order_acq_rel,
        memory_order_relaxed);
}

bool
rondo_agreement_conclude(rondo_board *board, uint32_t attempt, rondo_outcome outcome)
{
    uint64_t before = rondo_agreement_word(board);
    const rondo_decision last = decision_of(before);

    return last.attempt == attempt && last.outcome == RONDO_OUTCOME_PROPOSED &&
           atomic_compare_exchange_strong_explicit(
               &area(board)->word, &before, word_of(attempt, outcome, last.proposer),
               memory_order_acq_rel, memory_order_relaxed);
}

void
rondo_agreement_members(const rondo_board *board, const rondo_decision *decision,
                        uint64_t *members)
{
    const uint32_t words = rondo_agreement_words(board->nranks);
    const _Atomic uint64_t *const place =
        place_of(board, decision->proposer, decision->attempt);

    for (uint32_t i = 0; i < words; i++) {
        members[i] = atomic_load_explicit(&place[i], memory_order_relaxed);
    }
    if (board->nranks % 64 != 0) {
        members[words - 1] &= (UINT64_C(1) << board->nranks % 64) - 1;
    }
}

bool
rondo_agreement_export(const rondo_board *board, uint64_t word, uint32_t first,
                       rondo_agreement_piece *piece)
{
    const uint32_t words = rondo_agreement_words(board->nranks);
    const rondo_decision decision = decision_of(word);
    const _Atomic uint64_t *const place =
        place_of(board, decision.proposer, decision.attempt);

    piece->word = word;
    piece->first = first;
    piece->count = 0;
    for (uint32_t i = first; decision.outcome != RONDO_OUTCOME_FAILED && i < words &&
                             piece->count < RONDO_AGREEMENT_PIECE;
         i++) {
        piece->members[piece->count++] =
            atomic_load_explicit(&place[i], memory_order_acquire);
    }
    return rondo_agreement_word(board) == word;
}

rondo_status
rondo_agreement_import(rondo_board *board, const rondo_agreement_piece *piece)
{
    const uint32_t words = rondo_agreement_words(board->nranks);
    const rondo_decision decision = decision_of(piece->word);
    const bool failed = decision.outcome == RONDO_OUTCOME_FAILED;
    const bool possible =
        decision.attempt > 0 && decision.outcome >= RONDO_OUTCOME_PROPOSED &&
        decision.outcome <= RONDO_OUTCOME_COMMITTED &&
        decision.proposer < board->nranks && piece->first <= words &&
        piece->count <= RONDO_AGREEMENT_PIECE && piece->count <= words - piece->first &&
        (piece->count == 0) == failed;

    if (!possible) {
        return rondo_error(RONDO_ERR_WIRE, "a decision that cannot be true");
    }
    if (piece->word <= rondo_agreement_word(board)) {
        return RONDO_OK;
    }
    _Atomic uint64_t *const place =
        place_of(board, decision.proposer, decision.attempt);
    for (uint32_t i = 0; i < piece->count; i++) {
        atomic_store_explicit(&place[piece->first + i], piece->members[i],
                              memory_order_relaxed);
    }
    if (failed || piece->first + piece->count == words) {
        rondo_board_put(&area(board)->word, piece->word);
    }
    return RONDO_OK;
}
