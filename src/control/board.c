/* board.c - what the ranks of a communicator tell each other apart from the data. */
#include "control/board.h"

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIGNATURES 8
#define OFFERS     4

/* How often a reader looks for the text of a breaking that was claimed, and how long it
 * sleeps in between: 20 ms in all, for a writer that has lost its core. */
#define TEXT_TRIES   200
#define TEXT_WAIT_NS 100000

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

static board_memory *
memory_of(const rondo_board *board)
{
    return board->memory;
}

static rank_area *
area_of(const rondo_board *board, uint32_t rank)
{
    return &memory_of(board)->ranks[rank];
}

static uint64_t
get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void
put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t
pack(uint32_t upper, uint32_t lower)
{
    return (uint64_t)upper << 32 | lower;
}

size_t
rondo_board_bytes(uint32_t nranks)
{
    const long page = sysconf(_SC_PAGESIZE);
    const size_t step = page > 0 ? (size_t)page : 4096;
    const size_t bytes = sizeof(board_memory) + nranks * sizeof(rank_area);

    return (bytes + step - 1) / step * step;
}

void
rondo_board_open(void *memory, uint32_t nranks, uint32_t rank, rondo_board *board)
{
    *board = (rondo_board){.memory = memory, .nranks = nranks, .rank = rank};
}

void
rondo_board_presence_set(rondo_board *board, rondo_presence presence)
{
    atomic_store_explicit(&area_of(board, board->rank)->presence, (uint32_t)presence,
                          memory_order_release);
}

rondo_presence
rondo_board_presence(const rondo_board *board, uint32_t rank)
{
    if (rank >= board->nranks) {
        return RONDO_ABSENT;
    }
    const uint32_t value =
        atomic_load_explicit(&area_of(board, rank)->presence, memory_order_acquire);
    return value <= RONDO_LEFT ? (rondo_presence)value : RONDO_LEFT;
}

void
rondo_board_enter(rondo_board *board, uint64_t sequence,
                  const rondo_signature *signature)
{
    rank_area *const area = area_of(board, board->rank);
    signature_slot *const slot = &area->signatures[sequence % SIGNATURES];

    put(&slot->sequence, sequence);
    put(&slot->what_dtype, pack(signature->what, signature->dtype));
    put(&slot->op_root, pack(signature->op, signature->root));
    put(&slot->count, signature->count);
    put(&area->entered, sequence);
}

void
rondo_board_finish(rondo_board *board, uint64_t sequence)
{
    put(&area_of(board, board->rank)->finished, sequence);
}

void
rondo_board_standing_set(rondo_board *board, uint64_t step, uint32_t peer)
{
    rank_area *const area = area_of(board, board->rank);
    const uint32_t shown = step < UINT32_MAX ? (uint32_t)step : UINT32_MAX;

    put(&area->standing_of, 0);
    put(&area->standing, pack(shown, peer));
    put(&area->standing_of, atomic_load_explicit(&area->entered, memory_order_relaxed));
}

rondo_status
rondo_board_signature(const rondo_board *board, uint32_t rank, uint64_t sequence,
                      rondo_signature *signature)
{
    if (rank >= board->nranks || sequence == 0) {
        return RONDO_ERR_STATE;
    }
    const rank_area *const area = area_of(board, rank);
    const signature_slot *const slot = &area->signatures[sequence % SIGNATURES];
    if (get(&area->entered) < sequence) {
        return RONDO_BUSY;
    }
    const uint64_t held = get(&slot->sequence);
    const uint64_t what_dtype = get(&slot->what_dtype);
    const uint64_t op_root = get(&slot->op_root);
    const uint64_t count = get(&slot->count);
    if (held != sequence || get(&slot->sequence) != sequence) {
        return RONDO_ERR_STATE;
    }
    *signature = (rondo_signature){.what = (uint32_t)(what_dtype >> 32),
                                   .dtype = (uint32_t)what_dtype,
                                   .op = (uint32_t)(op_root >> 32),
                                   .root = (uint32_t)op_root,
                                   .count = count};
    return RONDO_OK;
}

void
rondo_board_activity(const rondo_board *board, uint32_t rank, rondo_activity *activity)
{
    *activity = (rondo_activity){.peer = UINT32_MAX};
    if (rank >= board->nranks) {
        return;
    }
    const rank_area *const area = area_of(board, rank);
    const uint64_t finished = get(&area->finished);
    activity->sequence = get(&area->entered);
    activity->finished = activity->sequence != 0 && finished >= activity->sequence;
    const uint64_t before = get(&area->standing_of);
    const uint64_t standing = get(&area->standing);
    const uint64_t after = get(&area->standing_of);
    if (before != after || before != activity->sequence || before == 0) {
        return;
    }
    activity->step = standing >> 32;
    if ((uint32_t)standing < board->nranks) {
        activity->peer = (uint32_t)standing;
    }
}

