/* sync_errors.c - what the synchroniser refuses, what it says, and what it does when
 * the ranks differ, one of them is slow, or one dies. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/blame.h"
#include "lib/ranks.h"

#define COUNT 100

static bool
alike(rank_self *self, rondo_comm *comm)
{
    const uint32_t mine = 1;
    uint32_t sum = 0;

    return rank_expect_status(
               self, rondo_all_reduce(comm, &mine, &sum, 1, RONDO_UINT32, RONDO_SUM),
               RONDO_OK, comm, "the communicator afterwards") &&
           rank_expect(self, sum == self->nranks, "the sum is %u", sum);
}

/* --- arguments and order of calls ------------------------------------------------- */

static void
bad_settings(rank_self *self, rondo_comm *comm)
{
    rondo_sync *sync = NULL;

    for (int which = 0; which < 5; which++) {
        rondo_sync_config config;
        rondo_sync_config_init(&config);
        config.size = which == 0 ? 3 : config.size;
        config.mode = which == 1 ? (rondo_sync_mode)7 : config.mode;
        config.canonical = which == 2 ? 2 : 0;
        config.first_bucket_bytes = which == 3 ? 0 : 64;
        config.bucket_bytes = which == 4 ? 0 : 64;
        rank_expect_status(self, rondo_sync_create(comm, &config, &sync), RONDO_ERR_ARG,
                           NULL, "a bad setting");
        rank_expect(self, sync == NULL, "setting %d: a synchroniser was set", which);
    }
    rank_expect_status(self, rondo_sync_create(NULL, NULL, &sync), RONDO_ERR_ARG, NULL,
                       "no communicator");
    rank_expect_status(self, rondo_sync_create(comm, NULL, NULL), RONDO_ERR_ARG, NULL,
                       "no place for the result");
}

static void
expect(rank_self *self, const rondo_sync *sync, rondo_status got, rondo_status want,
       const char *part)
{
    const char *const text = rondo_sync_error_text(sync);

    rank_expect(self, got == want, "\"%s\" wanted: got %s, want %s; text: %s", part,
                rondo_status_name(got), rondo_status_name(want), text);
    if (want != RONDO_OK) {
        rank_expect_text(self, text, part, "the text");
    }
}

static void
out_of_turn(rank_self *self)
{
    float grad[COUNT] = {0};
    rondo_sync_step_info wrong_size = {.size = 1};
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;
    uint32_t a = 99;
    uint32_t b = 99;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    bad_settings(self, comm);
    rank_expect_status(self, rondo_sync_create(comm, NULL, &sync), RONDO_OK, NULL,
                       "rondo_sync_create");
    expect(self, sync, rondo_sync_step_begin(sync), RONDO_ERR_STATE, "commit");
    expect(self, sync, rondo_sync_add(sync, NULL, grad, 1, &a), RONDO_ERR_ARG, "null");
    expect(self, sync, rondo_sync_add(sync, "a", NULL, 1, &a), RONDO_ERR_ARG, "null");
    expect(self, sync, rondo_sync_add(sync, "a", grad, 0, &a), RONDO_ERR_ARG, "\"a\"");
    rank_expect(self, a == 99, "param was set");
    expect(self, sync, rondo_sync_add(sync, "a", grad, 40, &a), RONDO_OK, "");
    expect(self, sync, rondo_sync_add(sync, "b", grad + 40, 60, &b), RONDO_OK, "");
    rank_expect(self, a == 0 && b == 1, "parameters are %u and %u", a, b);
    expect(self, sync, rondo_sync_commit(sync), RONDO_OK, "");
    expect(self, sync, rondo_sync_commit(sync), RONDO_ERR_STATE, "twice");
    expect(self, sync, rondo_sync_add(sync, "c", grad, 1, &a), RONDO_ERR_STATE,
           "after");
    expect(self, sync, rondo_sync_grad_ready(sync, a), RONDO_ERR_STATE, "outside");
    expect(self, sync, rondo_sync_step_wait(sync, NULL), RONDO_ERR_STATE, "outside");
    expect(self, sync, rondo_sync_progress(sync), RONDO_OK, "");
    expect(self, sync, rondo_sync_step_begin(sync), RONDO_OK, "");
    expect(self, sync, rondo_sync_step_begin(sync), RONDO_ERR_STATE, "waited for");
    expect(self, sync, rondo_sync_grad_ready(sync, 2), RONDO_ERR_ARG, "no parameter 2");
    expect(self, sync, rondo_sync_grad_ready(sync, b), RONDO_OK, "");
    expect(self, sync, rondo_sync_grad_ready(sync, b), RONDO_ERR_STATE, "\"b\"");
    expect(self, sync, rondo_sync_step_wait(sync, NULL), RONDO_ERR_STATE, "\"a\"");
    expect(self, sync, rondo_sync_grad_ready(sync, a), RONDO_OK, "");
    expect(self, sync, rondo_sync_step_wait(sync, &wrong_size), RONDO_ERR_ARG, "size");
    expect(self, sync, rondo_sync_step_wait(sync, NULL), RONDO_OK, "");
    (void)alike(self, comm);
    rondo_sync_destroy(sync);
    rondo_sync_destroy(NULL);
    rondo_comm_destroy(comm);
}

