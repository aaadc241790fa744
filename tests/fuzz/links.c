/* links.c - fuzz target: what comes over a link between hosts, and lines for a board. */
#include <stdlib.h>
#include <string.h>

#include "control/links_wire.h"
#include "lib/replay.h"

#define RANKS 3
#define HOSTS 2

static void
check_body(const rondo_link_frame *frame, const rondo_link_body *body)
{
    switch (frame->kind) {
    case RONDO_LINK_LINE:
        replay_insist(body->line.rank < RANKS, "a rank of ours");
        break;
    case RONDO_LINK_WIRE:
        replay_insist(body->wire.rank < RANKS, "a rank of ours");
        replay_insist(body->wire.bytes <= RONDO_BOARD_WIRE_MAX, "fits the board");
        break;
    case RONDO_LINK_BREAK:
        replay_insist(body->broken.status < 0, "an error");
        replay_insist(body->broken.reporter < RANKS, "a rank of ours");
        replay_insist(memchr(body->broken.text, '\0', sizeof body->broken.text) != NULL,
                      "a text ends");
        break;
    case RONDO_LINK_HOST:
        replay_insist(body->host.host < HOSTS, "a host of ours");
        break;
    default:
        replay_insist(frame->bytes == 0, "no body");
        break;
    }
}

/* Two lines one after the other: the board stays what a board can be. */
static void
import(const rondo_board_line *line)
{
    static unsigned char memory[65536] __attribute__((aligned(4096)));
    rondo_board board;
    rondo_board_line before;
    rondo_board_line after;
    rondo_activity activity;

    replay_insist(rondo_board_bytes(RANKS) <= sizeof memory, "memory");
    memset(memory, 0, sizeof memory);
    rondo_board_open(memory, RANKS, 0, &board);
    const rondo_board_line first = {
        .presence = RONDO_JOINED, .peer = 2, .pulse = 5, .entered = 9, .finished = 8};
    replay_insist(rondo_board_import(&board, 1, &first) == RONDO_OK, "a good line");
    rondo_board_export(&board, 1, &before);
    if (rondo_board_import(&board, 1, line) != RONDO_OK) {
        rondo_board_export(&board, 1, &after);
        replay_insist(memcmp(&before, &after, sizeof after) == 0,
                      "untouched if refused");
        return;
    }
    rondo_board_export(&board, 1, &after);
    replay_insist(after.presence >= before.presence && after.pulse >= before.pulse &&
                      after.entered >= before.entered &&
                      after.finished >= before.finished,
                  "nothing goes back");
    replay_insist(after.finished <= after.entered, "what is finished was entered");
    rondo_board_activity(&board, 1, &activity);
    replay_insist(activity.peer < RANKS || activity.peer == UINT32_MAX, "peer");
    for (uint32_t rank = 0; rank < RANKS; rank += 2) {
        replay_insist(rondo_board_presence(&board, rank) == RONDO_ABSENT,
                      "others' lines");
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const rondo_key key = {{1}};
    rondo_link_frame frame;
    rondo_link_body body;
    rondo_link_hello hello;
    rondo_link_answer answer;

    if (bytes >= sizeof hello) {
        memcpy(&hello, data, sizeof hello);
        replay_insist(!rondo_link_hello_check(&hello) || hello.rank < hello.nranks,
                      "a possible hello");
        (void)rondo_link_hello_signed(&key, &hello);
    }
    if (bytes >= sizeof answer) {
        memcpy(&answer, data, sizeof answer);
        (void)rondo_link_answer_check(&answer);
    }
    if (bytes < sizeof frame) {
        return 0;
    }
    memcpy(&frame, data, sizeof frame);
    if (!rondo_link_frame_check(&frame)) {
        return 0;
    }
    replay_insist(sizeof frame + frame.bytes <= RONDO_LINK_FRAME_MAX, "bounded");
    if (bytes < sizeof frame + frame.bytes) {
        return 0;
    }
    (void)rondo_link_frame_signed(&key, 0, data + sizeof frame, &frame);
    if (rondo_link_body_read(&frame, data + sizeof frame, RANKS, HOSTS, &body)) {
        check_body(&frame, &body);
        if (frame.kind == RONDO_LINK_LINE) {
            import(&body.line.line);
        }
    }
    return 0;
}

static size_t
seed_frame(rondo_link_kind kind, const void *body, size_t bytes, uint8_t *data)
{
    const rondo_key key = {{1}};
    rondo_link_frame frame = {.kind = kind, .bytes = (uint32_t)bytes};

    rondo_link_frame_sign(&key, 0, body, &frame);
    memcpy(data, &frame, sizeof frame);
    memcpy(data + sizeof frame, body, bytes);
    return sizeof frame + bytes;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    const rondo_key key = {{1}};
    const rondo_link_line line = {.rank = 1,
                                  .line = {.presence = 1,
                                           .peer = UINT32_MAX,
                                           .pulse = 7,
                                           .entered = 10,
                                           .finished = 9,
                                           .standing_of = 10,
                                           .step = 3,
                                           .sequences = {8, 9, 10},
                                           .signatures = {{.what = 1, .count = 4}}}};
    const rondo_link_wire wire = {.rank = 2, .bytes = 5, .address = "wire"};
    const rondo_link_break broken = {.status = RONDO_ERR_PEER, .text = "rank 2 died"};
    const rondo_link_host host = {.host = 1, .family = 4, .address = {10, 77, 0, 4}};
    rondo_link_hello hello = {.host = 1, .rank = 1, .nranks = 2};
    rondo_link_answer answer;

    rondo_link_hello_make(&key, &hello);
    rondo_link_answer_make(&key, &hello, &answer);
    switch (number) {
    case 0:
        memcpy(data, &hello, sizeof hello);
        return sizeof hello;
    case 1:
        memcpy(data, &answer, sizeof answer);
        return sizeof answer;
    case 2:
        return seed_frame(RONDO_LINK_LINE, &line, sizeof line, data);
    case 3:
        return seed_frame(RONDO_LINK_WIRE, &wire, 13, data);
    case 4:
        return seed_frame(RONDO_LINK_BREAK, &broken, sizeof broken, data);
    case 5:
        return seed_frame(RONDO_LINK_HOST, &host, sizeof host, data);
    case 6:
        return seed_frame(RONDO_LINK_ASK, "", 0, data);
    default:
        return 0;
    }
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(100000);
}
#endif
