/* control_watch.c - processes of peers: their ends are noticed, their answers counted.
 * ctest: label=notsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "control/service.h"
#include "lib/peers.h"

typedef struct mourner {
    _Atomic uint32_t told;
    rondo_address address;
    _Atomic uint64_t when_ns;
} mourner;

static void
tell(const rondo_address *address, void *user)
{
    mourner *const self = user;

    self->address = *address;
    self->when_ns = rondo_now_ns();
    self->told++;
}

static bool
told_soon(const mourner *one)
{
    for (uint32_t i = 0; i < 2000 && one->told == 0; i++) {
        (void)usleep(1000);
    }
    return one->told == 1;
}

static int
exit_when_told(rondo_service *service, peer *test)
{
    (void)service;
    return peer_hear(test) == 'e' ? 3 : 0;
}

/* Killed, stopped and killed, or leaving by itself. */
static void
an_end_is_told_once(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 3; how++) {
        rondo_service *service = NULL;
        rondo_watch *watch = NULL;
        mourner one = {.told = 0};
        peer watched;
        peer_start(exit_when_told, NULL, &watched);
        assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
        const uint32_t descriptors = descriptors_open();
        assert_int_equal(
            rondo_service_watch(service, &watched.address, tell, &one, &watch),
            RONDO_OK);
        (void)usleep(20000);
        assert_int_equal(one.told, 0);
        const uint64_t start = rondo_now_ns();
        if (how == 1) {
            peer_signal(&watched, SIGSTOP);
            (void)usleep(20000);
            assert_int_equal(one.told, 0);
        }
        if (how == 2) {
            peer_say(&watched, 'e');
        } else {
            (void)kill(watched.pid, SIGKILL);
        }
        /* Told while it is still a zombie. */
        assert_true(told_soon(&one));
        assert_true(one.when_ns - start < RONDO_NS_PER_S);
        assert_memory_equal(&one.address, &watched.address, sizeof one.address);
        assert_int_equal(descriptors_open(), descriptors);
        assert_int_equal(peer_join(&watched), how == 2 ? 3 : 100 + SIGKILL);
        (void)usleep(20000);
        assert_int_equal(one.told, 1);
        rondo_service_unwatch(service, watch);
        rondo_service_release(service);
    }
}

static void
an_end_before_is_told(void **state)
{
    (void)state;
    for (uint32_t reaped = 0; reaped < 2; reaped++) {
        rondo_service *service = NULL;
        rondo_watch *watches[3];
        mourner mourners[3] = {{.told = 0}};
        peer watched;
        peer_start(peer_idle, NULL, &watched);
        (void)kill(watched.pid, SIGKILL);
        if (reaped != 0) {
            (void)peer_join(&watched);
        } else {
            siginfo_t info;
            assert_int_equal(waitid(P_PID, (id_t)watched.pid, &info, WEXITED | WNOWAIT),
                             0);
        }
        assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
        const uint32_t descriptors = descriptors_open();
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(rondo_service_watch(service, &watched.address, tell,
                                                 &mourners[i], &watches[i]),
                             RONDO_OK);
            assert_true(told_soon(&mourners[i]));
        }
        for (uint32_t i = 0; i < 3; i++) {
            rondo_service_unwatch(service, watches[i]);
            assert_int_equal(mourners[i].told, 1);
        }
        assert_int_equal(descriptors_open(), descriptors);
        if (reaped == 0) {
            (void)peer_join(&watched);
        }
        rondo_service_release(service);
    }
}

