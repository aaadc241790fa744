/* control_hostile.c - datagrams no honest peer sends: nothing is believed, nothing
 * leaks. ctest: label=notsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shared.h"
#include "control/service_parts.h"
#include "lib/peers.h"

#define FDS_MAX 8

static const rondo_key key = {{2, 7, 1, 8}};

static rondo_service *service;
static rondo_address own;
static int attacker; /* an unbound datagram socket */

static int
begin(void **state)
{
    (void)state;
    attacker = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (attacker < 0 || rondo_service_acquire(&service) != RONDO_OK) {
        return -1;
    }
    rondo_service_address(service, &own);
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    rondo_service_release(service);
    (void)close(attacker);
    return 0;
}

/* Blocks until there is room; false when the socket refuses. */
static bool throw(int from, const void *bytes, size_t nbytes, const int *fds,
                  uint32_t nfds)
{
    struct sockaddr_un name;
    const socklen_t name_bytes = rondo_datagram_name(&own.socket, &name);
    unsigned char copy[4096];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec data = {.iov_base = copy, .iov_len = nbytes};
    struct msghdr header = {.msg_name = &name,
                            .msg_namelen = name_bytes,
                            .msg_iov = &data,
                            .msg_iovlen = 1};

    assert_true(nbytes <= sizeof copy && nfds <= FDS_MAX);
    memset(&control, 0, sizeof control);
    if (nbytes > 0) {
        memcpy(copy, bytes, nbytes);
    }
    if (nfds > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        struct cmsghdr *const part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(part), fds, nfds * sizeof(int));
    }
    return sendmsg(from, &header, MSG_NOSIGNAL) == (ssize_t)nbytes;
}

/* Everything sent before has been read, since answers come in order. */
static void
settle(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    letter ping;
    letter pong;
    const struct timeval patience = {.tv_sec = 10};
    const int asker = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(asker >= 0);
    (void)setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    /* A short name: the kernel gives us one. */
    assert_int_equal(bind(asker, (struct sockaddr *)&name, sizeof name.sun_family), 0);
    rondo_datagram_init(MESSAGE_PING, &ping);
    ping.nonce = 42;
    ping.index = 7;
    assert_true(throw(asker, &ping, sizeof ping, NULL, 0));
    assert_int_equal(recv(asker, &pong, sizeof pong, 0), sizeof pong);
    assert_int_equal(pong.kind, MESSAGE_PONG);
    assert_int_equal(pong.nonce, 42);
    assert_int_equal(pong.index, 7);
    (void)close(asker);
}

static int
sealed_memory(size_t bytes)
{
    rondo_shared shared;

    assert_int_equal(rondo_shared_create(bytes, RONDO_SHARED_SPARSE, &shared),
                     RONDO_OK);
    const int fd = shared.fd;
    shared.fd = -1;
    rondo_shared_unmap(&shared);
    return fd;
}

static letter
good_letter(uint64_t number)
{
    letter good;

    rondo_datagram_init(MESSAGE_SEGMENT, &good);
    good.name = rondo_name_derive(&key, "hostile", number);
    good.bytes = 4096;
    rondo_datagram_sign(&key, &good);
    return good;
}

static rondo_status
take(uint64_t number, void **memory)
{
    const rondo_segment_spec spec = {
        .name = rondo_name_derive(&key, "hostile", number), .key = key, .bytes = 4096};

    return rondo_segment_take(service, &spec, memory);
}

static void
give_back(uint64_t number)
{
    const rondo_name name = rondo_name_derive(&key, "hostile", number);

    rondo_segment_release(service, &name);
}

/* Every length, of zeros and of a good letter, with 0 to 3 descriptors. */
static void
every_length(void **state)
{
    const uint32_t before = descriptors_open();
    unsigned char bytes[400] = {0};
    const int memory = sealed_memory(4096);
    const int fds[3] = {memory, memory, memory};
    void *taken = NULL;

    (void)state;
    for (uint32_t good = 0; good < 2; good++) {
        for (size_t nbytes = 0; nbytes <= sizeof bytes; nbytes++) {
            if (nbytes == sizeof(letter) && good == 1) {
                continue;
            }
            const letter honest = good_letter(1);
            if (good == 1) {
                memcpy(bytes, &honest, sizeof honest);
            }
            assert_true(throw(attacker, bytes, nbytes, fds, (uint32_t)(nbytes % 4)));
        }
        settle();
        assert_int_equal(take(1, &taken), RONDO_BUSY);
    }
    (void)close(memory);
    assert_int_equal(descriptors_open(), before);
    assert_int_equal(shared_maps(), 0);
}

