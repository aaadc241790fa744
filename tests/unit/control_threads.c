/* control_threads.c - threads of one process at the service at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/service.h"

static const rondo_key key = {{3, 1, 4}};

static rondo_segment_spec
spec_of(uint64_t number, size_t bytes)
{
    return (rondo_segment_spec){
        .name = rondo_name_derive(&key, "test", number), .key = key, .bytes = bytes};
}

typedef struct waiter {
    rondo_service *service;
    _Atomic uint32_t taken;
} waiter;

#define HANDOVERS 300

static void *
take_in_order(void *user)
{
    waiter *const self = user;

    for (uint64_t number = 0; number < HANDOVERS; number++) {
        const rondo_segment_spec spec = spec_of(50000 + number, 64);
        void *memory = NULL;
        while (rondo_segment_take(self->service, &spec, &memory) == RONDO_BUSY) {
            rondo_segment_wait(self->service, 20 * RONDO_NS_PER_S);
        }
        self->taken++;
        rondo_segment_release(self->service, &spec.name);
    }
    return NULL;
}

/* With a wake-up lost, one wait would last 20 s. */
static void
waiting_wakes(void **state)
{
    waiter shared = {.taken = 0};
    pthread_t thread;

    (void)state;
    assert_int_equal(rondo_service_acquire(&shared.service), RONDO_OK);
    const uint64_t start = rondo_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, take_in_order, &shared), 0);
    for (uint64_t number = 0; number < HANDOVERS; number++) {
        const rondo_segment_spec spec = spec_of(50000 + number, 64);
        void *memory = NULL;
        assert_int_equal(rondo_segment_publish(shared.service, &spec, NULL, 0, &memory),
                         RONDO_OK);
        while (shared.taken <= number) {
            (void)usleep(10);
            assert_true(rondo_now_ns() - start < 15 * RONDO_NS_PER_S);
        }
        rondo_segment_release(shared.service, &spec.name);
    }
    (void)pthread_join(thread, NULL);
    const uint64_t now = rondo_now_ns();
    rondo_segment_wait(shared.service, 30 * RONDO_NS_PER_MS);
    rondo_segment_wait(shared.service, 30 * RONDO_NS_PER_MS);
    assert_true(rondo_now_ns() - now >= 30 * RONDO_NS_PER_MS);
    rondo_service_release(shared.service);
}

#define THREADS 4

typedef struct taker {
    rondo_service *service;
    uint64_t seed;
    _Atomic bool *failed;
} taker;

/* Every thread publishes or takes the same few names, and must find its own marks. */
static void *
take_and_release(void *user)
{
    taker *const self = user;

    for (uint64_t round = 0; round < 2000; round++) {
        self->seed = self->seed * 6364136223846793005U + 1442695040888963407U;
        const rondo_segment_spec spec = spec_of(self->seed >> 62, 64);
        void *memory = NULL;
        rondo_status status = rondo_segment_take(self->service, &spec, &memory);
        if (status == RONDO_BUSY) {
            status = rondo_segment_publish(self->service, &spec, NULL, 0, &memory);
        }
        if (status == RONDO_ERR_STATE) {
            continue; /* another one was faster */
        }
        if (status != RONDO_OK) {
            *self->failed = true;
            return NULL;
        }
        atomic_fetch_add((_Atomic uint32_t *)memory, 1);
        atomic_fetch_sub((_Atomic uint32_t *)memory, 1);
        rondo_segment_release(self->service, &spec.name);
    }
    return NULL;
}

static void
one_table_for_all_threads(void **state)
{
    pthread_t threads[THREADS];
    taker takers[THREADS];
    _Atomic bool failed = false;
    rondo_service *service = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint64_t i = 0; i < THREADS; i++) {
        takers[i] = (taker){.service = service, .seed = i, .failed = &failed};
        assert_int_equal(
            pthread_create(&threads[i], NULL, take_and_release, &takers[i]), 0);
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_false(failed);
    rondo_service_release(service);
}

typedef struct mourner {
    _Atomic uint32_t told;
    _Atomic bool gone; /* unwatched */
    _Atomic bool late;
} mourner;

static void
tell(const rondo_address *address, void *user)
{
    mourner *const self = user;

    (void)address;
    self->told++;
    (void)usleep(200);
    self->late = self->late || self->gone;
}

/* The process ends while it is unwatched: told or not, but never afterwards. */
static void
unwatched_while_it_dies(void **state)
{
    rondo_service *service = NULL;
    uint32_t told = 0;

    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        mourner mourners[3] = {{.told = 0}};
        rondo_watch *watches[3];
        const pid_t child = fork();
        if (child == 0) {
            (void)pause();
            _exit(0);
        }
        const rondo_address address = {.pid = (uint32_t)child};
        assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(
                rondo_service_watch(service, &address, tell, &mourners[i], &watches[i]),
                RONDO_OK);
        }
        (void)kill(child, SIGKILL);
        /* Sometimes long enough to be told by a timer, where there are no pidfds. */
        (void)usleep(round % 20 == 19 ? 400000 : round * 20);
        for (uint32_t i = 0; i < 3; i++) {
            rondo_service_unwatch(service, watches[i]);
            mourners[i].gone = true;
            told += mourners[i].told;
            assert_true(mourners[i].told <= 1);
        }
        rondo_service_release(service);
        assert_int_equal(waitpid(child, NULL, 0), child);
        for (uint32_t i = 0; i < 3; i++) {
            assert_false(mourners[i].late);
        }
    }
    assert_true(told > 0);
}

typedef struct asker {
    rondo_service *service;
    rondo_address own;
    _Atomic bool *failed;
} asker;

static void *
ask_often(void *user)
{
    asker *const self = user;

    for (uint32_t i = 0; i < 300; i++) {
        bool answered = false;
        rondo_service_ask(self->service, &self->own, 1, RONDO_NS_PER_S, &answered);
        if (!answered) {
            *self->failed = true;
        }
    }
    return NULL;
}

static void
asked_by_many_threads(void **state)
{
    pthread_t threads[THREADS];
    _Atomic bool failed = false;
    asker shared = {.failed = &failed};

    (void)state;
    assert_int_equal(rondo_service_acquire(&shared.service), RONDO_OK);
    rondo_service_address(shared.service, &shared.own);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &shared), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_false(failed);
    rondo_service_release(shared.service);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_wakes),
        cmocka_unit_test(one_table_for_all_threads),
        cmocka_unit_test(unwatched_while_it_dies),
        cmocka_unit_test(asked_by_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
