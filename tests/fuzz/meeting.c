/* meeting.c - fuzz target: what a meeting point hears from whoever connects. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bootstrap/server.h"
#include "bootstrap/wire.h"
#include "lib/meet.h"
#include "lib/replay.h"

/* Bits of the first byte. */
#define SIGNED 1 /* preface and hash are made right */
#define JOINED 2 /* comes after an honest hello */
#define OPEN   4 /* the meeting is one without a secret */

/* One with a secret, one without. */
static const rondo_key secrets[2] = {{{7}}, {{0}}};
static uint16_t ports[2];

static void
quiet(rondo_log_level level, const char *line, void *user)
{
    (void)level;
    (void)line;
    (void)user;
}

/* The meeting of an earlier input may have ended. */
static int
connect_to_server(uint32_t which)
{
    rondo_server_spec spec = {.nranks = 3, .secret = secrets[which]};
    rondo_place place;
    struct sockaddr_in four;
    int fd = ports[which] == 0 ? -1 : meet_connect(ports[which]);

    for (uint32_t i = 0; i < 3 && fd < 0; i++) {
        rondo_log_set(quiet, NULL);
        (void)snprintf(spec.host, sizeof spec.host, "127.0.0.1");
        spec.deadline_ns = rondo_deadline_ns(60000);
        replay_insist(rondo_server_open(&spec, &place) == RONDO_OK, "a server");
        memcpy(&four, &place.address, sizeof four);
        ports[which] = ntohs(four.sin_port);
        fd = meet_connect(ports[which]);
    }
    replay_insist(fd >= 0, "a connection");
    return fd;
}

static size_t
sign(const rondo_key *secret, const rondo_greeting *greeting, uint8_t *data,
     size_t bytes)
{
    rondo_hello hello;

    if (bytes < sizeof hello) {
        return bytes;
    }
    memcpy(&hello, data, sizeof hello);
    rondo_wire_preface(&hello.preface);
    if (hello.card_bytes <= bytes - sizeof hello) {
        rondo_wire_hello_sign(secret, greeting->nonce, data + sizeof hello, &hello);
    }
    memcpy(data, &hello, sizeof hello);
    return bytes;
}

static size_t
honest(const rondo_key *secret, const rondo_greeting *greeting, uint8_t *data)
{
    rondo_hello hello = {.rank = 1, .nranks = 3, .card_bytes = 10};

    memset(data, 0, sizeof hello + hello.card_bytes);
    memcpy(data, &hello, sizeof hello);
    return sign(secret, greeting, data, sizeof hello + hello.card_bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t copy[REPLAY_BYTES_MAX];
    uint8_t answer[4096];
    rondo_greeting greeting;
    const struct timeval patience = {.tv_sec = 20};

    if (bytes < 1 || bytes > sizeof copy) {
        return 0;
    }
    const uint32_t which = (data[0] & OPEN) != 0 ? 1 : 0;
    const rondo_key *const secret = &secrets[which];
    const int fd = connect_to_server(which);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (meet_read(fd, &greeting, sizeof greeting) == sizeof greeting) {
        if ((data[0] & JOINED) != 0) {
            const size_t hello = honest(secret, &greeting, copy);
            (void)send(fd, copy, hello, MSG_NOSIGNAL);
        }
        memcpy(copy, data + 1, bytes - 1);
        size_t used = bytes - 1;
        if ((data[0] & SIGNED) != 0) {
            used = sign(secret, &greeting, copy, used);
        }
        (void)send(fd, copy, used, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        const uint64_t start = rondo_now_ns();
        (void)meet_read(fd, answer, sizeof answer);
        replay_insist(rondo_now_ns() - start < 15 * RONDO_NS_PER_S,
                      "nobody is kept waiting");
    }
    (void)close(fd);
    return 0;
}

size_t
replay_seed(uint32_t number, uint8_t *data)
{
    rondo_hello hello = {.rank = number, .nranks = 3, .card_bytes = 10};
    rondo_notice notice;

    switch (number) {
    case 0:
    case 1:
        data[0] = (uint8_t)number;
        rondo_wire_preface(&hello.preface);
        memset(data + 1, 3, sizeof hello + hello.card_bytes);
        memcpy(data + 1, &hello, sizeof hello);
        return 1 + sizeof hello + hello.card_bytes;
    case 2:
    case 3:
        data[0] = number == 2 ? JOINED : JOINED | OPEN;
        rondo_wire_notice(RONDO_NOTICE_LATE, &notice);
        memcpy(data + 1, &notice, sizeof notice);
        return 1 + sizeof notice;
    case 4:
        /* Of another size than the one that came before. */
        data[0] = SIGNED | JOINED | OPEN;
        hello.nranks = 4;
        memset(data + 1, 3, sizeof hello + hello.card_bytes);
        memcpy(data + 1, &hello, sizeof hello);
        return 1 + sizeof hello + hello.card_bytes;
    default:
        return 0;
    }
}

#if !defined(RONDO_FUZZER)
int
main(void)
{
    return replay_all(1500);
}
#endif