static void
arguments(void **state)
{
    (void)state;
    run_ranks(1, AS_PROCESSES, out_of_turn, NULL, 20000);
    run_ranks(2, AS_PROCESSES, out_of_turn, NULL, 20000);
    run_ranks(3, AS_THREADS, out_of_turn, NULL, 20000);
}

/* --- layouts that differ ---------------------------------------------------------- */

/* What rank `odd` does otherwise, and what everybody must read. */
typedef struct difference {
    const char *name[3]; /* of the odd rank; null: one parameter less */
    uint64_t count[3];
    uint64_t bucket_bytes;
    rondo_sync_mode mode;
    bool overlap;
    rondo_status want;
    const char *parts[4]; /* without the rank; null ends */
} difference;

#define LAYER_NAMES                     \
    {                                   \
        "layer 0", "layer 1", "layer 2" \
    }
#define LAYER_COUNTS \
    {                \
        10, 20, 30   \
    }

static const difference differences[] = {
    {{"layer 0", "layer 1", "layer 2"},
     {10, 21, 30},
     64,
     0,
     false,
     RONDO_ERR_MISMATCH,
     {"parameter 1", "20 elements", "21 elements", NULL}},
    {{"layer 0", "layer 1", "other"},
     {10, 20, 30},
     64,
     0,
     false,
     RONDO_ERR_MISMATCH,
     {"parameter 2", "\"layer 2\"", "\"other\"", NULL}},
    {{"layer 1", "layer 0", "layer 2"},
     {10, 20, 30},
     64,
     0,
     false,
     RONDO_ERR_MISMATCH,
     {"parameter 0", "\"layer 0\"", "\"layer 1\"", NULL}},
    {{"layer 0", "layer 1", NULL},
     {10, 20, 30},
     64,
     0,
     false,
     RONDO_ERR_MISMATCH,
     {"3", "2", "alike", NULL}},
    {{"layer 0", "layer 1", "layer 2"},
     {10, 20, 30},
     65,
     0,
     false,
     RONDO_ERR_MISMATCH,
     {"bucket_bytes", "64", "65", NULL}},
    {{"layer 0", "layer 1", "layer 2"},
     {10, 20, 30},
     64,
     RONDO_SYNC_NONE,
     false,
     RONDO_ERR_MISMATCH,
     {"mode", "0", "1", NULL}},
    {{"layer 0", "layer 1", "layer 2"},
     {10, 20, 30},
     64,
     0,
     true,
     RONDO_ERR_ARG,
     {NULL}},
};

typedef struct disagreement {
    const difference *about;
    uint32_t odd;
} disagreement;

static bool
add_all(rank_self *self, rondo_sync *sync, const difference *mine, float *grad)
{
    for (int i = 0; i < 3 && mine->name[i] != NULL; i++) {
        uint32_t param = 0;
        float *const at = grad + (mine->overlap ? 0 : 40 * i);
        if (!rank_expect_status(
                self, rondo_sync_add(sync, mine->name[i], at, mine->count[i], &param),
                RONDO_OK, NULL, "rondo_sync_add")) {
            return false;
        }
    }
    return true;
}

static void
commit_differently(rank_self *self)
{
    static const difference usual = {
        .name = LAYER_NAMES, .count = LAYER_COUNTS, .bucket_bytes = 64};
    const disagreement *const over = self->user;
    const bool odd = self->rank == over->odd;
    const difference *const mine = odd ? over->about : &usual;
    float grad[200] = {0};
    rondo_sync_config config;
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;
    char rank[16];

    rondo_sync_config_init(&config);
    config.bucket_bytes = mine->bucket_bytes;
    config.mode = mine->mode;
    if (!rank_join(self, 20000, &comm) ||
        !rank_expect_status(self, rondo_sync_create(comm, &config, &sync), RONDO_OK,
                            NULL, "rondo_sync_create") ||
        !add_all(self, sync, mine, grad)) {
        return;
    }
    const rondo_status status = rondo_sync_commit(sync);
    const char *const text = rondo_sync_error_text(sync);
    rank_expect(self, status == over->about->want, "commit: got %s, want %s; text: %s",
                rondo_status_name(status), rondo_status_name(over->about->want), text);
    for (int i = 0; over->about->parts[i] != NULL; i++) {
        rank_expect_text(self, text, over->about->parts[i], "commit");
    }
    (void)snprintf(rank, sizeof rank, "rank %u", over->odd);
    rank_expect_text(self, text, over->about->overlap && odd ? "overlap" : rank,
                     "commit");
    /* Nothing is broken: the ranks are still in step. */
    (void)alike(self, comm);
    expect(self, sync, rondo_sync_step_begin(sync), RONDO_ERR_STATE, "commit");
    rondo_sync_destroy(sync);
    rondo_comm_destroy(comm);
}

