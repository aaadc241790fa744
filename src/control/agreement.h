/*
 * agreement.h - how the ranks of a communicator that broke agree who goes on, on its
 * board (board.h).
 *
 * Attempt by attempt: every rank that lives enters. Whoever sees that all others have
 * entered, died or left proposes those that have entered; they make a communicator.
 * Whoever sees it whole commits; whoever sees trouble fails the attempt, and all enter
 * the next. What is proposed lies complete on the board before one compare-and-swap
 * makes it the proposal, and one more concludes it, so a rank may die at any point and
 * all others still see the same. Ranks on rank 0's host propose and conclude; links.h
 * brings the result to the boards of other hosts.
 */
#ifndef CONTROL_AGREEMENT_H
#define CONTROL_AGREEMENT_H

#include "control/board.h"

typedef enum rondo_outcome {
    RONDO_OUTCOME_NONE = 0, /* of attempt 0: nothing was proposed yet */
    RONDO_OUTCOME_PROPOSED = 1,
    RONDO_OUTCOME_FAILED = 2,
    RONDO_OUTCOME_COMMITTED = 3
} rondo_outcome;

/* The latest. */
typedef struct rondo_decision {
    uint32_t attempt; /* from 1 */
    rondo_outcome outcome;
    uint32_t proposer;
} rondo_decision;

/* rondo_agreement_words - 64-bit words that hold a bit per rank. */
uint32_t
rondo_agreement_words(uint32_t nranks);

/* rondo_agreement_enter - I take part in `attempt`; rondo_agreement_quit - not any
 * more, unless I enter again. rondo_agreement_entered - whether `rank` does. */
void
rondo_agreement_enter(rondo_board *board, uint32_t attempt);
void
rondo_agreement_quit(rondo_board *board, uint32_t attempt);
bool
rondo_agreement_entered(const rondo_board *board, uint32_t rank, uint32_t attempt);

void
rondo_agreement_decision(const rondo_board *board, rondo_decision *decision);

/* rondo_agreement_propose - these ranks go on. False: somebody else was first, or is to
 * propose, or the attempt before it is still open. */
bool
rondo_agreement_propose(rondo_board *board, uint32_t attempt, const uint64_t *members);

/* rondo_agreement_conclude - a proposed attempt has failed, or is committed. False:
 * nothing is proposed, or somebody else was first. */
bool
rondo_agreement_conclude(rondo_board *board, uint32_t attempt, rondo_outcome outcome);

/* rondo_agreement_members - whom `decision` names; final for whoever has entered that
 * attempt and not quit. */
void
rondo_agreement_members(const rondo_board *board, const rondo_decision *decision,
                        uint64_t *members);

/*
 * What travels between hosts. The word grows with each decision.
 */
#define RONDO_AGREEMENT_PIECE 128

typedef struct rondo_agreement_piece {
    uint64_t word;
    uint32_t first; /* word of the members' bits; all have come with the last */
    uint32_t count; /* 0: a failed attempt has none */
    uint64_t members[RONDO_AGREEMENT_PIECE];
} rondo_agreement_piece;

/* rondo_agreement_stage - grows with each rondo_agreement_enter and _quit of `rank`. */
uint64_t
rondo_agreement_stage(const rondo_board *board, uint32_t rank);

uint64_t
rondo_agreement_word(const rondo_board *board);
/* rondo_agreement_export - the piece from `first` on of the decision `word`. False:
 * that is not the latest any more. */
bool
rondo_agreement_export(const rondo_board *board, uint64_t word, uint32_t first,
                       rondo_agreement_piece *piece);
/* rondo_agreement_import - checked; the word counts once the last piece is here.
 * RONDO_ERR_WIRE: it cannot be true. */
RONDO_MUST_USE rondo_status
rondo_agreement_import(rondo_board *board, const rondo_agreement_piece *piece);

#endif /* CONTROL_AGREEMENT_H */
