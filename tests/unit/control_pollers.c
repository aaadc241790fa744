/* control_pollers.c - descriptors the service polls for others, and their alarms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/service.h"
#include "lib/peers.h"

static void
sleep_ms(uint64_t ms)
{
    (void)usleep((useconds_t)(ms * 1000));
}

/* The thread of a service that freed itself may need a moment to be gone. */
static bool
becomes(uint32_t (*count)(void), uint32_t wanted)
{
    for (uint32_t i = 0; i < 500 && count() != wanted; i++) {
        sleep_ms(2);
    }
    return count() == wanted;
}

typedef struct sink {
    rondo_service *service;
    _Atomic uint32_t readable;
    _Atomic uint32_t alarms;
    _Atomic bool inside;
    _Atomic bool removed;
    _Atomic bool late; /* called after it was removed */
    uint32_t hold_ms;
    bool removes_itself;
} sink;

static void
take_in(int fd, uint32_t events, void *user)
{
    sink *const self = user;
    uint64_t count = 0;

    if (self->removed) {
        self->late = true;
    }
    self->inside = true;
    if (events == 0) {
        self->alarms++;
    } else if (read(fd, &count, sizeof count) == (ssize_t)sizeof count) {
        self->readable += (uint32_t)count;
    }
    if (self->removes_itself) {
        rondo_service_poll_remove(self->service, fd);
    }
    sleep_ms(self->hold_ms);
    self->inside = false;
}

static bool
reaches(_Atomic uint32_t *counter, uint32_t wanted)
{
    for (uint32_t i = 0; i < 2000 && *counter < wanted; i++) {
        sleep_ms(1);
    }
    return *counter == wanted;
}

static void
pollers_are_called(void **state)
{
    rondo_service *service = NULL;
    int fds[100];
    static sink sinks[100];

    (void)state;
    memset(sinks, 0, sizeof sinks);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint32_t i = 0; i < 100; i++) {
        sinks[i].service = service;
        fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        assert_true(fds[i] >= 0);
        assert_int_equal(
            rondo_service_poll_add(service, fds[i], EPOLLIN, take_in, &sinks[i]),
            RONDO_OK);
    }
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(eventfd_write(fds[i], i + 1), 0);
        if (i % 3 == 0) {
            rondo_service_alarm(service, fds[i], rondo_deadline_ns(i % 7));
        }
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(reaches(&sinks[i].readable, i + 1));
        assert_true(reaches(&sinks[i].alarms, i % 3 == 0));
    }
    /* Switched off, then on again: what came in between is not lost. */
    assert_int_equal(rondo_service_poll_change(service, fds[5], 0), RONDO_OK);
    assert_int_equal(eventfd_write(fds[5], 1), 0);
    sleep_ms(20);
    assert_int_equal(sinks[5].readable, 6);
    assert_int_equal(rondo_service_poll_change(service, fds[5], EPOLLIN), RONDO_OK);
    assert_true(reaches(&sinks[5].readable, 7));
    for (uint32_t i = 0; i < 100; i++) {
        rondo_service_poll_remove(service, fds[i]);
        sinks[i].removed = true;
        assert_int_equal(eventfd_write(fds[i], 1), 0);
        (void)close(fds[i]);
    }
    assert_int_not_equal(rondo_service_poll_change(service, fds[5], EPOLLIN), RONDO_OK);
    rondo_service_release(service);
    for (uint32_t i = 0; i < 100; i++) {
        assert_false(sinks[i].late);
        assert_int_equal(sinks[i].alarms, i % 3 == 0);
    }
}

static void
alarms_come_when_asked(void **state)
{
    rondo_service *service = NULL;
    sink one = {.readable = 0};

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(rondo_service_poll_add(service, fd, EPOLLIN, take_in, &one),
                     RONDO_OK);
    for (uint32_t i = 1; i <= 20; i++) {
        const uint64_t moment = rondo_deadline_ns(i);
        rondo_service_alarm(service, fd, rondo_deadline_ns(10000));
        rondo_service_alarm(service, fd, moment);
        assert_true(reaches(&one.alarms, i));
        assert_true(rondo_now_ns() >= moment);
        assert_true(rondo_now_ns() - moment < RONDO_NS_PER_S);
    }
    rondo_service_alarm(service, fd, rondo_deadline_ns(20));
    rondo_service_alarm(service, fd, RONDO_NEVER);
    sleep_ms(50);
    assert_int_equal(one.alarms, 20);
    rondo_service_poll_remove(service, fd);
    (void)close(fd);
    rondo_service_release(service);
}

