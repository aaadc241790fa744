/* board_lines.c - what of a board travels between hosts, and what has come from
 * there. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "control/board_inside.h"

static bool
flag(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire) != 0;
}

void
rondo_board_wire_import(rondo_board *board, uint32_t rank, const void *address,
                        size_t bytes)
{
    if (rank >= board->nranks || bytes > RONDO_BOARD_WIRE_MAX) {
        return;
    }
    far_area *const area = rondo_board_far(board, rank);
    if (flag(&area->wired)) {
        return;
    }
    memcpy(area->wire, address, bytes);
    area->wire_bytes = (uint32_t)bytes;
    atomic_store_explicit(&area->wired, 1, memory_order_release);
}

void
rondo_board_wire_set(rondo_board *board, const void *address, size_t bytes)
{
    rondo_board_wire_import(board, board->rank, address, bytes);
}

rondo_status
rondo_board_wire(const rondo_board *board, uint32_t rank, void *address, size_t *bytes)
{
    if (rank >= board->nranks) {
        return RONDO_ERR_STATE;
    }
    const far_area *const area = rondo_board_far(board, rank);
    if (!flag(&area->wired)) {
        return RONDO_BUSY;
    }
    const size_t there = area->wire_bytes;
    if (there > RONDO_BOARD_WIRE_MAX || there > *bytes) {
        return rondo_error(RONDO_ERR_WIRE, "the wire address of rank %u has %zu bytes",
                           rank, there);
    }
    memcpy(address, area->wire, there);
    *bytes = there;
    return RONDO_OK;
}

void
rondo_board_pulse_set(rondo_board *board, uint32_t rank, uint64_t pulse)
{
    if (rank < board->nranks) {
        rondo_board_put(&rondo_board_far(board, rank)->pulse, pulse);
    }
}

uint64_t
rondo_board_pulse(const rondo_board *board, uint32_t rank)
{
    return rank < board->nranks ? rondo_board_get(&rondo_board_far(board, rank)->pulse)
                                : 0;
}

/* The presence is read first: what belongs to a rank that has left is then final. */
void
rondo_board_export(const rondo_board *board, uint32_t rank, rondo_board_line *line)
{
    *line = (rondo_board_line){.peer = UINT32_MAX};
    if (rank >= board->nranks) {
        return;
    }
    const rank_area *const area = rondo_board_area(board, rank);
    line->presence = (uint32_t)rondo_board_presence(board, rank);
    line->pulse = rondo_board_pulse(board, rank);
    line->stage = rondo_board_get(&area->stage);
    line->finished = rondo_board_get(&area->finished);
    line->entered = rondo_board_get(&area->entered);
    if (line->finished > line->entered) {
        line->finished = line->entered;
    }
    const uint64_t before = rondo_board_get(&area->standing_of);
    const uint64_t standing = rondo_board_get(&area->standing);
    if (before == rondo_board_get(&area->standing_of) && before <= line->entered) {
        line->standing_of = before;
        line->step = standing >> 32;
        line->peer =
            (uint32_t)standing < board->nranks ? (uint32_t)standing : UINT32_MAX;
    }
    for (uint32_t i = 0; i < SIGNATURES; i++) {
        const uint64_t held = rondo_board_get(&area->signatures[i].sequence);
        if (held % SIGNATURES == i && held <= line->entered &&
            rondo_board_signature(board, rank, held, &line->signatures[i]) ==
                RONDO_OK) {
            line->sequences[i] = held;
        }
    }
}

static bool
is_possible(const rondo_board *board, const rondo_board_line *line)
{
    bool right = line->presence <= RONDO_GONE && line->finished <= line->entered &&
                 line->standing_of <= line->entered && line->step <= UINT32_MAX &&
                 (line->peer < board->nranks || line->peer == UINT32_MAX);

    for (uint32_t i = 0; i < SIGNATURES; i++) {
        const uint64_t sequence = line->sequences[i];
        right = right && (sequence == 0 ||
                          (sequence % SIGNATURES == i && sequence <= line->entered));
    }
    return right;
}

/* As if the rank had called rondo_board_enter: see there for the order of the words. */
static void
import_signature(rank_area *area, uint64_t sequence, const rondo_signature *signature)
{
    signature_slot *const slot = &area->signatures[sequence % SIGNATURES];

    if (sequence <= rondo_board_get(&slot->sequence)) {
        return;
    }
    rondo_board_put(&slot->sequence, sequence);
    rondo_board_put(&slot->what_dtype,
                    rondo_board_pack(signature->what, signature->dtype));
    rondo_board_put(&slot->op_root, rondo_board_pack(signature->op, signature->root));
    rondo_board_put(&slot->count, signature->count);
}

