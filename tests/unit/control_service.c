/* control_service.c - the life of the service: acquire, release, fork; derived
 * secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
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

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CYCLES 500
#else
#define CYCLES 10000
#endif

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

static void
cycles_leave_nothing(void **state)
{
    rondo_service *service = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    rondo_service_release(service);
    const uint32_t descriptors = descriptors_open();
    const uint32_t threads = threads_alive();
    for (uint32_t i = 0; i < CYCLES; i++) {
        assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
        rondo_service_release(service);
    }
    assert_int_equal(descriptors_open(), descriptors);
    assert_true(becomes(threads_alive, threads));
}

static void
one_service_however_often(void **state)
{
    rondo_service *services[20];
    rondo_address first;
    rondo_address address;

    (void)state;
    const uint32_t threads = threads_alive();
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(rondo_service_acquire(&services[i]), RONDO_OK);
        assert_ptr_equal(services[i], services[0]);
        rondo_service_address(services[0], &first);
        rondo_service_address(services[i], &address);
        assert_memory_equal(&address, &first, sizeof address);
        assert_int_equal(threads_alive(), threads + 1);
    }
    assert_int_equal(first.pid, getpid());
    assert_int_not_equal(first.started, 0);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(threads_alive(), threads + 1);
        rondo_service_release(services[i]);
    }
    assert_true(becomes(threads_alive, threads));
    rondo_service_release(NULL);
}

static void
names_are_not_repeated(void **state)
{
    rondo_name names[200];

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        rondo_service *service = NULL;
        rondo_address address;
        assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
        rondo_service_address(service, &address);
        names[i] = address.socket;
        rondo_service_release(service);
        for (uint32_t k = 0; k < i; k++) {
            assert_memory_not_equal(&names[k], &names[i], sizeof names[i]);
        }
    }
}

static void *
come_and_go(void *user)
{
    for (uint32_t i = 0; i < 300; i++) {
        rondo_service *service = NULL;
        if (rondo_service_acquire(&service) != RONDO_OK) {
            *(_Atomic bool *)user = true;
            return NULL;
        }
        rondo_service_release(service);
    }
    return NULL;
}

static void
from_many_threads(void **state)
{
    pthread_t threads[4];
    _Atomic bool failed = false;

    (void)state;
    const uint32_t descriptors = descriptors_open();
    const uint32_t before = threads_alive();
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &failed), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_false(failed);
    assert_int_equal(descriptors_open(), descriptors);
    assert_true(becomes(threads_alive, before));
}

static void
every_allocation_may_fail(void **state)
{
    uint64_t failures = 0;

    (void)state;
    const uint32_t descriptors = descriptors_open();
    for (uint64_t nth = 1;; nth++) {
        rondo_service *service = NULL;
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status = rondo_service_acquire(&service);
        const bool hit = rondo_alloc_fail_after(0);
        if (!hit) {
            assert_int_equal(status, RONDO_OK);
            rondo_service_release(service);
            break;
        }
        failures++;
        assert_int_equal(status, RONDO_ERR_MEMORY);
        assert_int_equal(descriptors_open(), descriptors);
    }
    assert_true(failures >= 3);
}

/* Every number of free descriptors from none up, until it works. */
static int
too_few_descriptors(void)
{
    rondo_service *service = NULL;

    for (int fd = 3; fd < 1000; fd++) {
        (void)close(fd);
    }
    for (uint32_t spare = 0; spare < 8; spare++) {
        const struct rlimit limit = {.rlim_cur = 3 + spare, .rlim_max = 1000};
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            return 1;
        }
        const rondo_status status = rondo_service_acquire(&service);
        if (status == RONDO_OK) {
            rondo_service_release(service);
            return spare >= 3 ? 0 : 2;
        }
        if (status != RONDO_ERR_SYSTEM ||
            strstr(rondo_error_text(), "Too many open files") == NULL) {
            return 3;
        }
    }
    return 4;
}