/* Removing waits for a call that is running, and the number may be used again at
 * once. */
static void
removing_waits(void **state)
{
    rondo_service *service = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint32_t round = 0; round < 60; round++) {
        sink one = {
            .service = service, .hold_ms = round % 3, .removes_itself = round % 2 == 1};
        const int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        assert_int_equal(rondo_service_poll_add(service, fd, EPOLLIN, take_in, &one),
                         RONDO_OK);
        for (uint32_t i = 0; i < 200 && !one.inside && round % 5 != 0; i++) {
            (void)usleep(50);
        }
        rondo_service_poll_remove(service, fd);
        assert_false(one.inside);
        one.removed = true;
        (void)close(fd);
        assert_false(one.late);
    }
    rondo_service_release(service);
}

typedef struct swapper {
    rondo_service *service;
    int fd;
    struct swapper *other;
    _Atomic bool *swapped;
    _Atomic bool stale; /* called for what happened to the number before */
} swapper;

static void
must_not_come(int fd, uint32_t events, void *user)
{
    swapper *const self = user;

    (void)fd;
    (void)events;
    self->stale = true;
}

/* Whichever of two is called first takes the other away, and its number for a
 * descriptor that is not ready. */
static void
swap_the_other(int fd, uint32_t events, void *user)
{
    swapper *const self = user;
    uint64_t count = 0;

    (void)events;
    (void)read(fd, &count, sizeof count);
    if (*self->swapped) {
        return;
    }
    const int number = self->other->fd;
    rondo_service_poll_remove(self->service, number);
    (void)close(number);
    const int fresh = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fresh != number) {
        (void)dup3(fresh, number, O_CLOEXEC);
        (void)close(fresh);
    }
    (void)!rondo_service_poll_add(self->service, number, EPOLLIN, must_not_come,
                                  self->other);
    *self->swapped = true;
}

static void
a_number_used_again(void **state)
{
    rondo_service *service = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint32_t round = 0; round < 20; round++) {
        sink blocker = {.service = service, .hold_ms = 20};
        swapper two[2];
        _Atomic bool swapped = false;
        const int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        assert_int_equal(
            rondo_service_poll_add(service, fd, EPOLLIN, take_in, &blocker), RONDO_OK);
        while (!blocker.inside && blocker.readable == 0) {
            (void)usleep(50);
        }
        for (uint32_t i = 0; i < 2; i++) {
            two[i] = (swapper){.service = service,
                               .fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK),
                               .other = &two[1 - i],
                               .swapped = &swapped};
            assert_int_equal(rondo_service_poll_add(service, two[i].fd, EPOLLIN,
                                                    swap_the_other, &two[i]),
                             RONDO_OK);
        }
        for (uint32_t i = 0; i < 2000 && !swapped; i++) {
            (void)usleep(1000);
        }
        assert_true(swapped);
        sleep_ms(2);
        for (uint32_t i = 0; i < 2; i++) {
            rondo_service_poll_remove(service, two[i].fd);
            (void)close(two[i].fd);
            assert_false(two[i].stale);
        }
        rondo_service_poll_remove(service, fd);
        (void)close(fd);
    }
    rondo_service_release(service);
}

typedef struct last_user {
    rondo_service *service;
    int fd;
    _Atomic bool done;
} last_user;

static void
release_inside(int fd, uint32_t events, void *user)
{
    last_user *const self = user;

    (void)events;
    rondo_service_poll_remove(self->service, fd);
    rondo_service_release(self->service);
    self->done = true;
}

static void
the_last_release_may_come_from_inside(void **state)
{
    (void)state;
    const uint32_t descriptors = descriptors_open();
    const uint32_t threads = threads_alive();
    for (uint32_t round = 0; round < 100; round++) {
        last_user self = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        assert_int_equal(rondo_service_acquire(&self.service), RONDO_OK);
        assert_int_equal(rondo_service_poll_add(self.service, self.fd, EPOLLIN,
                                                release_inside, &self),
                         RONDO_OK);
        assert_int_equal(eventfd_write(self.fd, 1), 0);
        for (uint32_t i = 0; i < 5000 && !self.done; i++) {
            (void)usleep(200);
        }
        assert_true(self.done);
        (void)close(self.fd);
    }
    assert_true(becomes(threads_alive, threads));
    assert_int_equal(descriptors_open(), descriptors);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pollers_are_called),
        cmocka_unit_test(alarms_come_when_asked),
        cmocka_unit_test(removing_waits),
        cmocka_unit_test(a_number_used_again),
        cmocka_unit_test(the_last_release_may_come_from_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