/* The number lives, but it is another process by now. */
static void
a_number_used_again(void **state)
{
    rondo_service *service = NULL;
    rondo_watch *watch = NULL;
    rondo_watch *honest = NULL;
    mourner one = {.told = 0};
    mourner other = {.told = 0};
    peer watched;

    (void)state;
    peer_start(peer_idle, NULL, &watched);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const uint32_t descriptors = descriptors_open();
    rondo_address earlier = watched.address;
    earlier.started--;
    assert_int_equal(rondo_service_watch(service, &earlier, tell, &one, &watch),
                     RONDO_OK);
    assert_int_equal(
        rondo_service_watch(service, &watched.address, tell, &other, &honest),
        RONDO_OK);
    assert_true(told_soon(&one));
    assert_int_equal(other.told, 0);
    rondo_service_unwatch(service, watch);
    rondo_service_unwatch(service, honest);
    assert_int_equal(descriptors_open(), descriptors);
    peer_end(&watched);
    rondo_service_release(service);
}

static void
our_own_process_needs_nothing(void **state)
{
    rondo_service *service = NULL;
    rondo_watch *watches[10];
    mourner one = {.told = 0};
    rondo_address own;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    rondo_service_address(service, &own);
    const uint32_t descriptors = descriptors_open();
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(rondo_service_watch(service, &own, tell, &one, &watches[i]),
                         RONDO_OK);
    }
    assert_int_equal(descriptors_open(), descriptors);
    for (uint32_t i = 0; i < 10; i++) {
        rondo_service_unwatch(service, watches[i]);
    }
    rondo_service_unwatch(service, NULL);
    assert_int_equal(one.told, 0);
    rondo_service_release(service);
}

#define CROWD    20
#define WATCHERS 50

/* A descriptor for each process, not for each watch; in any order of going. */
static void
one_descriptor_per_process(void **state)
{
    rondo_service *service = NULL;
    static peer peers[CROWD];
    static mourner mourners[CROWD][WATCHERS];
    static rondo_watch *watches[CROWD][WATCHERS];

    (void)state;
    memset(mourners, 0, sizeof mourners);
    for (uint32_t p = 0; p < CROWD; p++) {
        peer_start(peer_idle, NULL, &peers[p]);
    }
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const uint32_t descriptors = descriptors_open();
    for (uint32_t w = 0; w < WATCHERS; w++) {
        for (uint32_t p = 0; p < CROWD; p++) {
            assert_int_equal(rondo_service_watch(service, &peers[p].address, tell,
                                                 &mourners[p][w], &watches[p][w]),
                             RONDO_OK);
        }
        assert_int_equal(descriptors_open(), descriptors + CROWD);
    }
    for (uint32_t p = 0; p < CROWD; p += 2) {
        peer_end(&peers[p]);
        for (uint32_t w = 0; w < WATCHERS; w++) {
            assert_true(told_soon(&mourners[p][w]));
        }
    }
    assert_int_equal(descriptors_open(), descriptors - CROWD / 2 * 2 + CROWD / 2);
    for (uint32_t w = 0; w < WATCHERS; w++) {
        for (uint32_t p = 0; p < CROWD; p++) {
            const uint32_t pick = (w * 7 + p) % WATCHERS;
            rondo_service_unwatch(service, watches[p][pick]);
            assert_int_equal(mourners[p][pick].told, p % 2 == 0);
        }
    }
    for (uint32_t p = 1; p < CROWD; p += 2) {
        peer_end(&peers[p]);
    }
    assert_int_equal(descriptors_open(), descriptors - 2 * CROWD);
    rondo_service_release(service);
}

static void
every_allocation_may_fail(void **state)
{
    rondo_service *service = NULL;
    uint64_t failures = 0;
    peer watched;

    (void)state;
    peer_start(peer_idle, NULL, &watched);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const uint32_t descriptors = descriptors_open();
    for (uint64_t nth = 1;; nth++) {
        rondo_watch *watch = NULL;
        mourner one = {.told = 0};
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status =
            rondo_service_watch(service, &watched.address, tell, &one, &watch);
        const bool hit = rondo_alloc_fail_after(0);
        assert_int_equal(status, hit ? RONDO_ERR_MEMORY : RONDO_OK);
        rondo_service_unwatch(service, watch);
        assert_int_equal(descriptors_open(), descriptors);
        if (!hit) {
            break;
        }
        failures++;
    }
    assert_true(failures >= 3);
    peer_end(&watched);
    rondo_service_release(service);
}

