/* bootstrap_hostile.c - scanners, liars, the slow and the dying at the meeting
 * point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/wire.h"
#include "lib/meet.h"
#include "lib/peers.h"

static meet_rank ranks[MEET_RANKS_MAX];

static int
connect_soon(void)
{
    int fd = meet_connect(meet_at);

    for (uint32_t i = 0; i < 5000 && fd < 0; i++) {
        (void)usleep(1000);
        fd = meet_connect(meet_at);
    }
    assert_true(fd >= 0);
    return fd;
}

/* A hello that fits the greeting on `fd`, with its card behind it. */
static size_t
honest_hello(int fd, uint32_t rank, uint32_t nranks, unsigned char secret,
             unsigned char *bytes)
{
    rondo_greeting greeting;
    rondo_key key;
    rondo_hello hello = {.rank = rank, .nranks = nranks, .card_bytes = 100, .pid = 1};
    unsigned char *const card = bytes + sizeof hello;

    assert_int_equal(meet_read(fd, &greeting, sizeof greeting), sizeof greeting);
    assert_int_equal(rondo_wire_preface_check(&greeting, sizeof greeting),
                     RONDO_PREFACE_OURS);
    rondo_wire_preface(&hello.preface);
    memset(hello.nonce, 5, sizeof hello.nonce);
    memset(key.bytes, secret, sizeof key.bytes);
    memset(card, 9, hello.card_bytes);
    rondo_wire_hello_sign(&key, greeting.nonce, card, &hello);
    memcpy(bytes, &hello, sizeof hello);
    return sizeof hello + hello.card_bytes;
}

/* Whether the other side ends the connection, and sends no more than `bytes_max`. */
static bool
is_ended(int fd, size_t bytes_max)
{
    unsigned char bytes[1024];
    const struct timeval patience = {.tv_sec = 10};

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const uint64_t start = rondo_now_ns();
    const size_t got = meet_read(fd, bytes, sizeof bytes);
    return got <= bytes_max && rondo_now_ns() - start < 9 * RONDO_NS_PER_S;
}

/* A meeting of 2 under way: rank 0 has joined. */
static void
half_a_meeting(unsigned char secret)
{
    meet_init(2, meet_at, secret, 60000, ranks);
    meet_start(&ranks[0]);
    while (!ranks[0].joined) {
        (void)usleep(1000);
    }
}

static void
complete_it(void)
{
    meet_start(&ranks[1]);
    meet_join(&ranks[0]);
    meet_join(&ranks[1]);
    assert_true(meet_succeeded(2, ranks));
}

static void
scanners_are_dropped(void **state)
{
    const char *const words[] = {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                 "\x16\x03\x01\x02",
                                 "SSH-2.0-x\r\n",
                                 "\n",
                                 "R",
                                 "ROND",
                                 "RONDOmeX",
                                 "RONDOmet\x01\x02\x03\x04",
                                 "\xff\xff\xff\xff"};

    (void)state;
    half_a_meeting(7);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (uint32_t waits = 0; waits < 2; waits++) {
            const int fd = connect_soon();
            rondo_greeting greeting;
            (void)send(fd, words[i], strlen(words[i]), MSG_NOSIGNAL);
            (void)shutdown(fd, SHUT_WR);
            if (waits != 0) {
                assert_true(is_ended(fd, sizeof greeting));
            }
            (void)close(fd);
        }
    }
    /* Connect and leave; connect, and leave by reset. */
    const struct linger reset = {.l_onoff = 1};
    for (uint32_t i = 0; i < 50; i++) {
        const int fd = connect_soon();
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset,
                         i % 2 == 0 ? sizeof reset : 0);
        (void)close(fd);
    }
    complete_it();
}

/* More silent connections than the server keeps: ranks get through all the same, and
 * none of the silent ones outlives the meeting. */
static void
silent_connections(void **state)
{
    enum { SILENT = 200 };
    static int fds[SILENT];

    (void)state;
    half_a_meeting(7);
    const uint32_t before = descriptors_open();
    for (uint32_t i = 0; i < SILENT; i++) {
        fds[i] = connect_soon();
        if (i % 2 == 0) {
            (void)send(fds[i], "RONDO", 5, MSG_NOSIGNAL);
        }
    }
    /* Our ends, and no more than 64 of the other ends. */
    for (uint32_t i = 0; i < 3000 && descriptors_open() > before + SILENT + 64; i++) {
        (void)usleep(1000);
    }
    assert_true(descriptors_open() <= before + SILENT + 64);
    complete_it();
    for (uint32_t i = 0; i < SILENT; i++) {
        assert_true(is_ended(fds[i], sizeof(rondo_greeting)));
        (void)close(fds[i]);
    }
}

