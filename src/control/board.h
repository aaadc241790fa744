/*
 * board.h - what the ranks of a communicator on one machine tell each other apart from
 * the data: who has joined or left, which operation each is in, with which arguments,
 * and, once, why the communicator broke.
 *
 * Lives in memory all of them map (or plain memory for a single rank). Every word has
 * one writer, but for the breaking, where the first to come wins. All reads are of
 * memory a peer may have scribbled over: values are checked, texts are terminated.
 */
#ifndef CONTROL_BOARD_H
#define CONTROL_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

#define RONDO_BOARD_TEXT_MAX 480

/* The arguments of one operation that must agree on all ranks. */
typedef struct rondo_signature {
    uint32_t what; /* which collective */
    uint32_t dtype;
    uint32_t op;
    uint32_t root;
    uint64_t count;
} rondo_signature;

/* Where a rank's buffers of one operation lie, if they are mapped by its peers. */
typedef struct rondo_offer {
    uint32_t mapped;    /* 0: they are not */
    uint32_t in_block;  /* which registered block holds IN */
    uint32_t out_block; /* which one holds OUT */
    uint64_t in_at;     /* byte offsets in them */
    uint64_t out_at;
} rondo_offer;

/* What a rank is doing. */
typedef struct rondo_activity {
    uint64_t sequence; /* operation it is in or has last finished; 0: none yet */
    bool finished;     /* that operation is done on this rank */
    uint64_t step;     /* of its schedule */
    uint32_t peer;     /* whom it waits for; UINT32_MAX: nobody */
} rondo_activity;

/* Why a communicator broke. */
typedef struct rondo_breakage {
    rondo_status status;
    uint32_t culprit;  /* rank it happened at; UINT32_MAX: none in particular */
    uint32_t reporter; /* rank that noticed */
    char text[RONDO_BOARD_TEXT_MAX];
} rondo_breakage;

typedef enum rondo_presence {
    RONDO_ABSENT = 0, /* has not attached yet */
    RONDO_JOINED = 1,
    RONDO_LEFT = 2, /* destroyed its communicator in good order */
    RONDO_GONE = 3  /* its process has ended, or nobody can reach it any more */
} rondo_presence;

/* A rank's view. */
typedef struct rondo_board {
    void *memory;
    uint32_t nranks;
    uint32_t rank;
} rondo_board;

/* rondo_board_bytes - of the memory, a multiple of the page size; zeroed is empty. */
size_t
rondo_board_bytes(uint32_t nranks);

/* rondo_board_open - a view of `memory` for `rank`; nothing is written. */
void
rondo_board_open(void *memory, uint32_t nranks, uint32_t rank, rondo_board *board);

/* rondo_board_presence_set, rondo_board_presence - join, leave; ask about `rank`. */
void
rondo_board_presence_set(rondo_board *board, rondo_presence presence);
rondo_presence
rondo_board_presence(const rondo_board *board, uint32_t rank);

/* rondo_board_gone_set - a rank that has joined is gone: by whoever sees it. */
void
rondo_board_gone_set(rondo_board *board, uint32_t rank);

/* rondo_board_enter - publish the signature of operation `sequence` (from 1). Costs two
 * stores to a line of our own. rondo_board_finish - that operation is done here. */
void
rondo_board_enter(rondo_board *board, uint64_t sequence,
                  const rondo_signature *signature);
void
rondo_board_finish(rondo_board *board, uint64_t sequence);

/* rondo_board_standing_set - which step we are at and whom we wait for (slow path). */
void
rondo_board_standing_set(rondo_board *board, uint64_t step, uint32_t peer);

/* rondo_board_signature - the signature of operation `sequence` on `rank`. RONDO_OK;
 * RONDO_BUSY: not there yet; RONDO_ERR_STATE: too long ago, overwritten. */
RONDO_MUST_USE rondo_status
rondo_board_signature(const rondo_board *board, uint32_t rank, uint64_t sequence,
                      rondo_signature *signature);

/* rondo_board_activity - what `rank` is doing. */
void
rondo_board_activity(const rondo_board *board, uint32_t rank, rondo_activity *activity);

