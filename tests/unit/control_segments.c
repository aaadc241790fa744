/* control_segments.c - shared memory by name: between processes, within one, and wrong.
 * ctest: label=notsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/shared.h"
#include "control/service.h"
#include "lib/peers.h"

static const rondo_key key = {{3, 1, 4}};

static rondo_segment_spec
spec_of(uint64_t number, size_t bytes)
{
    return (rondo_segment_spec){
        .name = rondo_name_derive(&key, "test", number), .key = key, .bytes = bytes};
}

static rondo_status
take_soon(rondo_service *service, const rondo_segment_spec *spec, void **memory)
{
    const uint64_t deadline_ns = rondo_deadline_ns(40000);
    rondo_status status = rondo_segment_take(service, spec, memory);

    while (status == RONDO_BUSY && rondo_now_ns() < deadline_ns) {
        rondo_segment_wait(service, RONDO_NS_PER_S);
        status = rondo_segment_take(service, spec, memory);
    }
    return status;
}

#define PEERS 6

/* Takes segment 0, adds its own pid at its place, gives it back. */
static int
take_and_sign(rondo_service *service, peer *test)
{
    const rondo_segment_spec spec = spec_of(0, 100000);
    const uint32_t index = *(const uint32_t *)test->user;
    void *memory = NULL;

    /* The segment may be just coming in: its descriptor is open for that moment. */
    const uint32_t descriptors = descriptors_open();
    if (take_soon(service, &spec, &memory) != RONDO_OK) {
        return 1;
    }
    volatile uint32_t *const words = memory;
    for (uint32_t i = 0; i < 30000 && words[0] != 4711; i++) {
        (void)usleep(1000);
    }
    if (words[0] != 4711 || words[24999] != 1147) {
        return 2;
    }
    words[1 + index] = (uint32_t)getpid();
    rondo_segment_release(service, &spec.name);
    if (shared_maps() != 0 || descriptors_open() > descriptors) {
        return 3;
    }
    peer_say(test, 'd');
    return 0;
}

static void
processes_share(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= PEERS; n++) {
        peer peers[PEERS];
        rondo_address addresses[2 * PEERS + 1];
        rondo_service *service = NULL;
        const rondo_segment_spec spec = spec_of(0, 100000);
        void *memory = NULL;
        for (uint32_t i = 0; i < n; i++) {
            peer_start(take_and_sign, &i, &peers[i]);
            addresses[i] = peers[i].address;
            addresses[n + i] = peers[i].address; /* repeated */
        }
        assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
        rondo_service_address(service, &addresses[2 * n]); /* our own */
        const uint32_t descriptors = descriptors_open();
        const uint32_t maps = shared_maps();
        assert_int_equal(
            rondo_segment_publish(service, &spec, addresses, 2 * n + 1, &memory),
            RONDO_OK);
        assert_int_equal(descriptors_open(), descriptors);
        assert_int_equal(shared_maps(), maps + 1);
        volatile uint32_t *const words = memory;
        assert_int_equal(words[0], 0);
        words[24999] = 1147;
        words[0] = 4711;
        for (uint32_t i = 0; i < n; i++) {
            const char word = peer_hear(&peers[i]);
            assert_int_equal(peer_join(&peers[i]), 0);
            assert_int_equal(word, 'd');
            assert_int_equal(words[1 + i], peers[i].pid);
        }
        rondo_segment_release(service, &spec.name);
        assert_int_equal(shared_maps(), maps);
        rondo_service_release(service);
    }
}

static void
counted_within_a_process(void **state)
{
    rondo_service *service = NULL;
    void *first = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint32_t users = 1; users <= 17; users++) {
        const rondo_segment_spec spec = spec_of(users, users * 1000);
        const uint32_t maps = shared_maps();
        assert_int_equal(rondo_segment_take(service, &spec, &first), RONDO_BUSY);
        assert_int_equal(rondo_segment_publish(service, &spec, NULL, 0, &first),
                         RONDO_OK);
        for (uint32_t i = 1; i < users; i++) {
            void *memory = NULL;
            assert_int_equal(rondo_segment_take(service, &spec, &memory), RONDO_OK);
            assert_ptr_equal(memory, first);
        }
        for (uint32_t i = 0; i < users; i++) {
            assert_int_equal(shared_maps(), maps + 1);
            rondo_segment_release(service, &spec.name);
        }
        assert_int_equal(shared_maps(), maps);
        assert_int_equal(rondo_segment_take(service, &spec, &first), RONDO_BUSY);
        rondo_segment_release(service, &spec.name); /* unknown: nothing happens */
    }
    rondo_service_release(service);
}