/* A byte at a time, never complete: gone after a few seconds, however busy. */
static void
slow_talkers(void **state)
{
    unsigned char bytes[sizeof(rondo_hello) + 100];
    bool ended = false;

    (void)state;
    half_a_meeting(7);
    const int fd = connect_soon();
    (void)honest_hello(fd, 1, 2, 7, bytes);
    const uint64_t start = rondo_now_ns();
    for (uint32_t i = 0; i < 100 && !ended; i++) {
        struct pollfd gone = {.fd = fd, .events = POLLIN};
        (void)send(fd, bytes + i, 1, MSG_NOSIGNAL);
        ended = poll(&gone, 1, 100) > 0;
    }
    assert_true(ended);
    assert_true(rondo_now_ns() - start > 4 * RONDO_NS_PER_S);
    (void)close(fd);
    complete_it();
}

/* Whatever single bit of an honest hello is changed, it is not believed, and the
 * meeting goes on. */
static void
every_bit_of_a_hello(void **state)
{
    unsigned char bytes[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];

    (void)state;
    half_a_meeting(7);
    for (size_t at = 0; at < sizeof(rondo_hello) + 100; at++) {
        const int fd = connect_soon();
        const size_t nbytes = honest_hello(fd, 1, 2, 7, bytes);
        bytes[at] ^= (unsigned char)(1U << at % 8);
        (void)send(fd, bytes, nbytes, MSG_NOSIGNAL);
        /* Where its length grew, it never is complete. */
        (void)shutdown(fd, SHUT_WR);
        assert_true(is_ended(fd, sizeof(rondo_wire_frame)));
        (void)close(fd);
        assert_false(ranks[0].ended);
    }
    complete_it();
}

/* Fields that no honest rank sends, rightly signed. */
static void
signed_nonsense(void **state)
{
    const struct {
        uint32_t rank, nranks, card_bytes;
    } rows[] = {{2, 2, 100},
                {UINT32_MAX, 2, 100},
                {0, 0, 100},
                {1, UINT32_MAX, 100},
                {1, 2, RONDO_CARD_BYTES_MAX + 1},
                {1, 2, UINT32_MAX}};

    (void)state;
    half_a_meeting(7);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static unsigned char card[4096];
        rondo_greeting greeting;
        rondo_key key;
        rondo_hello hello = {.rank = rows[i].rank, .nranks = rows[i].nranks};
        const int fd = connect_soon();
        assert_int_equal(meet_read(fd, &greeting, sizeof greeting), sizeof greeting);
        rondo_wire_preface(&hello.preface);
        memset(key.bytes, 7, sizeof key.bytes);
        hello.card_bytes = rows[i].card_bytes < 4096 ? rows[i].card_bytes : 0;
        rondo_wire_hello_sign(&key, greeting.nonce, card, &hello);
        hello.card_bytes = rows[i].card_bytes;
        (void)send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
        (void)send(fd, card, sizeof card, MSG_NOSIGNAL);
        assert_true(is_ended(fd, sizeof(rondo_wire_frame)));
        (void)close(fd);
    }
    complete_it();
}

/* What was said once does not count again: the nonce is another one. */
static void
replays_are_not_believed(void **state)
{
    unsigned char bytes[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];
    unsigned char again[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];
    rondo_wire_frame frame;

    (void)state;
    half_a_meeting(7);
    const int first = connect_soon();
    const size_t nbytes = honest_hello(first, 1, 2, 7, bytes);
    (void)close(first);
    const int second = connect_soon();
    (void)honest_hello(second, 1, 2, 7, again);
    (void)send(second, bytes, nbytes, MSG_NOSIGNAL);
    assert_int_equal(meet_read(second, &frame, sizeof frame), sizeof frame);
    assert_int_equal(frame.kind, RONDO_FRAME_REFUSED);
    (void)close(second);
    complete_it();
}

