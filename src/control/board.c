/* board.c - what the ranks of a communicator tell each other apart from the data. */
#include "control/board_inside.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How often a reader looks for the text of a breaking that was claimed, and how long it
 * sleeps in between: 20 ms in all, for a writer that has lost its core. */
#define TEXT_TRIES   200
#define TEXT_WAIT_NS 100000

size_t
rondo_board_bytes(uint32_t nranks)
{
    const long page = sysconf(_SC_PAGESIZE);
    const size_t step = page > 0 ? (size_t)page : 4096;
    const size_t bytes = sizeof(board_memory) + sizeof(host_area) +
                         nranks * (sizeof(rank_area) + sizeof(far_area)) +
                         rondo_agreement_bytes(nranks);

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
    atomic_store_explicit(&rondo_board_area(board, board->rank)->presence,
                          (uint32_t)presence, memory_order_release);
}

rondo_presence
rondo_board_presence(const rondo_board *board, uint32_t rank)
{
    if (rank >= board->nranks) {
        return RONDO_ABSENT;
    }
    const uint32_t value = atomic_load_explicit(
        &rondo_board_area(board, rank)->presence, memory_order_acquire);
    return value <= RONDO_GONE ? (rondo_presence)value : RONDO_LEFT;
}

void
rondo_board_gone_set(rondo_board *board, uint32_t rank)
{
    uint32_t joined = RONDO_JOINED;

    if (rank < board->nranks) {
        (void)atomic_compare_exchange_strong_explicit(
            &rondo_board_area(board, rank)->presence, &joined, RONDO_GONE,
            memory_order_acq_rel, memory_order_relaxed);
    }
}

void
rondo_board_enter(rondo_board *board, uint64_t sequence,
                  const rondo_signature *signature)
{
    rank_area *const area = rondo_board_area(board, board->rank);
    signature_slot *const slot = &area->signatures[sequence % SIGNATURES];

    rondo_board_put(&slot->sequence, sequence);
    rondo_board_put(&slot->what_dtype,
                    rondo_board_pack(signature->what, signature->dtype));
    rondo_board_put(&slot->op_root, rondo_board_pack(signature->op, signature->root));
    rondo_board_put(&slot->count, signature->count);
    rondo_board_put(&area->entered, sequence);
}

void
rondo_board_finish(rondo_board *board, uint64_t sequence)
{
    rondo_board_put(&rondo_board_area(board, board->rank)->finished, sequence);
}

void
rondo_board_standing_set(rondo_board *board, uint64_t step, uint32_t peer)
{
    rank_area *const area = rondo_board_area(board, board->rank);
    const uint32_t shown = step < UINT32_MAX ? (uint32_t)step : UINT32_MAX;

    rondo_board_put(&area->standing_of, 0);
    rondo_board_put(&area->standing, rondo_board_pack(shown, peer));
    rondo_board_put(&area->standing_of,
                    atomic_load_explicit(&area->entered, memory_order_relaxed));
}

rondo_status
rondo_board_signature(const rondo_board *board, uint32_t rank, uint64_t sequence,
                      rondo_signature *signature)
{
    if (rank >= board->nranks || sequence == 0) {
        return RONDO_ERR_STATE;
    }
    const rank_area *const area = rondo_board_area(board, rank);
    const signature_slot *const slot = &area->signatures[sequence % SIGNATURES];
    if (rondo_board_get(&area->entered) < sequence) {
        return RONDO_BUSY;
    }
    const uint64_t held = rondo_board_get(&slot->sequence);
    const uint64_t what_dtype = rondo_board_get(&slot->what_dtype);
    const uint64_t op_root = rondo_board_get(&slot->op_root);
    const uint64_t count = rondo_board_get(&slot->count);
    if (held != sequence || rondo_board_get(&slot->sequence) != sequence) {
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
    const rank_area *const area = rondo_board_area(board, rank);
    const uint64_t finished = rondo_board_get(&area->finished);
    activity->sequence = rondo_board_get(&area->entered);
    activity->finished = activity->sequence != 0 && finished >= activity->sequence;
    const uint64_t before = rondo_board_get(&area->standing_of);
    const uint64_t standing = rondo_board_get(&area->standing);
    const uint64_t after = rondo_board_get(&area->standing_of);
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
    rank_area *const area = rondo_board_area(board, board->rank);
    const uint32_t next = atomic_load_explicit(&area->next_offer, memory_order_relaxed);
    offer_slot *const slot = &area->offers[next % OFFERS];

    atomic_store_explicit(&area->next_offer, next + 1, memory_order_relaxed);
    rondo_board_put(&slot->sequence, 0);
    rondo_board_put(&slot->mapped_in, rondo_board_pack(offer->mapped, offer->in_block));
    rondo_board_put(&slot->out_block, offer->out_block);
    rondo_board_put(&slot->in_at, offer->in_at);
    rondo_board_put(&slot->out_at, offer->out_at);
    rondo_board_put(&slot->sequence, sequence);
}

static bool
read_offer(const offer_slot *slot, uint64_t sequence, rondo_offer *offer)
{
    if (rondo_board_get(&slot->sequence) != sequence) {
        return false;
    }
    const uint64_t mapped_in = rondo_board_get(&slot->mapped_in);
    const rondo_offer read = {.mapped = (uint32_t)(mapped_in >> 32),
                              .in_block = (uint32_t)mapped_in,
                              .out_block = (uint32_t)rondo_board_get(&slot->out_block),
                              .in_at = rondo_board_get(&slot->in_at),
                              .out_at = rondo_board_get(&slot->out_at)};
    if (rondo_board_get(&slot->sequence) != sequence) {
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
    const rank_area *const area = rondo_board_area(board, rank);
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
    breaking *const why = &rondo_board_memory(board)->breaking;
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
    return atomic_load_explicit(&rondo_board_memory(board)->breaking.claimed,
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
    const breaking *const why = &rondo_board_memory(board)->breaking;
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