static void
refused_within_a_process(void **state)
{
    rondo_service *service = NULL;
    const rondo_segment_spec spec = spec_of(1, 4096);
    rondo_segment_spec wrong = spec;
    void *memory = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    assert_int_equal(rondo_segment_publish(service, &spec, NULL, 0, &memory), RONDO_OK);
    assert_int_equal(rondo_segment_publish(service, &spec, NULL, 0, &memory),
                     RONDO_ERR_STATE);
    wrong.bytes = 4097;
    assert_int_equal(rondo_segment_take(service, &wrong, &memory), RONDO_ERR_WIRE);
    wrong = spec;
    wrong.key.bytes[31] ^= 1;
    assert_int_equal(rondo_segment_take(service, &wrong, &memory), RONDO_ERR_WIRE);
    rondo_segment_release(service, &spec.name);
    wrong.bytes = SIZE_MAX / 4;
    assert_int_equal(rondo_segment_publish(service, &wrong, NULL, 0, &memory),
                     RONDO_ERR_MEMORY);
    rondo_service_release(service);
}

/* Publishes what the test asks for, one letter each. */
static int
publish_wrongly(rondo_service *service, peer *test)
{
    const rondo_address *const to = test->user;
    rondo_segment_spec spec = spec_of(100, 8192);
    void *memory = NULL;

    for (char word = peer_hear(test); word != 0; word = peer_hear(test)) {
        rondo_segment_spec sent = spec;
        sent.bytes = word == 's' ? 4096 : sent.bytes;
        sent.key.bytes[0] ^= word == 'k' ? 1 : 0;
        if (rondo_segment_publish(service, &sent, to, 1, &memory) != RONDO_OK) {
            return 1;
        }
        rondo_segment_release(service, &sent.name);
        peer_say(test, 'd');
    }
    return 0;
}

static void
signed_and_large_enough(void **state)
{
    rondo_service *service = NULL;
    rondo_address own;
    peer publisher;
    const rondo_segment_spec spec = spec_of(100, 8192);
    void *memory = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    rondo_service_address(service, &own);
    peer_start(publish_wrongly, &own, &publisher);
    const uint32_t maps = shared_maps();
    /* One letter each: small, wrong key, good; the last one counts if it is good. */
    const char *const orders[] = {"s", "k", "g", "kg", "gk", "kk", "gg", "kgk"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        for (const char *order = orders[i]; *order != '\0'; order++) {
            peer_say(&publisher, *order);
            assert_int_equal(peer_hear(&publisher), 'd');
        }
        /* Answered means that everything before it was read. */
        bool answered = false;
        rondo_service_ask(service, &own, 1, 30 * RONDO_NS_PER_S, &answered);
        for (uint32_t k = 0; k < 30000 && shared_maps() < maps + strlen(orders[i]);
             k++) {
            (void)usleep(1000);
        }
        const rondo_status status = rondo_segment_take(service, &spec, &memory);
        assert_int_equal(status,
                         strchr(orders[i], 'g') != NULL ? RONDO_OK : RONDO_ERR_WIRE);
        assert_true(status == RONDO_OK || strlen(rondo_error_text()) > 0);
        if (status == RONDO_OK) {
            rondo_segment_release(service, &spec.name);
        }
        assert_int_equal(shared_maps(), maps);
    }
    assert_int_equal(peer_join(&publisher), 0);
    rondo_service_release(service);
}

static int
take_shared_block(rondo_service *service, peer *test)
{
    const rondo_segment_spec spec = spec_of(7, 12288);
    void *memory = NULL;

    if (take_soon(service, &spec, &memory) != RONDO_OK) {
        return 1;
    }
    ((char *)memory)[12287] = 'x';
    peer_say(test, 'd');
    rondo_segment_release(service, &spec.name);
    return 0;
}