/* A rank's connection is cut after each byte of its hello: nobody is disturbed. With
 * the last byte its card is there, and the others have what they came for. */
static void
cut_at_each_byte(void **state)
{
    unsigned char bytes[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];
    size_t nbytes = 1;

    (void)state;
    meet_init(3, meet_at, 7, 60000, ranks);
    meet_start(&ranks[0]);
    meet_start(&ranks[1]);
    while (!ranks[0].joined || !ranks[1].joined) {
        (void)usleep(1000);
    }
    for (size_t cut = 0; cut <= nbytes; cut++) {
        const int fd = connect_soon();
        nbytes = honest_hello(fd, 2, 3, 7, bytes) - 1;
        (void)send(fd, bytes, cut, MSG_NOSIGNAL);
        (void)close(fd);
    }
    assert_false(ranks[0].ended || ranks[1].ended);
    const int last = connect_soon();
    nbytes = honest_hello(last, 2, 3, 7, bytes);
    (void)send(last, bytes, nbytes, MSG_NOSIGNAL);
    (void)close(last);
    meet_join(&ranks[0]);
    meet_join(&ranks[1]);
    assert_int_equal(ranks[0].status, RONDO_OK);
    assert_int_equal(ranks[1].status, RONDO_OK);
}

/* After it has joined, a rank that is gone, or says something strange, ends it for
 * all. */
static void
gone_after_joining(void **state)
{
    unsigned char bytes[sizeof(rondo_hello) + RONDO_CARD_BYTES_MAX];
    rondo_wire_frame frame;

    (void)state;
    for (uint32_t how = 0; how < 4; how++) {
        meet_init(4, meet_at, 7, 60000, ranks);
        meet_start(&ranks[0]);
        meet_start(&ranks[1]);
        const int fd = connect_soon();
        const size_t nbytes = honest_hello(fd, 2, 4, 7, bytes);
        (void)send(fd, bytes, nbytes, MSG_NOSIGNAL);
        assert_int_equal(meet_read(fd, &frame, sizeof frame), sizeof frame);
        assert_int_equal(frame.kind, RONDO_FRAME_WELCOME);
        while (!ranks[0].joined || !ranks[1].joined) {
            (void)usleep(1000);
        }
        const struct linger reset = {.l_onoff = 1};
        switch (how) {
        case 0:
            (void)close(fd);
            break;
        case 1:
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            (void)close(fd);
            break;
        case 2:
            (void)send(fd, "rubbish rubbish", 15, MSG_NOSIGNAL);
            break;
        default:
            (void)send(fd, "abc", 3, MSG_NOSIGNAL);
            (void)close(fd);
            break;
        }
        for (uint32_t rank = 0; rank < 2; rank++) {
            meet_join(&ranks[rank]);
            assert_int_equal(ranks[rank].status, RONDO_ERR_START);
            assert_non_null(strstr(ranks[rank].text, "rank 2 (process 1)"));
            assert_true(ranks[rank].took_ns < MEET_PROMPT_NS);
        }
        if (how == 2) {
            (void)close(fd);
        }
    }
}

/* A process that is killed while it waits. */
static int
wait_in_vain(rondo_service *service, peer *test)
{
    const meet_rank *const self = test->user;
    rondo_rendezvous *rendezvous = NULL;
    rondo_cards cards;
    unsigned char card[100] = {0};

    if (rondo_rendezvous_start(service, &self->meeting, card, sizeof card,
                               &rendezvous) != RONDO_OK) {
        return 1;
    }
    peer_say(test, 's');
    while (rondo_rendezvous_poll(rendezvous, &cards) == RONDO_BUSY) {
        rondo_rendezvous_wait(rendezvous, RONDO_NS_PER_MS);
    }
    return 2;
}

