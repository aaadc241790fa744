/* control_links_hostile.c - what strangers may send to the port of links: nothing of it
 * disturbs those who know the key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/clock.h"
#include "control/links_wire.h"
#include "lib/linked.h"

static const uint32_t three[] = {1, 2, 1, 0};

static int
knock(const linked *cast)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons(cast->stage->mine[0][0].port)};
    const struct timeval patience = {.tv_sec = 10};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void
say(int fd, const void *bytes, size_t nbytes)
{
    /* It may have been closed on us already. */
    (void)!send(fd, bytes, nbytes, MSG_NOSIGNAL);
}

/* Waits for the end; how many bytes came before it. */
static size_t
hear_end(int fd)
{
    char bytes[512];
    size_t sum = 0;

    for (;;) {
        const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        assert_false(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
        if (got <= 0) {
            (void)close(fd);
            return sum;
        }
        sum += (size_t)got;
    }
}

static bool
all_joined(linked *cast, uint32_t unused)
{
    (void)unused;
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        for (uint32_t rank = 0; rank < cast->nranks; rank++) {
            if (rondo_board_presence(&cast->boards[host], rank) != RONDO_JOINED) {
                return false;
            }
        }
    }
    return true;
}

static void
assert_all_well(linked *cast)
{
    for (uint32_t rank = 0; rank < cast->nranks; rank++) {
        assert_int_equal(cast->stage->status[rank], RONDO_OK);
    }
    linked_do_all(cast, 'j');
    assert_true(linked_until(cast, all_joined, 0, 3000));
    for (uint32_t host = 0; host < cast->nhosts; host++) {
        assert_false(rondo_board_broken(&cast->boards[host]));
    }
}

static rondo_link_hello
hello_of(const linked *cast, uint32_t rank)
{
    rondo_link_hello hello = {.name = cast->stage->name,
                              .host = cast->stage->host_of[rank],
                              .rank = rank,
                              .nranks = cast->nranks};

    rondo_link_hello_make(&cast->stage->keys[0], &hello);
    return hello;
}

static void
garbage(void **state)
{
    static const char long_one[] =
        "RONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDO"
        "lnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnkRONDOlnk";
    static const char *const sayings[] = {
        "GET / HTTP/1.0\r\n\r\n", "RONDOmet", "RONDOlnk", "R",
        "\x16\x03\x01\x02",       long_one};
    linked cast;

    (void)state;
    linked_init(three, &cast);
    linked_start_all(&cast);
    linked_order(&cast, 0, 'o');
    srand(7);
    for (uint32_t i = 0; i < 300; i++) {
        char noise[700];
        const int fd = knock(&cast);
        const char *const text = sayings[i % 6];
        for (size_t at = 0; at < sizeof noise; at++) {
            noise[at] = (char)rand();
        }
        if (i % 2 == 0) {
            say(fd, text, strlen(text));
        } else {
            say(fd, noise, 1 + (size_t)rand() % sizeof noise);
        }
        (void)close(fd);
    }
    for (uint32_t rank = 1; rank < cast.nranks; rank++) {
        linked_order(&cast, rank, 'o');
    }
    for (uint32_t rank = 0; rank < cast.nranks; rank++) {
        linked_done(&cast, rank);
    }
    assert_all_well(&cast);
    assert_true(linked_end(&cast));
}

/* More silent ones than are put up with, before and after the honest ones come. */
static void
silence(void **state)
{
    int fds[150];
    linked cast;

    (void)state;
    linked_init(three, &cast);
    linked_start_all(&cast);
    for (uint32_t i = 0; i < 100; i++) {
        fds[i] = knock(&cast);
    }
    linked_do_all(&cast, 'o');
    for (uint32_t i = 100; i < 150; i++) {
        fds[i] = knock(&cast);
        say(fds[i], "RONDOlnk", i % 8);
    }
    assert_all_well(&cast);
    const uint64_t start = rondo_now_ns();
    for (uint32_t i = 0; i < 150; i++) {
        assert_int_equal(hear_end(fds[i]), 0);
    }
    assert_in_range(rondo_now_ns() - start, 0, 8 * RONDO_NS_PER_S);
    assert_true(linked_end(&cast));
}