/* One byte of a good letter changed, any of them: never taken for good. */
static void
every_byte(void **state)
{
    const uint32_t before = descriptors_open();
    const int memory = sealed_memory(4096);
    void *taken = NULL;

    (void)state;
    for (size_t at = 0; at < sizeof(letter); at++) {
        for (uint32_t bit = 0; bit < 8; bit++) {
            const uint64_t number = 1000 + at * 8 + bit;
            letter bad = good_letter(number);
            ((unsigned char *)&bad)[at] ^= (unsigned char)(1U << bit);
            assert_true(throw(attacker, &bad, sizeof bad, &memory, 1));
            settle();
            const rondo_status status = take(number, &taken);
            assert_true(status == RONDO_BUSY || status == RONDO_ERR_WIRE);
            const letter good = good_letter(number);
            assert_true(throw(attacker, &good, sizeof good, &memory, 1));
            settle();
            assert_int_equal(take(number, &taken), RONDO_OK);
            give_back(number);
        }
    }
    (void)close(memory);
    assert_int_equal(descriptors_open(), before);
}

/* Letters of every kind with every number of descriptors, also of other kinds. */
static void
descriptors_where_none_belong(void **state)
{
    const uint32_t before = descriptors_open();
    const uint32_t kinds[] = {0, 1, 2, 3, 4, 255, UINT32_MAX};
    int fds[FDS_MAX];
    void *taken = NULL;

    (void)state;
    for (uint32_t i = 0; i < FDS_MAX; i++) {
        fds[i] = i % 2 == 0 ? sealed_memory(4096) : open("/dev/null", O_RDWR);
        assert_true(fds[i] >= 0);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (uint32_t nfds = 0; nfds <= FDS_MAX; nfds++) {
            letter sent = good_letter(2);
            sent.kind = kinds[k];
            rondo_datagram_sign(&key, &sent);
            assert_true(throw(attacker, &sent, sizeof sent, fds, nfds));
        }
    }
    settle();
    /* Several descriptors: the first one counts, the kernel keeps the others. */
    const rondo_status status = take(2, &taken);
    assert_true(status == RONDO_OK || status == RONDO_BUSY || status == RONDO_ERR_WIRE);
    if (status == RONDO_OK) {
        give_back(2);
    }
    for (uint32_t i = 0; i < FDS_MAX; i++) {
        (void)close(fds[i]);
    }
    assert_int_equal(descriptors_open(), before);
    assert_int_equal(shared_maps(), 0);
}

/* Rightly signed, but the descriptor is not what it should be. */
static void
signed_but_useless(void **state)
{
    const uint32_t before = descriptors_open();
    void *taken = NULL;

    (void)state;
    for (uint32_t which = 0; which < 5; which++) {
        int fd = -1;
        switch (which) {
        case 0:
            fd = open("/dev/zero", O_RDWR);
            break;
        case 1:
            fd = memfd_create("unsealed", MFD_ALLOW_SEALING);
            assert_int_equal(ftruncate(fd, 4096), 0);
            break;
        case 2:
            fd = memfd_create("empty", MFD_ALLOW_SEALING);
            assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
            break;
        case 3:
            fd = socket(AF_UNIX, SOCK_STREAM, 0);
            break;
        default:
            /* Large enough by its letter, too small by its descriptor. */
            fd = memfd_create("small", MFD_ALLOW_SEALING);
            assert_int_equal(ftruncate(fd, 100), 0);
            assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
            break;
        }
        assert_true(fd >= 0);
        const letter sent = good_letter(3 + which);
        assert_true(throw(attacker, &sent, sizeof sent, &fd, 1));
        settle();
        assert_int_equal(take(3 + which, &taken), RONDO_ERR_WIRE);
        assert_int_equal(take(3 + which, &taken), RONDO_BUSY);
        (void)close(fd);
    }
    assert_int_equal(descriptors_open(), before);
    assert_int_equal(shared_maps(), 0);
}

/* An answer counts only with the right number, and from the process that was asked. */
static void
forged_answers(void **state)
{
    peer stopped;
    bool answered = false;
    letter pong;

    (void)state;
    peer_start(peer_idle, NULL, &stopped);
    peer_signal(&stopped, SIGSTOP);
    const pid_t forger = fork();
    if (forger == 0) {
        for (uint64_t i = 0; i < 3000; i++) {
            rondo_datagram_init(MESSAGE_PONG, &pong);
            pong.nonce = i;
            pong.index = i % 3 == 0 ? 0 : i;
            (void) throw(attacker, &pong, sizeof pong, NULL, 0);
        }
        _exit(0);
    }
    rondo_service_ask(service, &stopped.address, 1, 300 * RONDO_NS_PER_MS, &answered);
    assert_false(answered);
    assert_int_equal(waitpid(forger, NULL, 0), forger);
    peer_signal(&stopped, SIGCONT);
    peer_end(&stopped);
}