static void
killed_ranks(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* Forks from a process with threads. */
#endif
    for (uint32_t victim = 0; victim < 3; victim++) {
        peer killed;
        meet_init(4, meet_at, 7, 60000, ranks);
        peer_start(wait_in_vain, &ranks[victim], &killed);
        assert_int_equal(peer_hear(&killed), 's');
        for (uint32_t rank = 0; rank < 3; rank++) {
            if (rank != victim) {
                meet_start(&ranks[rank]);
            }
        }
        for (uint32_t rank = 0; rank < 3; rank++) {
            while (rank != victim && !ranks[rank].joined) {
                (void)usleep(1000);
            }
        }
        (void)usleep(100000);
        peer_end(&killed);
        for (uint32_t rank = 0; rank < 3; rank++) {
            char want[48];
            if (rank == victim) {
                continue;
            }
            meet_join(&ranks[rank]);
            (void)snprintf(want, sizeof want, victim == 0 ? "(rank %u)" : "rank %u (",
                           victim);
            assert_int_equal(ranks[rank].status, RONDO_ERR_START);
            assert_non_null(strstr(ranks[rank].text, want));
            assert_true(ranks[rank].took_ns < MEET_PROMPT_NS);
        }
    }
}

/* The other way round: a rank of another version is named at the deadline. */
static void
a_rank_of_another_version(void **state)
{
    rondo_preface theirs;
    rondo_greeting greeting;

    (void)state;
    meet_init(2, meet_at, 7, 3000, ranks);
    meet_start(&ranks[0]);
    const int fd = connect_soon();
    assert_int_equal(meet_read(fd, &greeting, sizeof greeting), sizeof greeting);
    rondo_wire_preface(&theirs);
    theirs.library = 120304;
    (void)send(fd, &theirs, sizeof theirs, MSG_NOSIGNAL);
    assert_true(is_ended(fd, 0));
    (void)close(fd);
    meet_join(&ranks[0]);
    assert_int_equal(ranks[0].status, RONDO_ERR_START);
    assert_non_null(strstr(ranks[0].text, "waiting for rank 1 of 2"));
    assert_non_null(strstr(ranks[0].text, "1 connection was refused"));
    assert_non_null(strstr(ranks[0].text, "Rondo 0.1.0 (protocol 1) here, 12.3.4"));
}

/* A server without descriptors for its ranks tells those it has. */
static int
serve_without_descriptors(rondo_service *service, peer *test)
{
    const struct rlimit few = {.rlim_cur = 20, .rlim_max = 20};
    meet_rank *const self = test->user;
    rondo_rendezvous *rendezvous = NULL;
    rondo_cards cards;
    unsigned char card[100] = {0};

    if (setrlimit(RLIMIT_NOFILE, &few) != 0 ||
        rondo_rendezvous_start(service, &self->meeting, card, sizeof card,
                               &rendezvous) != RONDO_OK) {
        return 1;
    }
    rondo_status status = rondo_rendezvous_poll(rendezvous, &cards);
    while (status == RONDO_BUSY) {
        rondo_rendezvous_wait(rendezvous, RONDO_NS_PER_MS);
        status = rondo_rendezvous_poll(rendezvous, &cards);
    }
    const bool told =
        status == RONDO_ERR_SYSTEM && strstr(rondo_error_text(), "limit") != NULL;
    /* Stay until the others have been told. */
    (void)peer_hear(test);
    return told ? 0 : 2;
}

static void
too_few_descriptors(void **state)
{
    peer server;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* Forks from a process with threads. */
#endif
    meet_init(20, meet_at, 7, 20000, ranks);
    peer_start(serve_without_descriptors, &ranks[0], &server);
    for (uint32_t rank = 1; rank < 20; rank++) {
        ranks[rank].timeout_ms = 3000;
        meet_start(&ranks[rank]);
    }
    uint32_t told = 0;
    for (uint32_t rank = 1; rank < 20; rank++) {
        meet_join(&ranks[rank]);
        assert_true(ranks[rank].status == RONDO_ERR_SYSTEM ||
                    ranks[rank].status == RONDO_ERR_START);
        told += ranks[rank].status == RONDO_ERR_SYSTEM &&
                strstr(ranks[rank].text, "limit of open files is 20") != NULL;
    }
    assert_int_equal(peer_join(&server), 0);
    assert_true(told > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scanners_are_dropped, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(silent_connections, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(slow_talkers, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(every_bit_of_a_hello, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(signed_nonsense, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(replays_are_not_believed, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(cut_at_each_byte, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(gone_after_joining, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(killed_ranks, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(a_rank_of_another_version, meet_begin,
                                        meet_finish),
        cmocka_unit_test_setup_teardown(too_few_descriptors, meet_begin, meet_finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
