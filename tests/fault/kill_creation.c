/* kill_creation.c - SIGKILL before, inside and after making a communicator, inside a
 * split, and inside destroy: the others are told in time and hold nothing afterwards.
 * ctest: timeout=240 label=slow */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/blame.h"

#define RANKS            4
#define START_TIMEOUT_MS 1500
#define BOUND_MS         2000
#define THERE            0
#define STRUCK           1

/* Where the victim is when it is killed. */
typedef enum place {
    BEFORE_CREATE, /* it never comes */
    IN_CREATE,     /* it has come and waits for a rank that is late */
    AFTER_CREATE,
    IN_SPLIT,          /* it has called and waits for a rank that is late */
    IN_REGISTER,       /* all register and deregister again and again */
    IN_SPLIT_SPINNING, /* all split again and again */
    IN_CREATE_SPINNING /* all make and destroy communicators again and again */
} place;

typedef struct strike {
    place place;
    uint32_t victim;
    uint64_t after_ms;
    _Atomic uint64_t struck_ms;
} strike;

static strike *blow;

/* The one that is late: any but the victim. */
static uint32_t
late_rank(void)
{
    return blow->victim == RANKS - 1 ? 1 : RANKS - 1;
}

static void
await_strike(rank_self *self)
{
    while (atomic_load(&blow->struck_ms) == 0) {
        rank_pause(1);
    }
    rank_pause(self->rank == late_rank() ? 300 : 0);
}

static rondo_status
create(rank_self *self, rondo_comm **comm)
{
    rondo_comm_config config = rank_config(self);

    config.start_timeout_ms = START_TIMEOUT_MS;
    config.op_timeout_ms = 10000;
    rank_note(self, "creating");
    return rondo_comm_create(&config, comm);
}

/* The error of a creation: the victim is named, in time. */
static void
creation_failed(rank_self *self, rondo_status status, uint64_t begin_ms)
{
    const char *const text = rondo_error_text();
    char number[8];
    const uint64_t took_ms = test_now_ms() - begin_ms;

    rank_expect(self, status == RONDO_ERR_START || status == RONDO_ERR_PEER,
                "creation gave %s: %s", rondo_status_name(status), text);
    /* Who comes late meets nobody any more: all the others have been told and left. */
    const bool nobody = self->rank == late_rank() && strstr(text, "nobody") != NULL;
    (void)snprintf(number, sizeof number, "%u", nobody ? 0 : blow->victim);
    rank_expect(self, strstr(text, "rank") != NULL && strstr(text, number) != NULL,
                "rank %u is not named in \"%s\"", blow->victim, text);
    rank_expect(self, took_ms < START_TIMEOUT_MS + BOUND_MS, "noticed after %d ms",
                (int)took_ms);
}

static void
nothing_left(rank_self *self, const leftover *before)
{
    char text[RANK_TEXT_MAX];

    rank_expect(self, leftover_same(before, text, sizeof text), "left behind: %.500s",
                text);
}

static void
creating(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;

    if (self->rank == blow->victim && blow->place == BEFORE_CREATE) {
        rank_mark(self, THERE);
        rank_pause(20000);
    }
    if (self->rank == late_rank()) {
        await_strike(self);
    }
    rank_mark(self, THERE);
    const uint64_t begin_ms = test_now_ms();
    const rondo_status status = create(self, &comm);
    creation_failed(self, status, begin_ms);
    rank_expect(self, comm == NULL, "a communicator was set");
    nothing_left(self, &before);
}

/* Whether `status` is the error of a communicator whose rank died. */
static void
victim_noticed(rank_self *self, rondo_comm *comm, rondo_status status,
               const leftover *before)
{
    const uint64_t since_ms = test_now_ms() - atomic_load(&blow->struck_ms);

    rank_expect_status(self, status, RONDO_ERR_PEER, comm, "after the strike");
    blame_only(self, rondo_comm_error_text(comm), blow->victim);
    rank_expect(self, since_ms < BOUND_MS, "noticed after %d ms", (int)since_ms);
    blame_leave(self, comm, NULL, before);
}

static void
after_creation(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;

    if (!rank_join(self, 10000, &comm)) {
        return;
    }
    rank_mark(self, THERE);
    if (self->rank == blow->victim) {
        rank_pause(20000);
    }
    victim_noticed(self, comm, rondo_barrier(comm), &before);
}