static void
blocks_of_others_stay_theirs(void **state)
{
    rondo_service *service = NULL;
    peer taker;
    rondo_shared block;
    const rondo_segment_spec spec = spec_of(7, 12288);
    void *memory = NULL;

    (void)state;
    peer_start(take_shared_block, NULL, &taker);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    assert_int_equal(rondo_shared_create(12288, RONDO_SHARED_RESERVED, &block),
                     RONDO_OK);
    assert_int_equal(
        rondo_segment_share(service, &spec, block.fd, block.memory, &taker.address, 1),
        RONDO_OK);
    assert_int_equal(rondo_segment_take(service, &spec, &memory), RONDO_OK);
    assert_ptr_equal(memory, block.memory);
    assert_int_equal(peer_hear(&taker), 'd');
    assert_int_equal(peer_join(&taker), 0);
    rondo_segment_release(service, &spec.name);
    rondo_segment_release(service, &spec.name);
    /* Still mapped: it was only lent. */
    assert_int_equal(((char *)block.memory)[12287], 'x');
    rondo_shared_unmap(&block);
    rondo_service_release(service);
}

static void
nobody_there(void **state)
{
    rondo_service *service = NULL;
    peer dead;
    const rondo_segment_spec spec = spec_of(8, 4096);
    void *memory = NULL;
    char pid[32];

    (void)state;
    peer_start(peer_idle, NULL, &dead);
    peer_end(&dead);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const uint32_t maps = shared_maps();
    const uint32_t descriptors = descriptors_open();
    for (uint32_t i = 0; i < 50; i++) {
        const uint64_t start = rondo_now_ns();
        assert_int_equal(
            rondo_segment_publish(service, &spec, &dead.address, 1, &memory),
            RONDO_ERR_PEER);
        assert_true(rondo_now_ns() - start < RONDO_NS_PER_S);
        (void)snprintf(pid, sizeof pid, "%d", (int)dead.pid);
        assert_non_null(strstr(rondo_error_text(), pid));
    }
    assert_int_equal(shared_maps(), maps);
    assert_int_equal(descriptors_open(), descriptors);
    rondo_service_release(service);
}

/* A stopped process takes as much as its queue holds, then costs a bounded wait. */
static void
stopped_peer(void **state)
{
    rondo_service *service = NULL;
    peer stopped;
    void *memory = NULL;
    rondo_status status = RONDO_OK;

    (void)state;
    peer_start(peer_idle, NULL, &stopped);
    peer_signal(&stopped, SIGSTOP);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const uint32_t descriptors = descriptors_open();
    for (uint64_t number = 0; status == RONDO_OK && number < 5000; number++) {
        const rondo_segment_spec spec = spec_of(1000 + number, 4096);
        const uint64_t start = rondo_now_ns();
        status = rondo_segment_publish(service, &spec, &stopped.address, 1, &memory);
        assert_true(rondo_now_ns() - start < 8 * RONDO_NS_PER_S);
        if (status == RONDO_OK) {
            rondo_segment_release(service, &spec.name);
        }
    }
    assert_int_equal(status, RONDO_ERR_PEER);
    assert_non_null(strstr(rondo_error_text(), "stopped"));
    assert_int_equal(descriptors_open(), descriptors);
    peer_signal(&stopped, SIGCONT);
    const rondo_segment_spec spec = spec_of(9, 4096);
    assert_int_equal(
        rondo_segment_publish(service, &spec, &stopped.address, 1, &memory), RONDO_OK);
    rondo_segment_release(service, &spec.name);
    assert_int_equal(peer_join(&stopped), 0);
    rondo_service_release(service);
}

/* Far more than a queue holds, to a peer that is awake: every one arrives. */
static int
take_many(rondo_service *service, peer *test)
{
    (void)test;
    const uint32_t descriptors = descriptors_open();
    for (uint64_t number = 0; number < 300; number++) {
        const rondo_segment_spec spec = spec_of(2000 + number, 4096);
        void *memory = NULL;
        if (take_soon(service, &spec, &memory) != RONDO_OK ||
            descriptors_open() > descriptors + 1) {
            return 1;
        }
        rondo_segment_release(service, &spec.name);
    }
    return shared_maps() == 0 ? 0 : 2;
}

static void
many_in_a_row(void **state)
{
    rondo_service *service = NULL;
    peer taker;
    void *memory = NULL;

    (void)state;
    peer_start(take_many, NULL, &taker);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint64_t number = 0; number < 300; number++) {
        const rondo_segment_spec spec = spec_of(2000 + number, 4096);
        assert_int_equal(
            rondo_segment_publish(service, &spec, &taker.address, 1, &memory),
            RONDO_OK);
        rondo_segment_release(service, &spec.name);
    }
    assert_int_equal(peer_join(&taker), 0);
    rondo_service_release(service);
}