static void
layouts_that_differ(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof differences / sizeof *differences; d++) {
        for (uint32_t odd = 1; odd < 3; odd++) {
            disagreement over = {&differences[d], odd};
            run_ranks(3, AS_THREADS, commit_differently, &over, 20000);
        }
    }
}

/* --- memory that cannot be had ---------------------------------------------------- */

/* The k-th allocation of create, add and commit fails on rank 1: it is told, everything
 * is given back, and the other rank is not left waiting. */
static void
without_memory(rank_self *self)
{
    float grad[COUNT] = {0};
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    /* Once without a failure: the calls of the communicator find their plans then. */
    for (uint64_t k = 0; k < 40; k++) {
        rondo_sync *sync = NULL;
        uint32_t param = 0;
        uint32_t made = 0;
        uint32_t all_made = 0;
        uint32_t hit = 0;
        bool fails = self->rank == 1;
        rank_note(self, "allocation %d", (int)k);
        (void)rondo_alloc_fail_after(fails ? k : 0);
        rondo_status status = rondo_sync_create(comm, NULL, &sync);
        if (status == RONDO_OK) {
            status = rondo_sync_add(sync, "b", grad + 50, 50, &param);
        }
        if (status == RONDO_OK) {
            status = rondo_sync_add(sync, "a", grad, 50, &param);
        }
        const bool reached = rondo_alloc_fail_after(0);
        made = status == RONDO_OK;
        rank_expect(self, status == RONDO_OK || status == RONDO_ERR_MEMORY, "got %s",
                    rondo_status_name(status));
        rank_expect_status(
            self, rondo_all_reduce(comm, &made, &all_made, 1, RONDO_UINT32, RONDO_MIN),
            RONDO_OK, comm, "agreeing");
        if (all_made != 0) {
            (void)rondo_alloc_fail_after(fails ? k : 0);
            status = rondo_sync_commit(sync);
            hit = rondo_alloc_fail_after(0) && status != RONDO_OK;
            rank_expect(self, status == RONDO_OK || status == RONDO_ERR_MEMORY,
                        "commit: %s: %s", rondo_status_name(status),
                        rondo_sync_error_text(sync));
        }
        rondo_sync_destroy(sync);
        fails = !alike(self, comm);
        hit += reached;
        uint32_t any_hit = 0;
        rank_expect_status(
            self, rondo_all_reduce(comm, &hit, &any_hit, 1, RONDO_UINT32, RONDO_MAX),
            RONDO_OK, comm, "agreeing");
        if (fails || (any_hit == 0 && k > 0)) {
            rank_expect(self, k > 4, "only %d allocations were reached", (int)k);
            break;
        }
    }
    rondo_comm_destroy(comm);
}

static void
memory_that_cannot_be_had(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, without_memory, NULL, 20000);
}

/* --- in the middle of a step ------------------------------------------------------ */

static bool
ready_to_step(rank_self *self, uint64_t step_timeout_ms, float *grad, rondo_comm **comm,
              rondo_sync **sync)
{
    rondo_sync_config config;
    uint32_t param = 0;

    rondo_sync_config_init(&config);
    config.first_bucket_bytes = 4;
    config.bucket_bytes = 4;
    config.step_timeout_ms = step_timeout_ms;
    return rank_join(self, 20000, comm) &&
           rank_expect_status(self, rondo_sync_create(*comm, &config, sync), RONDO_OK,
                              NULL, "create") &&
           rank_expect_status(self,
                              rondo_sync_add(*sync, "weight", grad, COUNT, &param),
                              RONDO_OK, NULL, "add") &&
           rank_expect_status(
               self, rondo_sync_add(*sync, "bias", grad + COUNT, COUNT, &param),
               RONDO_OK, NULL, "add") &&
           rank_expect_status(self, rondo_sync_commit(*sync), RONDO_OK, *comm,
                              "commit");
}

static rondo_status
step(rondo_sync *sync)
{
    rondo_status status = rondo_sync_step_begin(sync);

    for (uint32_t p = 2; status == RONDO_OK && p-- > 0;) {
        status = rondo_sync_grad_ready(sync, p);
    }
    return status == RONDO_OK ? rondo_sync_step_wait(sync, NULL) : status;
}