void
rondo_board_offer_set(rondo_board *board, uint64_t sequence, const rondo_offer *offer)
{
    rank_area *const area = area_of(board, board->rank);
    const uint32_t next = atomic_load_explicit(&area->next_offer, memory_order_relaxed);
    offer_slot *const slot = &area->offers[next % OFFERS];

    atomic_store_explicit(&area->next_offer, next + 1, memory_order_relaxed);
    put(&slot->sequence, 0);
    put(&slot->mapped_in, pack(offer->mapped, offer->in_block));
    put(&slot->out_block, offer->out_block);
    put(&slot->in_at, offer->in_at);
    put(&slot->out_at, offer->out_at);
    put(&slot->sequence, sequence);
}

static bool
read_offer(const offer_slot *slot, uint64_t sequence, rondo_offer *offer)
{
    if (get(&slot->sequence) != sequence) {
        return false;
    }
    const uint64_t mapped_in = get(&slot->mapped_in);
    const rondo_offer read = {.mapped = (uint32_t)(mapped_in >> 32),
                              .in_block = (uint32_t)mapped_in,
                              .out_block = (uint32_t)get(&slot->out_block),
                              .in_at = get(&slot->in_at),
                              .out_at = get(&slot->out_at)};
    if (get(&slot->sequence) != sequence) {
        return false;
    }
    *offer = read;
    return true;
}

rondo_status
rondo_board_offer(const rondo_board *board, uint32_t rank, uint64_t sequence,
                  rondo_offer *offer)
{
    if (rank >= board->nranks || sequence == 0) {
        return RONDO_ERR_STATE;
    }
    const rank_area *const area = area_of(board, rank);
    for (uint32_t i = 0; i < OFFERS; i++) {
        if (read_offer(&area->offers[i], sequence, offer)) {
            return RONDO_OK;
        }
    }
    return RONDO_BUSY;
}

bool
rondo_board_break(rondo_board *board, const rondo_breakage *breakage)
{
    breaking *const why = &memory_of(board)->breaking;
    uint32_t nobody = 0;

    if (!atomic_compare_exchange_strong_explicit(&why->claimed, &nobody,
                                                 board->rank + 1, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        return false;
    }
    why->status = breakage->status;
    why->culprit = breakage->culprit;
    why->reporter = board->rank;
    (void)snprintf(why->text, sizeof why->text, "%.*s", RONDO_BOARD_TEXT_MAX - 1,
                   breakage->text);
    atomic_store_explicit(&why->published, 1, memory_order_release);
    return true;
}

bool
rondo_board_broken(const rondo_board *board)
{
    return atomic_load_explicit(&memory_of(board)->breaking.claimed,
                                memory_order_relaxed) != 0;
}

/* The claimer writes at once, so a missing text means that it died or lost its core. */
static bool
wait_for_text(const breaking *why)
{
    const struct timespec pause = {.tv_nsec = TEXT_WAIT_NS};

    for (uint32_t i = 0; i < TEXT_TRIES; i++) {
        if (atomic_load_explicit(&why->published, memory_order_acquire) != 0) {
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static void
write_generic(uint32_t reporter, rondo_breakage *breakage)
{
    breakage->status = RONDO_ERR_PEER;
    breakage->culprit = reporter;
    breakage->reporter = reporter;
    (void)snprintf(breakage->text, sizeof breakage->text,
                   "rank %u failed while it was reporting a failure", reporter);
}

bool
rondo_board_breakage(const rondo_board *board, rondo_breakage *breakage)
{
    const breaking *const why = &memory_of(board)->breaking;
    const uint32_t claimed = atomic_load_explicit(&why->claimed, memory_order_acquire);

    if (claimed == 0) {
        return false;
    }
    const uint32_t reporter = claimed <= board->nranks ? claimed - 1 : UINT32_MAX;
    if (!wait_for_text(why)) {
        write_generic(reporter, breakage);
        return true;
    }
    const rondo_status status = (rondo_status)why->status;
    const bool known = rondo_status_group_of(status) != RONDO_GROUP_NONE &&
                       strcmp(rondo_status_name(status), "RONDO_UNKNOWN") != 0;
    breakage->status = known ? status : RONDO_ERR_WIRE;
    breakage->culprit = why->culprit < board->nranks ? why->culprit : UINT32_MAX;
    breakage->reporter = reporter;
    memcpy(breakage->text, why->text, sizeof breakage->text);
    breakage->text[sizeof breakage->text - 1] = '\0';
    return true;
}
