/* links.c - fuzz target: what comes over a link between hosts, and lines for a
 * board. */
#include <string.h>

#include "control/links_wire.h"
#include "lib/replay.h"

#define HOSTS 2
#define RANKS 3

static const rondo_key key = {{9}};
static const rondo_key other_key = {{8}}; /* of whoever is not one of us */

/* Of a board. */
static unsigned char memory[65536] __attribute__((aligned(4096)));

/* One line after another: the board stays what a board can be. */
static void
import(const rondo_board_line *line)
{
    const rondo_board_line first = {
        .presence = RONDO_JOINED, .peer = 2, .pulse = 5, .entered = 9, .finished = 8};
    rondo_board board;
    rondo_board_line before;
    rondo_board_line after;
    rondo_activity activity;

    replay_insist(rondo_board_bytes(RANKS) <= sizeof memory, "memory");
    memset(memory, 0, sizeof memory);
    rondo_board_open(memory, RANKS, 0, &board);
    replay_insist(rondo_board_import(&board, 1, &first) == RONDO_OK, "a good line");
    rondo_board_export(&board, 1, &before);
    const rondo_status status = rondo_board_import(&board, 1, line);
    rondo_board_export(&board, 1, &after);
    replay_insist(status == RONDO_OK || memcmp(&before, &after, sizeof after) == 0,
                  "untouched if refused");
    replay_insist(after.presence >= before.presence && after.pulse >= before.pulse &&
                      after.entered >= before.entered &&
                      after.finished >= before.finished && after.stage >= before.stage,
                  "nothing goes back");
    replay_insist(after.finished <= after.entered, "what is finished was entered");
    rondo_board_activity(&board, 1, &activity);
    replay_insist(activity.peer < RANKS || activity.peer == UINT32_MAX, "peer");
    for (uint32_t rank = 0; rank < RANKS; rank += 2) {
        replay_insist(rondo_board_presence(&board, rank) == RONDO_ABSENT,
                      "others' lines");
    }
}

/* Whatever is believed names an attempt, an outcome and a rank of ours. */
static void
decide(const rondo_agreement_piece *piece)
{
    rondo_board board;
    rondo_decision decision;
    uint64_t members[1] = {0};

    memset(memory, 0, sizeof memory);
    rondo_board_open(memory, RANKS, 0, &board);
    if (rondo_agreement_import(&board, piece) != RONDO_OK) {
        replay_insist(rondo_agreement_word(&board) == 0, "refused and believed");
        return;
    }
    rondo_agreement_decision(&board, &decision);
    replay_insist(decision.attempt > 0, "an attempt");
    replay_insist(decision.outcome >= RONDO_OUTCOME_PROPOSED &&
                      decision.outcome <= RONDO_OUTCOME_COMMITTED,
                  "an outcome");
    replay_insist(decision.proposer < RANKS, "a proposer");
    rondo_agreement_members(&board, &decision, members);
    replay_insist(members[0] >> RANKS == 0, "ranks of ours");
}

static void
check_body(const rondo_link_frame *frame, const rondo_link_body *body)
{
    switch (frame->kind) {
    case RONDO_LINK_LINE:
        replay_insist(body->line.rank < RANKS, "a rank of ours");
        import(&body->line.line);
        break;
    case RONDO_LINK_WIRE:
        replay_insist(body->wire.rank < RANKS, "a rank of ours");
        replay_insist(body->wire.bytes <= sizeof body->wire.address, "a length");
        break;
    case RONDO_LINK_BREAK:
        replay_insist(body->broken.status < 0, "an error");
        replay_insist(body->broken.reporter < RANKS, "reporter");
        replay_insist(body->broken.culprit < RANKS ||
                          body->broken.culprit == UINT32_MAX,
                      "culprit");
        replay_insist(memchr(body->broken.text, '\0', sizeof body->broken.text) != NULL,
                      "a text ends");
        for (const char *at = body->broken.text; *at != '\0'; at++) {
            replay_insist(*at >= ' ' && *at <= '~', "printable texts");
        }
        break;
    case RONDO_LINK_HOST:
        replay_insist(body->host.host < HOSTS, "a host of ours");
        replay_insist(body->host.family == 4 || body->host.family == 6, "a family");
        break;
    case RONDO_LINK_DECISION:
        replay_insist(body->decision.count <= RONDO_AGREEMENT_PIECE, "a count");
        decide(&body->decision);
        break;
    default:
        replay_insist(frame->bytes == 0, "nothing behind it");
        break;
    }
}

