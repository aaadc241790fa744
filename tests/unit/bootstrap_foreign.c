/* bootstrap_foreign.c - meeting points that are none, or of another version or job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/wire.h"
#include "lib/meet.h"

static meet_rank ranks[MEET_RANKS_MAX];

/* A listener that is none of ours. */
typedef struct foreigner {
    pthread_t thread;
    const char *says;
    size_t bytes;
    bool closes;
    _Atomic bool stop;
    _Atomic uint32_t heard; /* bytes */
} foreigner;

static void *
listen_wrongly(void *user)
{
    foreigner *const self = user;
    unsigned char bytes[2048];
    int fds[64];
    uint32_t nfds = 0;

    while (!self->stop) {
        struct pollfd ready = {.fd = meet_at_fd, .events = POLLIN};
        if (poll(&ready, 1, 10) <= 0) {
            continue;
        }
        const int fd = accept(meet_at_fd, NULL, NULL);
        if (fd < 0) {
            continue;
        }
        (void)send(fd, self->says, self->bytes, MSG_NOSIGNAL);
        if (self->closes || nfds == 64) {
            (void)usleep(1000);
            const ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
            self->heard += got > 0 ? (uint32_t)got : 0;
            (void)close(fd);
        } else {
            fds[nfds++] = fd;
        }
    }
    while (nfds > 0) {
        (void)close(fds[--nfds]);
    }
    return NULL;
}

static void
meet_a_foreigner(foreigner *other, uint64_t timeout_ms)
{
    assert_int_equal(listen(meet_at_fd, 64), 0);
    assert_int_equal(pthread_create(&other->thread, NULL, listen_wrongly, other), 0);
    meet_init(2, meet_at, 7, timeout_ms, ranks);
    meet_start(&ranks[1]);
    meet_join(&ranks[1]);
    other->stop = true;
    (void)pthread_join(other->thread, NULL);
    meet_anew();
}

static void
no_meeting_point(void **state)
{
    const struct {
        const char *says;
        size_t bytes;
        bool closes;
        uint64_t timeout_ms;
    } rows[] = {{"SSH-2.0-OpenSSH_9.2\r\n", 21, false, 60000},
                {"HTTP/1.0 400 Bad Request\r\n\r\n", 28, true, 60000},
                {"", 0, false, 400},
                {"", 0, false, 60000},
                {"", 0, true, 400},
                {"RONDO", 5, false, 400}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        foreigner other = {
            .says = rows[i].says, .bytes = rows[i].bytes, .closes = rows[i].closes};
        char where[64];
        (void)snprintf(where, sizeof where, "127.0.0.1:%u", meet_at);
        meet_a_foreigner(&other, rows[i].timeout_ms);
        assert_int_equal(ranks[1].status, RONDO_ERR_START);
        assert_non_null(strstr(ranks[1].text, where));
        assert_non_null(strstr(ranks[1].text, "not speak Rondo's protocol"));
        assert_true(ranks[1].took_ns < 12 * RONDO_NS_PER_S);
    }
}

/* A listener of another version: both versions are named, and it hears ours. */
static void
another_version(void **state)
{
    rondo_greeting greeting = {.nonce = {1}};

    (void)state;
    for (uint32_t what = 0; what < 3; what++) {
        rondo_wire_preface(&greeting.preface);
        if (what == 0) {
            greeting.preface.library = 120304;
        } else if (what == 1) {
            greeting.preface.wire = 77;
        } else {
            greeting.preface.order = __builtin_bswap32(greeting.preface.order);
            greeting.preface.wire = __builtin_bswap32(greeting.preface.wire);
            greeting.preface.library = __builtin_bswap32(120304);
        }
        foreigner other = {
            .says = (const char *)&greeting, .bytes = sizeof greeting, .closes = true};
        meet_a_foreigner(&other, 60000);
        assert_int_equal(ranks[1].status, RONDO_ERR_START);
        assert_non_null(strstr(ranks[1].text, "Rondo 0.1.0 (protocol 1) here"));
        assert_non_null(strstr(ranks[1].text, what == 1 ? "protocol 77" : "12.3.4"));
        assert_true(ranks[1].took_ns < MEET_PROMPT_NS);
    }
}

/* A server that claims to be ours but does not know the secret. */
static void *
impostor(void *user)
{
    unsigned char bytes[2048];
    rondo_greeting greeting = {.nonce = {1}};
    rondo_wire_frame frame;
    rondo_nonces nonces = {.server = {1}};
    rondo_key key = {{1}};

    const int fd = accept(meet_at_fd, NULL, NULL);
    rondo_wire_preface(&greeting.preface);
    (void)send(fd, &greeting, sizeof greeting, MSG_NOSIGNAL);
    (void)meet_read(fd, bytes, sizeof(rondo_hello) + 100);
    rondo_wire_frame_init(*(rondo_frame_kind *)user, &frame);
    rondo_wire_frame_sign(&key, &nonces, &frame);
    (void)send(fd, &frame, sizeof frame, MSG_NOSIGNAL);
    (void)usleep(100000);
    (void)close(fd);
    return NULL;
}

static void
impostors_are_found_out(void **state)
{
    (void)state;
    for (rondo_frame_kind kind = RONDO_FRAME_WELCOME; kind <= RONDO_FRAME_REFUSED;
         kind++) {
        pthread_t thread;
        assert_int_equal(listen(meet_at_fd, 5), 0);
        assert_int_equal(pthread_create(&thread, NULL, impostor, &kind), 0);
        meet_init(2, meet_at, 7, 60000, ranks);
        meet_start(&ranks[1]);
        meet_join(&ranks[1]);
        (void)pthread_join(thread, NULL);
        assert_int_equal(ranks[1].status, RONDO_ERR_START);
        assert_true(ranks[1].took_ns < MEET_PROMPT_NS);
        meet_anew();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_meeting_point, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(another_version, meet_begin, meet_finish),
        cmocka_unit_test_setup_teardown(impostors_are_found_out, meet_begin,
                                        meet_finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
