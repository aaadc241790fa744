/* board.c - fuzz target: a board whose memory a peer has scribbled over. */
#include <stdlib.h>
#include <string.h>

#include "control/board.h"
#include "lib/replay.h"

#define RANKS 3

static void
check_rank(const rondo_board *board, uint32_t rank)
{
    rondo_activity activity;
    rondo_signature signature;
    rondo_offer offer;

    replay_insist(rondo_board_presence(board, rank) <= RONDO_LEFT, "presence");
    rondo_board_activity(board, rank, &activity);
    replay_insist(activity.peer < RANKS || activity.peer == UINT32_MAX, "peer");
    for (uint64_t s = 0; s < 20; s++) {
        const rondo_status read = rondo_board_signature(board, rank, s, &signature);
        replay_insist(read == RONDO_OK || read == RONDO_BUSY || read == RONDO_ERR_STATE,
                      "signature");
        const rondo_status found = rondo_board_offer(board, rank, s, &offer);
        replay_insist(found == RONDO_OK || found == RONDO_BUSY ||
                          found == RONDO_ERR_STATE,
                      "offer");
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const size_t room = rondo_board_bytes(RANKS);
    unsigned char *const memory = aligned_alloc(4096, room);
    rondo_board board;
    rondo_breakage why;

    replay_insist(memory != NULL, "memory");
    memset(memory, 0, room);
    memcpy(memory, data, bytes < room ? bytes : room);
    /* A text that never comes is waited for, which takes too long here. */
    memory[4] |= 1;
    rondo_board_open(memory, RANKS, 0, &board);
    if (rondo_board_breakage(&board, &why)) {
        replay_insist(memchr(why.text, '\0', sizeof why.text) != NULL, "a text ends");
        replay_insist(why.status < 0, "an error");
        replay_insist(why.culprit < RANKS || why.culprit == UINT32_MAX, "culprit");
        replay_insist(why.reporter < RANKS || why.reporter == UINT32_MAX, "reporter");
    }
    for (uint32_t rank = 0; rank <= RANKS; rank++) {
        check_rank(&board, rank);
    }
    free(memory);
    return 0;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    const size_t room = rondo_board_bytes(RANKS);
    unsigned char *const memory = aligned_alloc(4096, room);
    const rondo_breakage why = {.status = RONDO_ERR_PEER, .text = "rank 2 died"};
    rondo_board board;

    replay_insist(memory != NULL, "memory");
    memset(memory, 0, room);
    for (uint32_t rank = 0; rank < RANKS && number < 2; rank++) {
        rondo_board_open(memory, RANKS, rank, &board);
        for (uint64_t s = 1; s < 12; s++) {
            const rondo_signature signature = {.what = 1, .count = s};
            const rondo_offer offer = {.mapped = 1, .in_at = s};
            rondo_board_enter(&board, s, &signature);
            rondo_board_offer_set(&board, s, &offer);
            rondo_board_standing_set(&board, s, (rank + 1) % RANKS);
        }
        if (number == 1) {
            (void)rondo_board_break(&board, &why);
        }
    }
    const size_t bytes = room < REPLAY_BYTES_MAX ? room : REPLAY_BYTES_MAX;
    memcpy(data, memory, bytes);
    free(memory);
    return number < 2 ? bytes : 0;
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(5000);
}
#endif