/* Rank 1 is late: the others give up at the step's deadline, and it is told. */
static void
late(rank_self *self)
{
    float grad[2 * COUNT] = {0};
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;

    if (!ready_to_step(self, 400, grad, &comm, &sync) ||
        !rank_expect_status(self, step(sync), RONDO_OK, comm, "step 0")) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    if (self->rank == 1) {
        rank_pause(1200);
    }
    const rondo_status status = step(sync);
    const uint64_t took_ms = test_now_ms() - begin_ms;
    if (self->rank == 1) {
        rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_BROKEN,
                    "the late rank got %s", rondo_status_name(status));
        /* Not by its own deadline: the others have aborted. */
        rank_expect(self, took_ms < 1200 + 300, "it was told after %d ms",
                    (int)took_ms);
    } else {
        /* Who gives up first aborts; the other one may learn it that way. */
        rank_expect(self, status == RONDO_ERR_TIMEOUT || status == RONDO_ERR_ABORTED,
                    "got %s", rondo_status_name(status));
        rank_expect(self, took_ms >= 390 && took_ms < 1500, "gave up after %d ms",
                    (int)took_ms);
        rank_expect_text(self, rondo_sync_error_text(sync), "step 1, bucket 0 of 2",
                         "the step");
        rank_expect_text(self, rondo_sync_error_text(sync), "\"bias\"", "the step");
    }
    rank_expect(self, rondo_sync_step_begin(sync) == status, "a later call differs");
    rank_expect(self, rondo_sync_progress(sync) == status, "a later call differs");
    (void)rank_meet(self, 0, 5000);
    rondo_sync_destroy(sync);
    rondo_comm_destroy(comm);
}

static void
step_deadline(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, late, NULL, 20000);
    run_ranks(3, AS_PROCESSES, late, NULL, 20000);
    run_ranks(3, AS_THREADS, late, NULL, 20000);
}

static void
one_dies(rank_self *self)
{
    float grad[2 * COUNT] = {0};
    const leftover before = leftover_take();
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;
    rondo_status status = RONDO_OK;

    if (!ready_to_step(self, 0, grad, &comm, &sync)) {
        return;
    }
    for (int i = 0; i < 5; i++) {
        rank_expect_status(self, step(sync), RONDO_OK, comm, "a step");
    }
    if (self->rank == 2) {
        (void)!rondo_sync_step_begin(sync);
        (void)kill(getpid(), SIGKILL);
    }
    const uint64_t begin_ms = test_now_ms();
    status = step(sync);
    rank_expect(self, status == RONDO_ERR_PEER, "got %s", rondo_status_name(status));
    rank_expect(self, test_now_ms() - begin_ms < 2000, "noticed late");
    rank_expect_text(self, rondo_sync_error_text(sync), "step 5, bucket", "the step");
    rank_expect_text(self, rondo_sync_error_text(sync), "rank 2", "the step");
    rondo_sync_destroy(sync);
    blame_leave(self, comm, NULL, &before);
}

static void
death_in_a_step(void **state)
{
    static rank_report report;
    const rank_run run = {
        .nranks = 4, .kind = AS_PROCESSES, .function = one_dies, .deadline_ms = 20000};

    (void)state;
    ranks_run(&run, &report);
    ranks_expect(&report, RANK_RETURNED, 2);
}

/* Destroyed with buckets in flight: memory is not pulled away from under them. */
static void
destroyed_early(rank_self *self)
{
    float *const grad = calloc(2 * COUNT, sizeof *grad);
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;

    if (grad == NULL || !ready_to_step(self, 0, grad, &comm, &sync)) {
        return;
    }
    if (self->rank == 0) {
        rank_expect_status(self, rondo_sync_step_begin(sync), RONDO_OK, comm, "begin");
        rank_expect_status(self, rondo_sync_grad_ready(sync, 1), RONDO_OK, comm,
                           "ready");
    }
    const uint64_t begin_ms = test_now_ms();
    rondo_sync_destroy(sync);
    rank_expect(self, test_now_ms() - begin_ms < 1000, "destroy took long");
    free(grad);
    rank_mark(self, 0);
    if (self->rank != 0) {
        (void)rank_reached(self, 0, 0, 5000);
        const rondo_status status = rondo_barrier(comm);
        rank_expect_status(self, status, RONDO_ERR_ABORTED, comm, "barrier");
    }
    rondo_comm_destroy(comm);
}

static void
destroyed_in_a_step(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, destroyed_early, NULL, 20000);
    run_ranks(2, AS_THREADS, destroyed_early, NULL, 20000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),
        cmocka_unit_test(layouts_that_differ),
        cmocka_unit_test(memory_that_cannot_be_had),
        cmocka_unit_test(step_deadline),
        cmocka_unit_test(death_in_a_step),
        cmocka_unit_test(destroyed_in_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
