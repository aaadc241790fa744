/* control_links_many.c - many communicators at once in one process, which is several
 * hosts: nothing of one is taken for another's, and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "control/links.h"
#include "lib/peers.h"

#define RANKS 8
#define COMMS 5

static uint32_t alone; /* threads of this process without a service */

/* A communicator whose ranks are all in this process; `hosts` of them, with boards in
 * plain memory. */
typedef struct world {
    rondo_service *service;
    uint32_t nranks;
    uint32_t nhosts;
    uint32_t host_of[RANKS];
    rondo_address addresses[RANKS];
    rondo_endpoint at[RONDO_ENDPOINTS_MAX];
    char names[RANKS][64];
    void *memory[RANKS];
    rondo_board boards[RANKS];
    rondo_links *links[RANKS];
    rondo_name name;
    rondo_key key;
} world;

static void
make(rondo_service *service, uint32_t nranks, uint32_t nhosts, world *made)
{
    memset(made, 0, sizeof *made);
    made->service = service;
    made->nranks = nranks;
    made->nhosts = nhosts;
    made->at[0] =
        (rondo_endpoint){.family = 4, .address = {127, 0, 0, 1}, .interface = "loop"};
    made->at[1] =
        (rondo_endpoint){.family = 6, .address = {[15] = 1}, .interface = "loop"};
    assert_int_equal(rondo_links_port(service, made->at, 2), RONDO_OK);
    rondo_random(&made->name, sizeof made->name);
    rondo_random(&made->key, sizeof made->key);
    for (uint32_t host = 0; host < nhosts; host++) {
        made->memory[host] = aligned_alloc(4096, rondo_board_bytes(nranks));
        assert_non_null(made->memory[host]);
        memset(made->memory[host], 0, rondo_board_bytes(nranks));
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        made->host_of[rank] = rank % nhosts;
        rondo_service_address(service, &made->addresses[rank]);
        (void)snprintf(made->names[rank], 64, "node%u", rank % nhosts);
        rondo_board_open(made->memory[rank % nhosts], nranks, rank,
                         &made->boards[rank]);
    }
}

static rondo_status
open_rank(world *opened, uint32_t rank, uint64_t deadline_ns)
{
    const rondo_links_setup setup = {.name = opened->name,
                                     .key = opened->key,
                                     .board = &opened->boards[rank],
                                     .rank = rank,
                                     .nranks = opened->nranks,
                                     .host_of = opened->host_of,
                                     .addresses = opened->addresses,
                                     .hub = opened->at,
                                     .mine = opened->at,
                                     .host_names = (const char(*)[64])opened->names,
                                     .deadline_ns = deadline_ns,
                                     .silence_ms = 6000};

    return rondo_links_open(opened->service, &setup, &opened->links[rank]);
}

static void
open_all(world *opened)
{
    for (uint32_t rank = opened->nranks; rank-- > 0;) {
        assert_int_equal(open_rank(opened, rank, rondo_deadline_ns(20000)), RONDO_OK);
    }
}

static void
wait_linked(world *opened)
{
    for (uint32_t rank = 0; rank < opened->nranks; rank++) {
        char interfaces[64] = "";
        rondo_status status = RONDO_BUSY;
        while (status == RONDO_BUSY) {
            status =
                rondo_links_poll(opened->links[rank], interfaces, sizeof interfaces);
            (void)usleep(100);
        }
        assert_int_equal(status, RONDO_OK);
        assert_string_equal(interfaces, opened->nhosts > 1 ? "loop" : "");
    }
}

static bool
all_are(const world *asked, rondo_presence presence)
{
    for (uint32_t i = 0; i < asked->nranks * asked->nranks; i++) {
        if (rondo_board_presence(&asked->boards[i / asked->nranks],
                                 i % asked->nranks) != presence) {
            return false;
        }
    }
    return true;
}

static void
join_all(world *joined)
{
    for (uint32_t rank = 0; rank < joined->nranks; rank++) {
        rondo_board_presence_set(&joined->boards[rank], RONDO_JOINED);
        rondo_links_news(joined->links[rank]);
    }
    for (uint32_t i = 0; i < 5000 && !all_are(joined, RONDO_JOINED); i++) {
        (void)usleep(1000);
    }
    assert_true(all_are(joined, RONDO_JOINED));
}

static void *
close_rank(void *links)
{
    rondo_links_close(links);
    return NULL;
}

