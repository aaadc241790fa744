/* abort.c - rondo_comm_abort from another thread: all ranks are told at once who did
 * it, wherever they are.
 * ctest: hosts */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/blame.h"

#define BOUND_MS 1000
#define RANKS    3
#define READY    0
#define DONE     1

/* What the aborting thread is given. */
typedef struct order {
    rondo_comm *comm;
    uint64_t after_ms;
    _Atomic uint64_t *moment_ms;
    rondo_status status;
} order;

typedef struct plan {
    call_kind kind;
    uint64_t count;
    uint32_t culprit;
    bool mapped; /* buffers that peers have mapped */
    bool waits;  /* all but the culprit call and wait for it; otherwise all loop */
    _Atomic uint64_t moment_ms;
} plan;

static plan *now;

static void *
aborting(void *argument)
{
    order *const given = argument;

    rank_pause(given->after_ms);
    atomic_store(given->moment_ms, test_now_ms());
    given->status = rondo_comm_abort(given->comm);
    if (given->status == RONDO_OK) {
        given->status = rondo_comm_abort(given->comm);
    }
    return NULL;
}

static void
run_and_abort(rank_self *self)
{
    const leftover before = leftover_take();
    const bool culprit = self->rank == now->culprit;
    pthread_t thread;
    rondo_comm *comm = NULL;
    call made;

    if (!blame_buffers(self, now->kind, now->count, &made) ||
        !rank_join(self, 20000, &comm)) {
        return;
    }
    if (now->mapped && !blame_mapped(self, comm, &made)) {
        return;
    }
    order given = {comm, 50, &now->moment_ms, RONDO_OK};
    rank_expect_status(self, blame_loop(self, comm, &made, 3), RONDO_OK, comm,
                       "before");
    if (!rank_meet(self, READY, 10000)) {
        return;
    }
    if (culprit && pthread_create(&thread, NULL, aborting, &given) != 0) {
        rank_expect(self, false, "no thread");
        return;
    }
    if (culprit && now->waits) {
        rank_pause(200);
    }
    const rondo_status status = blame_loop(self, comm, &made, UINT64_MAX);
    const uint64_t took_ms = test_now_ms() - atomic_load(&now->moment_ms);
    if (culprit) {
        (void)pthread_join(thread, NULL);
        rank_expect_status(self, given.status, RONDO_OK, NULL, "rondo_comm_abort");
    }
    rank_expect_status(self, status, RONDO_ERR_ABORTED, comm, call_text(now->kind));
    rank_expect(self, took_ms < BOUND_MS, "noticed after %d ms", (int)took_ms);
    blame_only(self, rondo_comm_error_text(comm), now->culprit);
    blame_leave(self, comm, &made, &before);
}

static void
each_call(bool waits, uint64_t count)
{
    for (call_kind kind = 0; kind < CALLS; kind++) {
        for (int as = 0; as < 2; as++) {
            now->kind = kind;
            now->count = count;
            now->culprit = (uint32_t)kind % RANKS;
            now->waits = waits;
            atomic_store(&now->moment_ms, 0);
            run_ranks(RANKS, as == 0 ? AS_PROCESSES : AS_THREADS, run_and_abort, NULL,
                      20000);
        }
    }
}

static void
inside_calls(void **state)
{
    (void)state;
    each_call(false, 100);
    each_call(false, 1 << 20);
    now->mapped = true;
    each_call(false, 1 << 20);
    now->mapped = false;
}

static void
while_others_wait(void **state)
{
    (void)state;
    each_call(true, 100);
}

/* --- memory of a rank that has left ----------------------------------------------- */

/* Rank 1 aborts, destroys and frees its registered block while rank 0, a thread of the
 * same process, may still be reading it: it stays mapped until rank 0 has destroyed its
 * communicator, too. */
static void
free_under_a_peer(rank_self *self)
{
    static float *_Atomic theirs;
    rondo_comm *comm = NULL;
    void *block = NULL;

    if (self->id == NULL) {
        return; /* threads of several hosts see no memory of each other */
    }
    if (!rank_join(self, 20000, &comm) ||
        !rank_expect_status(self, rondo_mem_alloc(1 << 20, &block), RONDO_OK, NULL,
                            "rondo_mem_alloc") ||
        !rank_expect_status(self, rondo_mem_register(comm, block), RONDO_OK, comm,
                            "rondo_mem_register")) {
        return;
    }
    if (self->rank == 1) {
        ((float *)block)[1000] = 11.0F;
        atomic_store(&theirs, block);
        rank_expect_status(self, rondo_comm_abort(comm), RONDO_OK, comm, "abort");
        rondo_comm_destroy(comm);
        rondo_mem_free(block);
        rank_mark(self, READY);
        (void)rank_reached(self, 0, DONE, 10000);
        return;
    }
    (void)rank_reached(self, 1, READY, 10000);
    rank_expect(self, atomic_load(&theirs)[1000] == 11.0F, "the block has changed");
    rondo_comm_destroy(comm);
    rondo_mem_free(block);
    const uint32_t maps = leftover_take().shared_maps;
    rank_expect(self, maps == 0, "%u mappings are left", maps);
    rank_mark(self, DONE);
}

static void
freed_under_a_peer(void **state)
{
    (void)state;
    run_ranks(2, AS_THREADS, free_under_a_peer, NULL, 20000);
}

/* --- during creation -------------------------------------------------------------- */

static void
abort_creation(rank_self *self)
{
    rondo_comm_config config = rank_config(self);
    rondo_comm *comm = NULL;

    /* The last rank never comes: only abort can end this. */
    if (self->rank == self->nranks - 1) {
        (void)rank_reached(self, 0, DONE, 10000);
        return;
    }
    config.start_timeout_ms = 8000;
    rondo_status status = rondo_comm_create_start(&config, &comm);
    if (!rank_expect_status(self, status, RONDO_OK, NULL, "rondo_comm_create_start")) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    /* Only a rank that has come can leave: it takes some tests to get there. */
    bool aborted = false;
    do {
        status = rondo_comm_create_test(comm);
        rank_pause(1);
        if (self->rank == 0 && !aborted && test_now_ms() > begin_ms + 100) {
            aborted = true;
            rank_expect_status(self, rondo_comm_abort(comm), RONDO_OK, NULL, "abort");
        }
    } while (status == RONDO_BUSY);
    rank_expect(self, status != RONDO_OK, "creation succeeded");
    rank_expect(self, test_now_ms() - begin_ms < 2500, "creation ended after %d ms: %s",
                (int)(test_now_ms() - begin_ms), rondo_comm_error_text(comm));
    rondo_comm_destroy(comm);
    rank_mark(self, DONE);
}

static void
in_creation(void **state)
{
    (void)state;
    run_ranks(3, AS_PROCESSES, abort_creation, NULL, 20000);
    run_ranks(3, AS_THREADS, abort_creation, NULL, 20000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_calls),
        cmocka_unit_test(while_others_wait),
        cmocka_unit_test(freed_under_a_peer),
        cmocka_unit_test(in_creation),
    };

    now = test_shared(sizeof *now);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