/* More than the process keeps: the oldest are given up, none of the rest. */
static int
keep_unasked(rondo_service *service, peer *test)
{
    void *memory = NULL;

    if (peer_hear(test) != 'a') {
        return 1;
    }
    const rondo_segment_spec last = spec_of(9999, 4096);
    if (take_soon(service, &last, &memory) != RONDO_OK) {
        return 2;
    }
    return shared_maps() <= 4096 + 1 && shared_maps() >= 4000 ? 0 : 3;
}

static void
nobody_asks(void **state)
{
    rondo_service *service = NULL;
    peer keeper;
    void *memory = NULL;

    (void)state;
    peer_start(keep_unasked, NULL, &keeper);
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint64_t number = 0; number < 5000; number++) {
        const rondo_segment_spec spec = spec_of(5000 + number, 4096);
        assert_int_equal(
            rondo_segment_publish(service, &spec, &keeper.address, 1, &memory),
            RONDO_OK);
        rondo_segment_release(service, &spec.name);
    }
    peer_say(&keeper, 'a');
    assert_int_equal(peer_join(&keeper), 0);
    rondo_service_release(service);
}

/* Every descriptor is in use when the segment comes. */
static int
take_without_descriptors(rondo_service *service, peer *test)
{
    const rondo_segment_spec spec = spec_of(11, 4096);
    void *memory = NULL;
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};

    if (setrlimit(RLIMIT_NOFILE, &none) != 0) {
        return 1;
    }
    peer_say(test, 'r');
    const rondo_status status = take_soon(service, &spec, &memory);
    return status == RONDO_ERR_SYSTEM && strstr(rondo_error_text(), "open files") ? 0
                                                                                  : 2;
}

static void
no_descriptor_left(void **state)
{
    rondo_service *service = NULL;
    peer taker;
    const rondo_segment_spec spec = spec_of(11, 4096);
    void *memory = NULL;

    (void)state;
    peer_start(take_without_descriptors, NULL, &taker);
    assert_int_equal(peer_hear(&taker), 'r');
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    assert_int_equal(rondo_segment_publish(service, &spec, &taker.address, 1, &memory),
                     RONDO_OK);
    assert_int_equal(peer_join(&taker), 0);
    rondo_segment_release(service, &spec.name);
    rondo_service_release(service);
}

static void
every_allocation_may_fail(void **state)
{
    rondo_service *service = NULL;
    uint64_t failures = 0;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    const uint32_t maps = shared_maps();
    for (uint64_t nth = 1;; nth++) {
        const rondo_segment_spec spec = spec_of(30000 + nth, 4096);
        void *memory = NULL;
        (void)rondo_alloc_fail_after(nth);
        const rondo_status status =
            rondo_segment_publish(service, &spec, NULL, 0, &memory);
        const bool hit = rondo_alloc_fail_after(0);
        assert_int_equal(status, hit ? RONDO_ERR_MEMORY : RONDO_OK);
        rondo_segment_release(service, &spec.name);
        assert_int_equal(shared_maps(), maps);
        if (!hit) {
            break;
        }
        failures++;
    }
    assert_true(failures > 0);
    rondo_service_release(service);
}

static void
not_inherited(void **state)
{
    rondo_service *service = NULL;
    const rondo_segment_spec spec = spec_of(40, 4096);
    void *memory = NULL;
    int how = 0;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    assert_int_equal(rondo_segment_publish(service, &spec, NULL, 0, &memory), RONDO_OK);
    const pid_t child = fork();
    if (child == 0) {
        /* Something else may lie there by now: it must survive the release. */
        void *const other =
            mmap(memory, 4096, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (shared_maps() != 0 || other != memory) {
            _exit(1);
        }
        rondo_segment_release(service, &spec.name);
        rondo_service_release(service);
        *(volatile char *)other = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    rondo_segment_release(service, &spec.name);
    rondo_service_release(service);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share),
        cmocka_unit_test(counted_within_a_process),
        cmocka_unit_test(refused_within_a_process),
        cmocka_unit_test(signed_and_large_enough),
        cmocka_unit_test(blocks_of_others_stay_theirs),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(stopped_peer),
        cmocka_unit_test(many_in_a_row),
        cmocka_unit_test(nobody_asks),
        cmocka_unit_test(no_descriptor_left),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(not_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