static void
lift(_Atomic uint64_t *word, uint64_t value)
{
    if (value > rondo_board_get(word)) {
        rondo_board_put(word, value);
    }
}

/* An operation that is behind us is of no interest any more, so a standing is only
 * written for the latest. */
static void
import_standing(rank_area *area, const rondo_board_line *line)
{
    const uint64_t standing = rondo_board_pack((uint32_t)line->step, line->peer);

    if (line->standing_of == 0 ||
        line->standing_of < rondo_board_get(&area->standing_of)) {
        return;
    }
    rondo_board_put(&area->standing_of, 0);
    rondo_board_put(&area->standing, standing);
    rondo_board_put(&area->standing_of, line->standing_of);
}

rondo_status
rondo_board_import(rondo_board *board, uint32_t rank, const rondo_board_line *line)
{
    if (rank >= board->nranks || !is_possible(board, line)) {
        return rondo_error(RONDO_ERR_WIRE, "a line of the board that cannot be true");
    }
    rank_area *const area = rondo_board_area(board, rank);
    for (uint32_t i = 0; i < SIGNATURES; i++) {
        if (line->sequences[i] != 0) {
            import_signature(area, line->sequences[i], &line->signatures[i]);
        }
    }
    lift(&area->entered, line->entered);
    lift(&area->finished, line->finished);
    lift(&area->stage, line->stage);
    import_standing(area, line);
    lift(&rondo_board_far(board, rank)->pulse, line->pulse);
    /* Last: whoever sees that the rank has left also sees what it did before. */
    if (line->presence > (uint32_t)rondo_board_presence(board, rank)) {
        atomic_store_explicit(&area->presence, line->presence, memory_order_release);
    }
    return RONDO_OK;
}

void
rondo_board_reached_set(rondo_board *board, uint32_t rank, uint16_t family,
                        const unsigned char *address)
{
    if (rank >= board->nranks || flag(&rondo_board_far(board, rank)->reached)) {
        return;
    }
    far_area *const area = rondo_board_far(board, rank);
    area->family = family;
    memcpy(area->address, address, sizeof area->address);
    atomic_store_explicit(&area->reached, 1, memory_order_release);
}

bool
rondo_board_reached(const rondo_board *board, uint32_t rank, uint16_t *family,
                    unsigned char *address)
{
    if (rank >= board->nranks || !flag(&rondo_board_far(board, rank)->reached)) {
        return false;
    }
    const far_area *const area = rondo_board_far(board, rank);
    *family = area->family == 6 ? 6 : 4;
    memcpy(address, area->address, sizeof area->address);
    return true;
}

void
rondo_board_linked_set(rondo_board *board, const char *interfaces)
{
    host_area *const area = rondo_board_host(board);

    if (flag(&area->state)) {
        return;
    }
    (void)snprintf(area->interfaces, sizeof area->interfaces, "%s", interfaces);
    atomic_store_explicit(&area->state, HOST_LINKED, memory_order_release);
}

void
rondo_board_unlinked_set(rondo_board *board, rondo_status status, const char *text)
{
    host_area *const area = rondo_board_host(board);

    if (flag(&area->state)) {
        return;
    }
    area->status = status;
    (void)snprintf(area->text, sizeof area->text, "%s", text);
    atomic_store_explicit(&area->state, HOST_FAILED, memory_order_release);
}

rondo_status
rondo_board_linked(const rondo_board *board, char *interfaces, size_t interfaces_bytes)
{
    const host_area *const area = rondo_board_host(board);
    const uint32_t state = atomic_load_explicit(&area->state, memory_order_acquire);

    if (state == HOST_UNLINKED) {
        return RONDO_BUSY;
    }
    if (state == HOST_LINKED) {
        (void)snprintf(interfaces, interfaces_bytes, "%.*s",
                       RONDO_BOARD_INTERFACES_MAX - 1, area->interfaces);
        return RONDO_OK;
    }
    const rondo_status status = (rondo_status)area->status;
    const bool known = rondo_status_group_of(status) != RONDO_GROUP_NONE &&
                       strcmp(rondo_status_name(status), "RONDO_UNKNOWN") != 0;
    return rondo_error(known ? status : RONDO_ERR_WIRE, "%.*s",
                       RONDO_BOARD_TEXT_MAX - 1, area->text);
}