/* Nobody who does not know the key is answered; who has only seen a hello gets no
 * further with it. */
static void
forged_hellos(void **state)
{
    linked cast;
    rondo_link_proof proof = {{0}};

    (void)state;
    linked_init(three, &cast);
    linked_start_all(&cast);
    linked_order(&cast, 0, 'o');
    (void)usleep(100000);
    for (size_t at = 0; at < sizeof(rondo_link_hello); at++) {
        rondo_link_hello hello = hello_of(&cast, 1);
        ((unsigned char *)&hello)[at] ^= 0x40;
        const int fd = knock(&cast);
        say(fd, &hello, sizeof hello);
        /* Another name is waited for, as its communicator may come. */
        const bool waits = at >= offsetof(rondo_link_hello, name) &&
                           at < offsetof(rondo_link_hello, host);
        if (waits) {
            (void)close(fd);
        } else {
            assert_int_equal(hear_end(fd), 0);
        }
    }
    for (uint32_t rank = 1; rank < cast.nranks; rank++) {
        const rondo_link_hello hello = hello_of(&cast, rank);
        const int fd = knock(&cast);
        say(fd, &hello, sizeof hello);
        say(fd, &proof, sizeof proof);
        assert_int_equal(hear_end(fd), rank == 2 ? 0 : sizeof(rondo_link_answer));
    }
    for (uint32_t rank = 1; rank < cast.nranks; rank++) {
        linked_order(&cast, rank, 'o');
    }
    for (uint32_t rank = 0; rank < cast.nranks; rank++) {
        linked_done(&cast, rank);
    }
    assert_all_well(&cast);
    /* A place that is taken is not given again, even to who knows the key. */
    const rondo_link_hello hello = hello_of(&cast, 1);
    const int fd = knock(&cast);
    say(fd, &hello, sizeof hello);
    assert_int_equal(hear_end(fd), 0);
    assert_all_well(&cast);
    assert_true(linked_end(&cast));
}

/* A leader that knows the key, but what it sends then is not what it should be: the
 * communicator breaks, with its name. */
static void
broken_frames(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 5; how++) {
        static const uint32_t two[] = {1, 1, 0};
        linked cast;
        rondo_link_answer answer;
        rondo_link_proof proof;
        rondo_link_keys keys;
        rondo_link_line line = {.rank = how == 3 ? 0 : 1, .line.peer = UINT32_MAX};
        rondo_link_frame frame = {.kind = RONDO_LINK_LINE, .bytes = sizeof line};
        rondo_breakage why;

        linked_init(two, &cast);
        linked_start_all(&cast);
        linked_order(&cast, 0, 'o');
        const rondo_key *const key = &cast.stage->keys[0];
        const rondo_link_hello hello = hello_of(&cast, 1);
        const int fd = knock(&cast);
        say(fd, &hello, sizeof hello);
        assert_int_equal(recv(fd, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
        assert_true(rondo_link_answer_signed(key, &hello, &answer));
        rondo_link_proof_make(key, &hello, &answer, &proof);
        say(fd, &proof, sizeof proof);
        linked_done(&cast, 0);
        assert_int_equal(cast.stage->status[0], RONDO_OK);
        rondo_link_keys_make(key, &hello, &answer, &keys);
        line.line.presence = how == 2 ? 9 : 1;
        frame.kind = how == 4 ? 77 : RONDO_LINK_LINE;
        rondo_link_frame_sign(how == 0 ? &keys.down : &keys.up, how == 1 ? 1 : 0, &line,
                              &frame);
        say(fd, &frame, sizeof frame);
        say(fd, &line, sizeof line);
        (void)hear_end(fd);
        assert_true(rondo_board_breakage(&cast.boards[0], &why));
        assert_int_equal(why.status, RONDO_ERR_WIRE);
        assert_int_equal(why.culprit, 1);
        assert_non_null(strstr(why.text, "rank 1 (process "));
        assert_true(linked_end(&cast));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage),
        cmocka_unit_test(silence),
        cmocka_unit_test(forged_hellos),
        cmocka_unit_test(broken_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