static void
read_frame(const uint8_t *data, size_t bytes)
{
    rondo_link_frame frame;
    rondo_link_body body;

    if (bytes < sizeof frame) {
        return;
    }
    memcpy(&frame, data, sizeof frame);
    data += sizeof frame;
    if (!rondo_link_frame_check(&frame)) {
        return;
    }
    replay_insist(frame.kind >= RONDO_LINK_WELCOME && frame.kind <= RONDO_LINK_DECISION,
                  "a kind");
    replay_insist(frame.bytes <= sizeof body, "a body that fits");
    if (frame.bytes > bytes - sizeof frame) {
        return;
    }
    rondo_link_frame_sign(&key, 5, data, &frame);
    replay_insist(rondo_link_frame_signed(&key, 5, data, &frame), "signed");
    replay_insist(!rondo_link_frame_signed(&key, 6, data, &frame), "its number counts");
    frame.mac[frame.bytes % sizeof frame.mac] ^= 1;
    replay_insist(!rondo_link_frame_signed(&key, 5, data, &frame), "its hash counts");
    if (rondo_link_body_read(&frame, data, RANKS, HOSTS, &body)) {
        check_body(&frame, &body);
    }
}

static void
read_hello(const uint8_t *data, size_t bytes)
{
    rondo_link_hello hello;

    if (bytes < sizeof hello) {
        return;
    }
    memcpy(&hello, data, sizeof hello);
    if (rondo_link_hello_check(&hello)) {
        replay_insist(hello.rank < hello.nranks && hello.host <= hello.rank,
                      "a rank and a host that can be");
    }
    replay_insist(!rondo_link_hello_signed(&key, &hello), "nobody guesses a hash");
}

static void
read_answer(const uint8_t *data, size_t bytes)
{
    rondo_link_hello hello;
    rondo_link_answer answer;
    rondo_link_proof proof;

    if (bytes < sizeof answer) {
        return;
    }
    memset(&hello, 1, sizeof hello);
    memcpy(&answer, data, sizeof answer);
    memcpy(&proof, data, sizeof proof);
    (void)rondo_link_answer_check(&answer);
    replay_insist(!rondo_link_answer_signed(&key, &hello, &answer) &&
                      !rondo_link_proof_signed(&key, &hello, &answer, &proof),
                  "nobody guesses a hash");
}

/* The first byte says what it is taken for. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 1) {
        return 0;
    }
    switch (data[0] % 4) {
    case 0:
        read_hello(data + 1, bytes - 1);
        break;
    case 1:
        read_answer(data + 1, bytes - 1);
        break;
    default:
        read_frame(data + 1, bytes - 1);
        break;
    }
    return 0;
}

static size_t
frame_seed(rondo_link_kind kind, const void *body, size_t bytes, uint8_t *data)
{
    const rondo_link_frame frame = {.kind = kind, .bytes = (uint32_t)bytes};

    data[0] = 2;
    memcpy(data + 1, &frame, sizeof frame);
    if (bytes > 0) {
        memcpy(data + 1 + sizeof frame, body, bytes);
    }
    return 1 + sizeof frame + bytes;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    rondo_link_hello hello = {.rank = 1, .nranks = RANKS, .host = 1};
    rondo_link_answer answer;
    const rondo_link_line line = {.rank = 1,
                                  .line = {.presence = RONDO_JOINED,
                                           .peer = 2,
                                           .pulse = 3,
                                           .entered = 5,
                                           .finished = 4,
                                           .standing_of = 5,
                                           .step = 1,
                                           .sequences = {0, 1, 2, 3, 4, 5}}};
    rondo_link_wire wire = {.rank = 2, .bytes = 6, .address = "wire!"};
    const rondo_link_break broken = {.status = RONDO_ERR_PEER, .text = "rank 2 died"};
    const rondo_link_host host = {.host = 1, .family = 4, .address = {10, 77, 0, 2}};

    const rondo_agreement_piece decision = {
        .word = UINT64_C(1) << 40 | UINT64_C(1) << 32 | 2, .count = 1, .members = {5}};
    const rondo_agreement_piece failed = {.word = UINT64_C(3) << 40 |
                                                  UINT64_C(2) << 32 | 1};

    switch (number) {
    case 0:
        rondo_link_hello_make(&other_key, &hello);
        data[0] = 0;
        memcpy(data + 1, &hello, sizeof hello);
        return 1 + sizeof hello;
    case 1:
        rondo_link_answer_make(&other_key, &hello, &answer);
        data[0] = 1;
        memcpy(data + 1, &answer, sizeof answer);
        return 1 + sizeof answer;
    case 2:
        return frame_seed(RONDO_LINK_LINE, &line, sizeof line, data);
    case 3:
        return frame_seed(RONDO_LINK_WIRE, &wire, 8 + 6, data);
    case 4:
        return frame_seed(RONDO_LINK_BREAK, &broken, sizeof broken, data);
    case 5:
        return frame_seed(RONDO_LINK_HOST, &host, sizeof host, data);
    case 6:
        return frame_seed(RONDO_LINK_ASK, NULL, 0, data);
    case 7:
        return frame_seed(RONDO_LINK_DECISION, &decision,
                          offsetof(rondo_agreement_piece, members) + 8, data);
    case 8:
        return frame_seed(RONDO_LINK_DECISION, &failed,
                          offsetof(rondo_agreement_piece, members), data);
    default:
        return 0;
    }
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(20000);
}
#endif