static int
watch_without_descriptors(rondo_service *service, peer *test)
{
    const rondo_address *const address = test->user;
    rondo_watch *watch = NULL;
    mourner one = {.told = 0};
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};

    if (setrlimit(RLIMIT_NOFILE, &none) != 0) {
        return 1;
    }
    const rondo_status status =
        rondo_service_watch(service, address, tell, &one, &watch);
    return status == RONDO_ERR_SYSTEM && strstr(rondo_error_text(), "limit") ? 0 : 2;
}

static void
descriptors_may_run_out(void **state)
{
    peer watched;
    peer watcher;

    (void)state;
    peer_start(peer_idle, NULL, &watched);
    peer_start(watch_without_descriptors, &watched.address, &watcher);
    assert_int_equal(peer_join(&watcher), 0);
    peer_end(&watched);
}

static void
who_answers(void **state)
{
    rondo_service *service = NULL;
    static peer peers[CROWD];
    static rondo_address addresses[CROWD + 1];
    bool answered[CROWD + 1];

    (void)state;
    for (uint32_t p = 0; p < CROWD; p++) {
        peer_start(peer_idle, NULL, &peers[p]);
        addresses[p] = peers[p].address;
    }
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    rondo_service_address(service, &addresses[CROWD]);
    for (uint32_t round = 0; round < 30; round++) {
        memset(answered, 0, sizeof answered);
        const uint64_t start = rondo_now_ns();
        rondo_service_ask(service, addresses, CROWD + 1, 2 * RONDO_NS_PER_S, answered);
        assert_true(rondo_now_ns() - start < RONDO_NS_PER_S);
        for (uint32_t p = 0; p <= CROWD; p++) {
            assert_true(answered[p]);
        }
    }
    /* Every third is stopped, one of the others is dead: 25 rounds fill their
     * queues. */
    for (uint32_t p = 0; p < CROWD; p += 3) {
        peer_signal(&peers[p], SIGSTOP);
    }
    peer_end(&peers[1]);
    for (uint32_t round = 0; round < 25; round++) {
        memset(answered, 0, sizeof answered);
        const uint64_t start = rondo_now_ns();
        rondo_service_ask(service, addresses, CROWD + 1, 60 * RONDO_NS_PER_MS,
                          answered);
        assert_true(rondo_now_ns() - start < RONDO_NS_PER_S);
        for (uint32_t p = 0; p <= CROWD; p++) {
            const bool silent = p < CROWD && (p % 3 == 0 || p == 1);
            /* A busy machine may make one late, nobody answers for the stopped. */
            assert_false(silent && answered[p]);
        }
    }
    rondo_service_ask(service, addresses, CROWD + 1, RONDO_NS_PER_S, answered);
    for (uint32_t p = 0; p <= CROWD; p++) {
        assert_int_equal(answered[p], !(p < CROWD && (p % 3 == 0 || p == 1)));
    }
    for (uint32_t p = 0; p < CROWD; p += 3) {
        peer_signal(&peers[p], SIGCONT);
    }
    memset(answered, 0, sizeof answered);
    rondo_service_ask(service, addresses, CROWD + 1, 2 * RONDO_NS_PER_S, answered);
    for (uint32_t p = 0; p <= CROWD; p++) {
        assert_int_equal(answered[p], p != 1);
    }
    rondo_service_ask(service, addresses, 0, RONDO_NS_PER_S, answered);
    for (uint32_t p = 0; p < CROWD; p++) {
        if (p != 1) {
            peer_end(&peers[p]);
        }
    }
    rondo_service_release(service);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_told_once),
        cmocka_unit_test(an_end_before_is_told),
        cmocka_unit_test(a_number_used_again),
        cmocka_unit_test(our_own_process_needs_nothing),
        cmocka_unit_test(one_descriptor_per_process),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(descriptors_may_run_out),
        cmocka_unit_test(who_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