typedef struct question {
    rondo_address address;
    bool answered;
} question;

static void *
ask_it(void *user)
{
    question *const asked = user;

    rondo_service_ask(service, &asked->address, 1, 5 * RONDO_NS_PER_S,
                      &asked->answered);
    return NULL;
}

/* Nonce and index are right, but the answer is not from the one that was asked; or it
 * is, but the index is not. */
static void
answers_from_others(void **state)
{
    (void)state;
    for (uint32_t honest = 0; honest < 2; honest++) {
        question asked = {.address = own};
        struct sockaddr_un name;
        letter ping;
        pthread_t thread;
        rondo_random(&asked.address.socket, sizeof asked.address.socket);
        const socklen_t bytes = rondo_datagram_name(&asked.address.socket, &name);
        const int there = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_true(there >= 0);
        assert_int_equal(bind(there, (struct sockaddr *)&name, bytes), 0);
        assert_int_equal(pthread_create(&thread, NULL, ask_it, &asked), 0);
        assert_int_equal(recv(there, &ping, sizeof ping, 0), sizeof ping);
        letter pong = ping;
        pong.kind = MESSAGE_PONG;
        assert_true(throw(attacker, &pong, sizeof pong, NULL, 0));
        pong.index = 1;
        assert_true(throw(there, &pong, sizeof pong, NULL, 0));
        pong.index = UINT64_MAX;
        assert_true(throw(there, &pong, sizeof pong, NULL, 0));
        pong.index = 0;
        pong.nonce++;
        assert_true(throw(there, &pong, sizeof pong, NULL, 0));
        settle();
        pong.nonce--;
        if (honest != 0) {
            assert_true(throw(there, &pong, sizeof pong, NULL, 0));
        } else {
            (void)close(there);
        }
        (void)pthread_join(thread, NULL);
        assert_int_equal(asked.answered, honest != 0);
        if (honest != 0) {
            (void)close(there);
        }
    }
}

/* Another user of the machine gets no answer. */
static void
another_user(void **state)
{
    int how = 0;

    (void)state;
    if (getuid() != 0) {
        skip();
    }
    const pid_t stranger = fork();
    if (stranger == 0) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        const struct timeval patience = {.tv_usec = 300000};
        letter ping;
        letter pong;
        if (setuid(65534) != 0) {
            _exit(2);
        }
        const int asker = socket(AF_UNIX, SOCK_DGRAM, 0);
        (void)setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        (void)bind(asker, (struct sockaddr *)&name, sizeof name.sun_family);
        rondo_datagram_init(MESSAGE_PING, &ping);
        if (!throw(asker, &ping, sizeof ping, NULL, 0)) {
            _exit(3);
        }
        _exit(recv(asker, &pong, sizeof pong, 0) < 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(stranger, &how, 0), stranger);
    assert_int_equal(how, 0);
    settle();
}

#define DEAF 12

/* A flood of questions whose answers nobody fetches. Not more askers: what lies unread
 * counts against our own socket. */
static void
askers_that_do_not_listen(void **state)
{
    int deaf[DEAF];
    letter ping;

    (void)state;
    rondo_datagram_init(MESSAGE_PING, &ping);
    for (uint32_t i = 0; i < DEAF; i++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        deaf[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_true(deaf[i] >= 0);
        assert_int_equal(bind(deaf[i], (struct sockaddr *)&name, sizeof(sa_family_t)),
                         0);
        for (uint32_t k = 0; k < 40; k++) {
            assert_true(throw(deaf[i], &ping, sizeof ping, NULL, 0));
        }
    }
    const uint64_t start = rondo_now_ns();
    settle();
    assert_true(rondo_now_ns() - start < RONDO_NS_PER_S);
    for (uint32_t i = 0; i < DEAF; i++) {
        (void)close(deaf[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_length, begin, finish),
        cmocka_unit_test_setup_teardown(every_byte, begin, finish),
        cmocka_unit_test_setup_teardown(descriptors_where_none_belong, begin, finish),
        cmocka_unit_test_setup_teardown(signed_but_useless, begin, finish),
        cmocka_unit_test_setup_teardown(forged_answers, begin, finish),
        cmocka_unit_test_setup_teardown(answers_from_others, begin, finish),
        cmocka_unit_test_setup_teardown(another_user, begin, finish),
        cmocka_unit_test_setup_teardown(askers_that_do_not_listen, begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
