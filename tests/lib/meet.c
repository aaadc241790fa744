/* meet.c - running ranks as threads through a meeting. */
#include "lib/meet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/rendezvous_inside.h"
#include "lib/spaces.h"

static void
insist(bool fact, const char *what)
{
    if (!fact) {
        (void)fprintf(stderr, "meet: %s failed: %s\n", what, strerror(errno));
        _exit(99);
    }
}

void
meet_init(uint32_t nranks, uint16_t port, unsigned char secret, uint64_t timeout_ms,
          meet_rank *ranks)
{
    for (uint32_t rank = 0; rank < nranks; rank++) {
        meet_rank *const one = &ranks[rank];
        memset(one, 0, sizeof *one);
        one->meeting.rank = rank;
        one->meeting.nranks = nranks;
        one->meeting.port = port;
        one->meeting.serve = rank == 0;
        one->meeting.deadline_ns = rondo_deadline_ns(timeout_ms);
        one->card_bytes = 100;
        memset(one->meeting.secret.bytes, secret, sizeof one->meeting.secret.bytes);
        (void)snprintf(one->meeting.host, sizeof one->meeting.host, "127.0.0.1");
    }
}

static void
fill_card(uint32_t rank, unsigned char *card, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at++) {
        card[at] = (unsigned char)(rank * 31 + at * 7);
    }
}

static void
judge(meet_rank *rank, const rondo_cards *cards)
{
    unsigned char want[RONDO_CARD_BYTES_MAX];

    rank->right =
        cards->nranks == rank->meeting.nranks && cards->card_bytes == rank->card_bytes;
    for (uint32_t other = 0; rank->right && other < cards->nranks; other++) {
        fill_card(other, want, rank->card_bytes);
        rank->right = memcmp(cards->cards + (size_t)other * rank->card_bytes, want,
                             rank->card_bytes) == 0;
    }
    rank->name = cards->name;
    rank->key = cards->key;
}

static bool
have_joined(struct meet_rank *const others[2])
{
    return (others[0] == NULL || others[0]->joined) &&
           (others[1] == NULL || others[1]->joined);
}

static bool
leaves(const meet_rank *rank)
{
    return rank->leaves_after[0] != NULL && rank->joined &&
           have_joined(rank->leaves_after);
}

static void
come(meet_rank *rank)
{
    unsigned char card[RONDO_CARD_BYTES_MAX + 1];
    rondo_rendezvous *rendezvous = NULL;
    rondo_cards cards;

    fill_card(rank->meeting.rank, card,
              rank->card_bytes < sizeof card ? rank->card_bytes : 0);
    rank->status = rondo_rendezvous_start(NULL, &rank->meeting, card, rank->card_bytes,
                                          &rendezvous);
    rank->opened = rank->status == RONDO_OK;
    if (!rank->opened) {
        return;
    }
    rank->status = rondo_rendezvous_poll(rendezvous, &cards);
    while (rank->status == RONDO_BUSY && !leaves(rank)) {
        rank->joined = rendezvous->state == STATE_WAITING;
        rondo_rendezvous_wait(rendezvous, 20 * RONDO_NS_PER_MS);
        rank->status = rondo_rendezvous_poll(rendezvous, &cards);
    }
    if (rank->status == RONDO_OK) {
        judge(rank, &cards);
    }
    /* Again, it says the same. */
    if (rank->status < 0) {
        (void)snprintf(rank->text, sizeof rank->text, "%s", rondo_error_text());
        insist(rondo_rendezvous_poll(rendezvous, &cards) == rank->status &&
                   strcmp(rank->text, rondo_error_text()) == 0,
               "the second poll");
    }
    rondo_rendezvous_destroy(rendezvous);
}

static void *
run(void *user)
{
    meet_rank *const rank = user;

    if (rank->space != 0) {
        space_enter(rank->space, rank->hosts);
    }
    while (!have_joined(rank->after_joined) ||
           (rank->after_ended != NULL && !rank->after_ended->ended)) {
        (void)usleep(1000);
    }
    (void)usleep(rank->delay_ms * 1000);
    const uint64_t start = rondo_now_ns();
    if (rank->timeout_ms != 0) {
        rank->meeting.deadline_ns = rondo_deadline_ns(rank->timeout_ms);
    }
    come(rank);
    rank->took_ns = rondo_now_ns() - start;
    if (!rank->opened) {
        (void)snprintf(rank->text, sizeof rank->text, "%s", rondo_error_text());
    }
    rank->joined = true;
    rank->ended = true;
    return NULL;
}

void
meet_start(meet_rank *rank)
{
    insist(pthread_create(&rank->thread, NULL, run, rank) == 0, "a thread");
}

void
meet_join(meet_rank *rank)
{
    (void)pthread_join(rank->thread, NULL);
}

void
meet_all(uint32_t nranks, meet_rank *ranks)
{
    for (uint32_t rank = 0; rank < nranks; rank++) {
        meet_start(&ranks[rank]);
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        meet_join(&ranks[rank]);
    }
}

bool
meet_succeeded(uint32_t nranks, const meet_rank *ranks)
{
    for (uint32_t rank = 0; rank < nranks; rank++) {
        if (ranks[rank].status != RONDO_OK || !ranks[rank].right ||
            memcmp(&ranks[rank].name, &ranks[0].name, sizeof ranks[0].name) != 0 ||
            memcmp(&ranks[rank].key, &ranks[0].key, sizeof ranks[0].key) != 0) {
            (void)fprintf(stderr, "rank %u of %u: %d %s\n", rank, nranks,
                          ranks[rank].status, ranks[rank].text);
            return false;
        }
    }
    return true;
}

void
meet_expect(meet_rank *ranks, uint32_t from, uint32_t to, const char *part,
            const char *other)
{
    for (uint32_t rank = from; rank < to; rank++) {
        meet_join(&ranks[rank]);
        if (ranks[rank].status != RONDO_ERR_START ||
            strstr(ranks[rank].text, part) == NULL ||
            strstr(ranks[rank].text, other) == NULL ||
            ranks[rank].took_ns >= MEET_PROMPT_NS) {
            fail_msg("rank %u: %d after %llu ms, \"%s\" without \"%s\", \"%s\"", rank,
                     ranks[rank].status,
                     (unsigned long long)(ranks[rank].took_ns / RONDO_NS_PER_MS),
                     ranks[rank].text, part, other);
        }
    }
}

uint16_t meet_at;
int meet_at_fd = -1;

int
meet_begin(void **state)
{
    (void)state;
    meet_at = meet_port(&meet_at_fd);
    return 0;
}

int
meet_finish(void **state)
{
    (void)state;
    (void)close(meet_at_fd);
    return 0;
}

void
meet_anew(void)
{
    (void)close(meet_at_fd);
    meet_at = meet_port(&meet_at_fd);
}

uint16_t
meet_port(int *hold_fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    const int yes = 1;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    insist(fd >= 0, "socket");
    insist(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
               bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
               getsockname(fd, (struct sockaddr *)&at, &bytes) == 0,
           "bind");
    *hold_fd = fd;
    return ntohs(at.sin_port);
}

int
meet_connect(uint16_t port)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    insist(fd >= 0, "socket");
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

size_t
meet_read(int fd, void *memory, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        const ssize_t got = recv(fd, (char *)memory + done, bytes - done, 0);
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    return done;
}
