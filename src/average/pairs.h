/*
 * pairs.h - what averaging in pairs is made of, for the files of this room.
 *
 * An exchange goes piece by piece. The even rank sends its piece; the odd rank's
 * handler averages and answers with what its piece was; the even rank averages the two
 * values again, which gives the same bits. An even rank has one piece under way at a
 * time, so an odd rank owes each even rank at most one letter.
 */
#ifndef AVERAGE_PAIRS_H
#define AVERAGE_PAIRS_H

#include <stdbool.h>

#include <rondo/average.h>

#include "base/error.h"

/* Values of a piece: 256 KiB, a quarter of what a message may have. */
#define RONDO_PAIRS_PIECE ((uint64_t)64 << 10)

typedef enum rondo_pairs_kind {
    RONDO_PAIRS_ASK = 1,    /* even to odd: a piece */
    RONDO_PAIRS_ANSWER = 2, /* odd to even: what that piece was */
    RONDO_PAIRS_BYE = 3,    /* even to odd: no more from me */
    RONDO_PAIRS_SEEN = 4    /* odd to even: I know */
} rondo_pairs_kind;

/* In front of every message. */
typedef struct rondo_pairs_letter {
    uint32_t kind;     /* of rondo_pairs_kind */
    uint32_t values;   /* of the piece; 0: none */
    uint64_t count;    /* of the sender's vector: must be the receiver's */
    uint64_t at;       /* first value of the piece */
    uint64_t exchange; /* of the even rank, from 1 */
} rondo_pairs_letter;

/* A rank of the other side, and what an odd rank owes it and could not send at once. */
typedef struct rondo_pairs_other {
    bool done;    /* even: has said goodbye; odd: knows of ours */
    bool pending; /* something is owed */
    rondo_pairs_letter letter;
    float *piece; /* room for one; null on even ranks */
} rondo_pairs_other;

struct rondo_pairs {
    rondo_comm *comm; /* not ours */
    uint32_t channel;
    uint32_t rank;
    uint32_t nothers;          /* ranks of the other side */
    rondo_pairs_other *others; /* number i is rank 2 i, or 2 i + 1 */
    float *pieces;             /* their memory */
    uint32_t ndone;
    float *parameters; /* not ours */
    uint64_t count;
    uint64_t exchanges;
    uint64_t letters; /* taken so far */
    bool left;        /* an even rank has said goodbye */

    /* Even ranks: the piece under way. */
    bool asked;
    uint32_t partner;
    rondo_pairs_letter question;

    uint32_t npending; /* odd ranks: letters owed */

    rondo_status fault; /* a message that made no sense; RONDO_OK: none */
    char fault_text[RONDO_ERROR_TEXT_MAX];
};

/* rondo_pairs_take - the handler of messages. */
void
rondo_pairs_take(uint32_t from, const void *header, size_t header_bytes,
                 const void *payload, size_t payload_bytes, void *user);

/* rondo_pairs_pay - send what is owed, as far as it goes. */
RONDO_MUST_USE rondo_status
rondo_pairs_pay(rondo_pairs *pairs);

#endif /* AVERAGE_PAIRS_H */