static int
in_child(int (*body)(void))
{
    int how = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(body());
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

static void
descriptors_may_run_out(void **state)
{
    (void)state;
    assert_int_equal(in_child(too_few_descriptors), 0);
}

/* The mask of blocked signals of the thread called rondo-service; 0: no such thread. */
static uint64_t
blocked_signals(void)
{
    char path[300];
    char line[256];
    uint64_t mask = 0;
    DIR *const folder = opendir("/proc/self/task");

    for (struct dirent *task = readdir(folder); task != NULL; task = readdir(folder)) {
        bool found = false;
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *const file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            found = found || strcmp(line, "Name:\trondo-service\n") == 0;
            if (found && strncmp(line, "SigBlk:", 7) == 0) {
                mask = strtoull(line + 7, NULL, 16);
            }
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(folder);
    return mask;
}

static void
signals_are_not_for_the_service(void **state)
{
    rondo_service *service = NULL;
    sigset_t before;
    sigset_t after;

    (void)state;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    uint64_t mask = 0;
    for (uint32_t i = 0; i < 200 && mask == 0; i++) {
        mask = blocked_signals();
        sleep_ms(5);
    }
    const int numbers[] = {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_true((mask >> (numbers[i] - 1) & 1) != 0);
    }
    rondo_service_release(service);
}

static rondo_service *inherited;

static int
use_inherited(void)
{
    rondo_service *own = NULL;
    rondo_address address;
    bool answered = false;

    if (!rondo_service_forked(inherited) || rondo_service_acquire(&own) != RONDO_OK ||
        own == inherited || rondo_service_forked(own)) {
        return 1;
    }
    rondo_service_address(own, &address);
    if (address.pid != (uint32_t)getpid()) {
        return 2;
    }
    rondo_service_ask(own, &address, 1, RONDO_NS_PER_S, &answered);
    rondo_service_release(inherited);
    rondo_service_release(own);
    return answered ? 0 : 3;
}

static void
a_child_does_not_inherit(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* It takes the child's thread for the parent's. */
#endif
    for (uint32_t i = 0; i < 20; i++) {
        bool answered = false;
        rondo_address address;
        assert_int_equal(rondo_service_acquire(&inherited), RONDO_OK);
        assert_int_equal(in_child(use_inherited), 0);
        assert_false(rondo_service_forked(inherited));
        rondo_service_address(inherited, &address);
        rondo_service_ask(inherited, &address, 1, RONDO_NS_PER_S, &answered);
        assert_true(answered);
        rondo_service_release(inherited);
    }
}

/* A peer forks a child that outlives it: the peer's socket must not. */
static int
leave_an_orphan(rondo_service *service, peer *test)
{
    (void)service;
    const pid_t child = fork();
    if (child == 0) {
        (void)peer_hear(test);
        _exit(0);
    }
    peer_say(test, child > 0 ? 'k' : 'x');
    (void)raise(SIGKILL);
    return 1;
}

static void
the_name_dies_with_its_process(void **state)
{
    rondo_service *service = NULL;
    peer dead;
    bool answered = true;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    peer_start(leave_an_orphan, NULL, &dead);
    assert_int_equal(peer_hear(&dead), 'k');
    int how = 0;
    assert_int_equal(waitpid(dead.pid, &how, 0), dead.pid);
    const uint64_t start = rondo_now_ns();
    rondo_service_ask(service, &dead.address, 1, 5 * RONDO_NS_PER_S, &answered);
    assert_false(answered);
    /* Refused, not left waiting. */
    assert_true(rondo_now_ns() - start < RONDO_NS_PER_S);
    (void)close(dead.to);
    (void)close(dead.from);
    rondo_service_release(service);
}

static void
derived_secrets(void **state)
{
    rondo_key keys[2] = {{{1}}, {{2}}};
    const char *const labels[] = {"", "a", "b", "ab"};
    rondo_name names[2 * 4 * 3];
    uint32_t used = 0;

    (void)state;
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < 4; i++) {
            for (uint64_t number = 0; number < 3; number++) {
                const rondo_name name = rondo_name_derive(&keys[k], labels[i], number);
                const rondo_name again = rondo_name_derive(&keys[k], labels[i], number);
                const rondo_key part = rondo_key_derive(&keys[k], labels[i], number);
                assert_memory_equal(&name, &again, sizeof name);
                assert_memory_not_equal(&name, &part, sizeof name);
                for (uint32_t at = 0; at < used; at++) {
                    assert_memory_not_equal(&names[at], &name, sizeof name);
                }
                names[used++] = name;
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_leave_nothing),
        cmocka_unit_test(one_service_however_often),
        cmocka_unit_test(names_are_not_repeated),
        cmocka_unit_test(from_many_threads),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(descriptors_may_run_out),
        cmocka_unit_test(signals_are_not_for_the_service),
        cmocka_unit_test(a_child_does_not_inherit),
        cmocka_unit_test(the_name_dies_with_its_process),
        cmocka_unit_test(derived_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