/* rondo_board_offer_set, rondo_board_offer - publish and read the offer of operation
 * `sequence`. RONDO_BUSY: not there yet. A rank may publish at most one operation ahead
 * of the slowest reader, which the vote before each mapped operation guarantees. */
void
rondo_board_offer_set(rondo_board *board, uint64_t sequence, const rondo_offer *offer);
RONDO_MUST_USE rondo_status
rondo_board_offer(const rondo_board *board, uint32_t rank, uint64_t sequence,
                  rondo_offer *offer);

/*
 * More than one host. Each host has a board of its own with lines for all ranks; what
 * ranks elsewhere would have written is written by links.h, one writer per line again.
 */
#define RONDO_BOARD_WIRE_MAX       1000
#define RONDO_BOARD_INTERFACES_MAX 128
#define RONDO_BOARD_SIGNATURES     8

/* rondo_board_wire_set, rondo_board_wire - the address of a rank's wire, opaque here.
 * RONDO_BUSY: not there yet. Set once, before RONDO_JOINED. `bytes` is the room, then
 * the length. */
void
rondo_board_wire_set(rondo_board *board, const void *address, size_t bytes);
RONDO_MUST_USE rondo_status
rondo_board_wire(const rondo_board *board, uint32_t rank, void *address, size_t *bytes);

/* rondo_board_pulse_set - by the service thread of `rank`'s process, when asked whether
 * it is there; rondo_board_pulse - changes with every such answer. */
void
rondo_board_pulse_set(rondo_board *board, uint32_t rank, uint64_t pulse);
uint64_t
rondo_board_pulse(const rondo_board *board, uint32_t rank);

/* All that travels of a rank's lines, plain bytes. */
typedef struct rondo_board_line {
    uint32_t presence;
    uint32_t peer; /* whom it waits for */
    uint64_t pulse;
    uint64_t entered;  /* operation it is in or has last finished */
    uint64_t finished; /* the last one it has finished */
    uint64_t stage;    /* of agreement.h */
    uint64_t standing_of;
    uint64_t step;
    uint64_t sequences[RONDO_BOARD_SIGNATURES]; /* 0: none */
    rondo_signature signatures[RONDO_BOARD_SIGNATURES];
} rondo_board_line;

/* rondo_board_export, rondo_board_import - read and write all of it. Imports are
 * checked like everything that comes from outside, and never turn back what only
 * grows. */
void
rondo_board_export(const rondo_board *board, uint32_t rank, rondo_board_line *line);
RONDO_MUST_USE rondo_status
rondo_board_import(rondo_board *board, uint32_t rank, const rondo_board_line *line);
/* rondo_board_wire_import - the wire address of a rank elsewhere. */
void
rondo_board_wire_import(rondo_board *board, uint32_t rank, const void *address,
                        size_t bytes);

/* rondo_board_reached_set, rondo_board_reached - the network address the host of `rank`
 * (a leader) was reached at: family 4 or 6 and 16 bytes. False: not known. Set once. */
void
rondo_board_reached_set(rondo_board *board, uint32_t rank, uint16_t family,
                        const unsigned char *address);
bool
rondo_board_reached(const rondo_board *board, uint32_t rank, uint16_t *family,
                    unsigned char *address);

/* rondo_board_linked_set - this host is connected to the others, by these interfaces;
 * rondo_board_unlinked_set - it cannot be. By one thread of one process; once.
 * rondo_board_linked - RONDO_BUSY: neither yet; RONDO_OK with the interfaces; or the
 * failure, whose sentence becomes this thread's. */
void
rondo_board_linked_set(rondo_board *board, const char *interfaces);
void
rondo_board_unlinked_set(rondo_board *board, rondo_status status, const char *text);
RONDO_MUST_USE rondo_status
rondo_board_linked(const rondo_board *board, char *interfaces, size_t interfaces_bytes);

/* rondo_board_break - say why; the first caller wins, true for it. From any thread. */
bool
rondo_board_break(rondo_board *board, const rondo_breakage *breakage);

/* rondo_board_broken - one relaxed load. rondo_board_breakage - why; false if whole. */
bool
rondo_board_broken(const rondo_board *board);
bool
rondo_board_breakage(const rondo_board *board, rondo_breakage *breakage);

#endif /* CONTROL_BOARD_H */
