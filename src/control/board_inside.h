/*
 * board_inside.h - how a board lies in memory; for its own files only.
 *
 * First what is looked at all the time, on lines of its own; behind it what is used
 * between hosts only, so that one host never touches those pages.
 */
#ifndef CONTROL_BOARD_INSIDE_H
#define CONTROL_BOARD_INSIDE_H

#include <stdalign.h>
#include <stdatomic.h>

#include "control/board.h"

#define SIGNATURES RONDO_BOARD_SIGNATURES
#define OFFERS     4

/* One entry of the ring of signatures. Words are written with release, `sequence`
 * first, and read with acquire, `sequence` again at the end: a reader that has seen a
 * word of a later operation then also sees the later `sequence`, and knows its copy to
 * be torn. */
typedef struct signature_slot {
    _Atomic uint64_t sequence;
    _Atomic uint64_t what_dtype;
    _Atomic uint64_t op_root;
    _Atomic uint64_t count;
} signature_slot;

typedef struct offer_slot {
    alignas(64) _Atomic uint64_t sequence; /* 0 while it is being written */
    _Atomic uint64_t mapped_in;
    _Atomic uint64_t out_block;
    _Atomic uint64_t in_at;
    _Atomic uint64_t out_at;
} offer_slot;

/* Written by one rank only. */
typedef struct rank_area {
    alignas(64) _Atomic uint32_t presence;
    _Atomic uint32_t next_offer; /* slot of the next offer, for the writer alone */
    _Atomic uint64_t stage; /* attempt and how often entered or quit: agreement.h */

    alignas(
        64) _Atomic uint64_t entered; /* last sequence whose signature is complete */
    _Atomic uint64_t finished;
    _Atomic uint64_t standing_of; /* sequence that `standing` belongs to */
    _Atomic uint64_t standing;    /* step in the upper, peer in the lower half */

    alignas(64) signature_slot signatures[SIGNATURES];
    offer_slot offers[OFFERS];
} rank_area;

/* Written once, by whoever claims it. */
typedef struct breaking {
    alignas(64) _Atomic uint32_t claimed; /* the reporter's rank + 1 */
    _Atomic uint32_t published;

    alignas(64) int32_t status;
    uint32_t culprit;
    uint32_t reporter;
    char text[RONDO_BOARD_TEXT_MAX];
} breaking;

typedef struct board_memory {
    breaking breaking;
    rank_area ranks[];
} board_memory;

/* Of the host as a whole; written by its leader's service thread. */
typedef struct host_area {
    alignas(64) _Atomic uint32_t state; /* of type host_state */
    int32_t status;
    char interfaces[RONDO_BOARD_INTERFACES_MAX];
    char text[RONDO_BOARD_TEXT_MAX];
} host_area;

typedef enum host_state {
    HOST_UNLINKED = 0,
    HOST_LINKED = 1,
    HOST_FAILED = 2
} host_state;

/* What is known of a rank between hosts; each part is written once but for `pulse`. */
typedef struct far_area {
    alignas(64) _Atomic uint64_t pulse;
    _Atomic uint32_t wired;   /* `wire` is complete */
    _Atomic uint32_t reached; /* `address` is complete */
    uint32_t wire_bytes;
    uint32_t family;
    unsigned char address[16];
    unsigned char wire[RONDO_BOARD_WIRE_MAX];
} far_area;

/* Ranks that may propose at a time: each has two places for the bits of members. */
#define PROPOSERS 64

/* Who goes on when the communicator broke. Whoever comes first writes the word. */
typedef struct agreement {
    alignas(64) _Atomic uint64_t word;
    alignas(64) _Atomic uint64_t members[];
} agreement;

/* rondo_agreement_bytes - of the above. */
size_t
rondo_agreement_bytes(uint32_t nranks);

static inline board_memory *
rondo_board_memory(const rondo_board *board)
{
    return board->memory;
}

static inline rank_area *
rondo_board_area(const rondo_board *board, uint32_t rank)
{
    return &rondo_board_memory(board)->ranks[rank];
}

static inline uint64_t
rondo_board_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static inline void
rondo_board_put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static inline uint64_t
rondo_board_pack(uint32_t upper, uint32_t lower)
{
    return (uint64_t)upper << 32 | lower;
}

/* The parts between hosts lie behind the areas of all ranks, the agreement behind
 * them. */
static inline host_area *
rondo_board_host(const rondo_board *board)
{
    return (host_area *)&rondo_board_memory(board)->ranks[board->nranks];
}

static inline far_area *
rondo_board_far(const rondo_board *board, uint32_t rank)
{
    return (far_area *)(rondo_board_host(board) + 1) + rank;
}

#endif /* CONTROL_BOARD_INSIDE_H */