static void
splitting(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_comm *part = NULL;
    rondo_status status = RONDO_OK;

    if (!rank_join(self, 10000, &comm)) {
        return;
    }
    rank_mark(self, THERE);
    if (blow->place == IN_SPLIT && self->rank == late_rank()) {
        await_strike(self);
    }
    while (status == RONDO_OK) {
        rank_note(self, "splitting");
        status = rondo_comm_split(comm, (int32_t)self->rank % 2, 0, &part);
        if (status == RONDO_OK) {
            rondo_comm_destroy(part);
        }
    }
    victim_noticed(self, comm, status, &before);
}

static void
registering(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    void *block = NULL;
    rondo_status status = RONDO_OK;

    if (!rank_join(self, 10000, &comm)) {
        return;
    }
    rank_mark(self, THERE);
    while (status == RONDO_OK) {
        rank_note(self, "registering");
        rondo_mem_free(block);
        block = NULL;
        if (!rank_expect_status(self, rondo_mem_alloc(100000, &block), RONDO_OK, NULL,
                                "rondo_mem_alloc")) {
            return;
        }
        status = rondo_mem_register(comm, block);
        if (status == RONDO_OK) {
            status = rondo_mem_deregister(comm, block);
        }
    }
    rondo_mem_free(block);
    victim_noticed(self, comm, status, &before);
}

/* By way of the environment the same meeting can be held again and again. */
static void
creating_again(rank_self *self)
{
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_status status = RONDO_OK;
    uint64_t begin_ms = 0;

    while (status == RONDO_OK) {
        comm = NULL;
        begin_ms = test_now_ms();
        status = create(self, &comm);
        if (status != RONDO_OK) {
            break;
        }
        rank_mark(self, THERE);
        /* Nobody may leave before all have come, or the others would blame it. */
        status = rondo_barrier(comm);
        if (status == RONDO_OK) {
            rondo_comm_destroy(comm);
        }
    }
    if (comm != NULL) {
        rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_BROKEN,
                    "barrier gave %s", rondo_status_name(status));
        rondo_comm_destroy(comm);
    } else {
        const uint64_t took_ms = test_now_ms() - begin_ms;
        rank_expect(self, took_ms < START_TIMEOUT_MS + BOUND_MS, "noticed after %d ms",
                    (int)took_ms);
    }
    nothing_left(self, &before);
}

static void
director(const rank_stage *stage, void *user)
{
    (void)user;
    const bool creates = blow->place == IN_CREATE || blow->place == BEFORE_CREATE;

    for (uint32_t r = 0; r < stage->nranks; r++) {
        if (!creates || r != late_rank()) {
            (void)stage_reached(stage, r, THERE, 10000);
        }
    }
    rank_pause(blow->after_ms);
    atomic_store(&blow->struck_ms, test_now_ms());
    (void)kill(stage->pid[blow->victim], SIGKILL);
}

static void
strike_each(place where, rank_function function, uint64_t after_ms)
{
    static rank_report report;
    const rank_run run = {.nranks = RANKS,
                          .kind = AS_PROCESSES,
                          .function = function,
                          .deadline_ms = 15000,
                          .director = director};

    for (uint32_t victim = 0; victim < RANKS; victim++) {
        blow->place = where;
        blow->victim = victim;
        blow->after_ms = after_ms + 7 * victim;
        atomic_store(&blow->struck_ms, 0);
        ranks_run(&run, &report);
        ranks_expect(&report, RANK_RETURNED, victim);
    }
}

static void
before_create(void **state)
{
    (void)state;
    strike_each(BEFORE_CREATE, creating, 1);
}

static void
in_create(void **state)
{
    (void)state;
    strike_each(IN_CREATE, creating, 150);
}

static void
after_create(void **state)
{
    (void)state;
    strike_each(AFTER_CREATE, after_creation, 1);
}

static void
in_split(void **state)
{
    (void)state;
    strike_each(IN_SPLIT, splitting, 100);
    strike_each(IN_SPLIT_SPINNING, splitting, 20);
}

static void
in_register(void **state)
{
    (void)state;
    strike_each(IN_REGISTER, registering, 20);
    strike_each(IN_REGISTER, registering, 40);
}

static void
in_create_or_destroy(void **state)
{
    (void)state;
    strike_each(IN_CREATE_SPINNING, creating_again, 20);
    strike_each(IN_CREATE_SPINNING, creating_again, 33);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_create), cmocka_unit_test(in_create),
        cmocka_unit_test(after_create),  cmocka_unit_test(in_split),
        cmocka_unit_test(in_register),   cmocka_unit_test(in_create_or_destroy),
    };

    blow = test_shared(sizeof *blow);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
