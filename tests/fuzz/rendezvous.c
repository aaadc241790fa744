/* rendezvous.c - fuzz target: what a rank reads from whatever claims to be a
 * meeting. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/rendezvous_inside.h"
#include "lib/replay.h"

#define CARD_BYTES   20
#define RANKS        3
#define RESULT_BYTES (sizeof(rondo_result) + RANKS * CARD_BYTES)

static const rondo_key secret = {{7}};
static const rondo_key other_secret = {{8}};

/* Bits of the first byte; the lowest two are the state to begin in. */
#define HONEST  4 /* signed with the right secret, else with another */
#define ALTERED 8 /* the last byte is changed after that */

/* Makes hashes of frames right, so that what is behind them is reached. */
static void
sign(const rondo_key *key, const rondo_nonces *nonces, uint8_t *data, size_t bytes)
{
    rondo_wire_frame frame;

    while (bytes >= sizeof frame) {
        memcpy(&frame, data, sizeof frame);
        const size_t left = bytes - sizeof frame;
        const size_t body = frame.body_bytes < left ? frame.body_bytes : left;
        rondo_wire_body_hash(data + sizeof frame, body, frame.body_hash);
        rondo_wire_frame_sign(key, nonces, &frame);
        memcpy(data, &frame, sizeof frame);
        data += sizeof frame + body;
        bytes -= sizeof frame + body;
    }
}

static void
check(rondo_status status, const rondo_cards *cards, bool honest)
{
    if (status == RONDO_OK) {
        replay_insist(honest, "only what is signed is believed");
        replay_insist(cards->nranks == RANKS && cards->card_bytes == CARD_BYTES,
                      "cards of this meeting");
        return;
    }
    replay_insist(status == RONDO_BUSY || status == RONDO_ERR_START ||
                      status == RONDO_ERR_SYSTEM || status == RONDO_ERR_MEMORY,
                  "statuses of the contract");
    const char *const text = rondo_error_text();
    for (size_t i = 0; status < 0 && text[i] != '\0'; i++) {
        replay_insist(text[i] >= ' ' && text[i] <= '~', "printable texts");
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const rondo_arrival_state states[] = {STATE_GREETING, STATE_PROVING,
                                                 STATE_WAITING};
    static const unsigned char card[CARD_BYTES];
    uint8_t copy[REPLAY_BYTES_MAX];
    rondo_meeting meeting = {.rank = 1, .nranks = RANKS, .port = 1, .secret = secret};
    rondo_rendezvous *here = NULL;
    rondo_cards cards;
    int ends[2];

    if (bytes < 1 || bytes > sizeof copy) {
        return 0;
    }
    (void)snprintf(meeting.host, sizeof meeting.host, "127.0.0.1");
    meeting.deadline_ns = RONDO_NEVER;
    memcpy(copy, data + 1, bytes - 1);
    replay_insist(rondo_rendezvous_start(NULL, &meeting, card, sizeof card, &here) ==
                          RONDO_OK &&
                      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
                  "a start");
    const bool honest = (data[0] & HONEST) != 0;
    const bool altered = (data[0] & ALTERED) != 0 &&
                         bytes - 1 == sizeof(rondo_wire_frame) + RESULT_BYTES;
    here->fd = ends[0];
    here->state = states[(data[0] & 3) % 3];
    here->wake_ns = RONDO_NEVER;
    if (here->state != STATE_GREETING) {
        sign(honest ? &secret : &other_secret, &here->nonces, copy, bytes - 1);
    }
    if (altered) {
        copy[bytes - 2] ^= 1;
    }
    replay_insist(write(ends[1], copy, bytes - 1) == (ssize_t)(bytes - 1), "room");
    (void)shutdown(ends[1], SHUT_WR);
    check(rondo_rendezvous_poll(here, &cards), &cards, honest && !altered);
    rondo_rendezvous_destroy(here);
    (void)close(ends[1]);
    return 0;
}

static size_t
add_frame(rondo_frame_kind kind, const void *body, size_t body_bytes, uint8_t *data)
{
    rondo_wire_frame frame;

    rondo_wire_frame_init(kind, &frame);
    frame.body_bytes = body_bytes;
    frame.status = RONDO_ERR_START;
    memcpy(data, &frame, sizeof frame);
    if (body_bytes > 0) {
        memcpy(data + sizeof frame, body, body_bytes);
    }
    return sizeof frame + body_bytes;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    static const char failure[RONDO_FAILURE_BYTES] = "waiting for rank 2 of 3";
    unsigned char body[RESULT_BYTES] = {0};
    const rondo_result result = {.nranks = RANKS, .card_bytes = CARD_BYTES};
    rondo_greeting greeting = {.nonce = {1}};

    memcpy(body, &result, sizeof result);
    switch (number) {
    case 0:
        rondo_wire_preface(&greeting.preface);
        data[0] = 0;
        memcpy(data + 1, &greeting, sizeof greeting);
        return 1 + sizeof greeting;
    case 1:
        data[0] = 1 | HONEST;
        return 1 + add_frame(RONDO_FRAME_REFUSED, NULL, 0, data + 1);
    case 2: {
        data[0] = 1 | HONEST;
        const size_t used = add_frame(RONDO_FRAME_WELCOME, NULL, 0, data + 1);
        return 1 + used +
               add_frame(RONDO_FRAME_RESULT, body, sizeof body, data + 1 + used);
    }
    case 3:
        data[0] = 2 | HONEST;
        return 1 + add_frame(RONDO_FRAME_FAILURE, failure, sizeof failure, data + 1);
    case 4:
        data[0] = 2;
        return 1 + add_frame(RONDO_FRAME_RESULT, body, sizeof body, data + 1);
    case 5:
        data[0] = 2 | HONEST;
        return 1 + add_frame(RONDO_FRAME_RESULT, body, sizeof body, data + 1);
    case 6:
        data[0] = 2 | HONEST | ALTERED;
        return 1 + add_frame(RONDO_FRAME_RESULT, body, sizeof body, data + 1);
    default:
        return 0;
    }
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(5000);
}
#endif