/* All at once, as ranks do; the boards are freed at once. */
static void
close_all(world *closed)
{
    pthread_t threads[RANKS];
    const uint64_t start = rondo_now_ns();

    for (uint32_t rank = 0; rank < closed->nranks; rank++) {
        rondo_board_presence_set(&closed->boards[rank], RONDO_LEFT);
        assert_int_equal(
            pthread_create(&threads[rank], NULL, close_rank, closed->links[rank]), 0);
    }
    for (uint32_t rank = 0; rank < closed->nranks; rank++) {
        (void)pthread_join(threads[rank], NULL);
    }
    assert_in_range(rondo_now_ns() - start, 0, 2 * RONDO_NS_PER_S);
    for (uint32_t host = 0; host < closed->nhosts; host++) {
        rondo_board board;
        rondo_board_open(closed->memory[host], closed->nranks, 0, &board);
        assert_false(rondo_board_broken(&board));
        free(closed->memory[host]);
    }
}

static void
several_at_once(void **state)
{
    rondo_service *service = NULL;
    static world worlds[COMMS];

    (void)state;
    const uint32_t descriptors = descriptors_open();
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COMMS; i++) {
            make(service, RANKS - i, 1 + (i + round) % (RANKS - i), &worlds[i]);
            open_all(&worlds[i]);
        }
        for (uint32_t i = 0; i < COMMS; i++) {
            wait_linked(&worlds[i]);
            join_all(&worlds[i]);
        }
        /* One breaks, the others do not. */
        const rondo_breakage why = {.status = RONDO_ERR_ABORTED, .text = "that is it"};
        (void)rondo_board_break(&worlds[1].boards[1], &why);
        rondo_links_news(worlds[1].links[1]);
        for (uint32_t i = 0; i < 2000 && !rondo_board_broken(&worlds[1].boards[0]);
             i++) {
            (void)usleep(1000);
        }
        assert_true(rondo_board_broken(&worlds[1].boards[0]));
        for (uint32_t i = 0; i < COMMS; i++) {
            if (i != 1) {
                close_all(&worlds[i]);
            }
        }
        for (uint32_t rank = 0; rank < worlds[1].nranks; rank++) {
            rondo_links_close(worlds[1].links[rank]);
        }
        for (uint32_t host = 0; host < worlds[1].nhosts; host++) {
            free(worlds[1].memory[host]);
        }
    }
    rondo_service_release(service);
    assert_int_equal(descriptors_open(), descriptors);
    assert_int_equal(threads_alive(), alone);
}

/* Closed at every stage of opening. */
static void
closed_early(void **state)
{
    rondo_service *service = NULL;
    static world one;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint32_t us = 0; us < 20000; us = us * 3 / 2 + 50) {
        make(service, 4, 4, &one);
        open_all(&one);
        (void)usleep(us);
        for (uint32_t rank = 0; rank < 4; rank++) {
            const uint64_t start = rondo_now_ns();
            rondo_links_close(one.links[(rank + us) % 4]);
            assert_in_range(rondo_now_ns() - start, 0, RONDO_NS_PER_S);
        }
        for (uint32_t host = 0; host < 4; host++) {
            free(one.memory[host]);
        }
    }
    rondo_links_close(NULL);
    rondo_service_release(service);
    assert_int_equal(threads_alive(), alone);
}

static uint32_t
fail_opening(rondo_service *service, uint64_t nth)
{
    static world one;

    make(service, 2, 2, &one);
    (void)rondo_alloc_fail_after(nth);
    const rondo_status status = open_rank(&one, 1, rondo_deadline_ns(50));
    const bool hit = rondo_alloc_fail_after(0);
    if (status == RONDO_OK) {
        rondo_links_close(one.links[1]);
    }
    free(one.memory[0]);
    free(one.memory[1]);
    assert_true(hit || status == RONDO_OK);
    assert_true(status == RONDO_OK || status == RONDO_ERR_MEMORY);
    return hit;
}

/* The service thread allocates, too; where it cannot, the deadline says so. */
static void
memory_runs_out(void **state)
{
    rondo_service *service = NULL;

    (void)state;
    assert_int_equal(rondo_service_acquire(&service), RONDO_OK);
    for (uint64_t nth = 1; fail_opening(service, nth) != 0; nth++) {
        assert_true(nth < 100);
    }
    rondo_service_release(service);
    assert_int_equal(threads_alive(), alone);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(memory_runs_out),
    };

    rondo_service *service = NULL;
    if (rondo_service_acquire(&service) != RONDO_OK) {
        return 1;
    }
    rondo_service_release(service);
    alone = threads_alive();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
