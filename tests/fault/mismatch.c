/* mismatch.c - ranks that differ in count, type, operator, root or collective: an error
 * on all of them with both sides' values, whichever rank it is, small and large.
 * ctest: timeout=180 hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/differ.h"

#define SMALL 24
#define LARGE (1 << 16)

/* One disagreement. Counts are in units of the size under test. */
typedef struct example {
    call_kind kind, odd_kind;
    uint32_t count, odd_count;
    rondo_dtype dtype, odd_dtype;
    rondo_op op, odd_op;
    uint32_t root, odd_root;
} example;

#define SAME(value) value, value

static const example examples[] = {
    /* count */
    {SAME(CALL_ALL_REDUCE), 2, 1, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_ALL_REDUCE), 1, 2, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_REDUCE_SCATTER), 2, 1, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_ALL_GATHER), 1, 2, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_BROADCAST), 1, 2, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(1)},
    {SAME(CALL_REDUCE), 2, 1, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(1)},
    {SAME(CALL_ALL_REDUCE), 1, 0, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_ALL_REDUCE), 0, 1, SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    /* type */
    {SAME(CALL_ALL_REDUCE), SAME(1), RONDO_FP32, RONDO_INT32, SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_ALL_REDUCE), SAME(1), RONDO_FP16, RONDO_BF16, SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_ALL_GATHER), SAME(1), RONDO_FP32, RONDO_UINT32, SAME(RONDO_SUM),
     SAME(0)},
    {SAME(CALL_BROADCAST), SAME(1), RONDO_FP64, RONDO_INT8, SAME(RONDO_SUM), SAME(0)},
    {SAME(CALL_REDUCE), SAME(1), RONDO_INT8, RONDO_UINT8, SAME(RONDO_SUM), SAME(1)},
    /* operator */
    {SAME(CALL_ALL_REDUCE), SAME(1), SAME(RONDO_FP32), RONDO_SUM, RONDO_AVG, SAME(0)},
    {SAME(CALL_REDUCE_SCATTER), SAME(1), SAME(RONDO_FP32), RONDO_MIN, RONDO_MAX,
     SAME(0)},
    {SAME(CALL_REDUCE), SAME(1), SAME(RONDO_FP32), RONDO_PROD, RONDO_SUM, SAME(0)},
    /* root */
    {SAME(CALL_BROADCAST), SAME(1), SAME(RONDO_FP32), SAME(RONDO_SUM), 0, 1},
    {SAME(CALL_REDUCE), SAME(1), SAME(RONDO_FP32), SAME(RONDO_SUM), 1, 0},
    /* collective */
    {CALL_ALL_REDUCE, CALL_ALL_GATHER, SAME(1), SAME(RONDO_FP32), SAME(RONDO_SUM),
     SAME(0)},
    {CALL_BROADCAST, CALL_REDUCE, SAME(1), SAME(RONDO_FP32), SAME(RONDO_SUM), SAME(0)},
    {CALL_BARRIER, CALL_ALL_REDUCE, SAME(1), SAME(RONDO_FP32), SAME(RONDO_SUM),
     SAME(0)},
    {CALL_REDUCE_SCATTER, CALL_BARRIER, SAME(1), SAME(RONDO_FP32), SAME(RONDO_SUM),
     SAME(0)},
};

/* A disagreement and who disagrees. */
typedef struct quarrel {
    const example *about;
    uint32_t odd; /* rank */
    uint64_t unit;
    bool registered; /* buffers that all ranks have mapped: no messages may be needed */
} quarrel;

/* The words for a value that differs. */
static void
words(const example *about, uint64_t unit, char side[2][32])
{
    const size_t room = sizeof side[0];

    if (about->kind != about->odd_kind) {
        (void)snprintf(side[0], room, "%s", call_text(about->kind));
        (void)snprintf(side[1], room, "%s", call_text(about->odd_kind));
    } else if (about->count != about->odd_count) {
        (void)snprintf(side[0], room, "%llu",
                       (unsigned long long)(about->count * unit));
        (void)snprintf(side[1], room, "%llu",
                       (unsigned long long)(about->odd_count * unit));
    } else if (about->dtype != about->odd_dtype) {
        (void)snprintf(side[0], room, "%s", rondo_dtype_text(about->dtype));
        (void)snprintf(side[1], room, "%s", rondo_dtype_text(about->odd_dtype));
    } else if (about->op != about->odd_op) {
        (void)snprintf(side[0], room, "%s", rondo_op_text(about->op));
        (void)snprintf(side[1], room, "%s", rondo_op_text(about->odd_op));
    } else {
        (void)snprintf(side[0], room, "root %u", about->root);
        (void)snprintf(side[1], room, "root %u", about->odd_root);
    }
}

/* Memory of the call, registered where that is under test. */
static bool
buffers_get(rank_self *self, rondo_comm *comm, const quarrel *over, call *made)
{
    void *block[2] = {NULL, NULL};
    const size_t bytes = 2 * over->unit * self->nranks * sizeof(double);

    for (int i = 0; i < 2; i++) {
        if (!rank_expect_status(self, rondo_mem_alloc(bytes, &block[i]), RONDO_OK, NULL,
                                "rondo_mem_alloc") ||
            (over->registered &&
             !rank_expect_status(self, rondo_mem_register(comm, block[i]), RONDO_OK,
                                 comm, "rondo_mem_register"))) {
            return false;
        }
    }
    made->in = block[0];
    made->out = block[1];
    return true;
}

static void
buffers_give(call *made)
{
    void *in = NULL;

    memcpy(&in, &made->in, sizeof in);
    rondo_mem_free(in);
    rondo_mem_free(made->out);
}

static void
quarrelling(rank_self *self)
{
    const quarrel *const over = self->user;
    const example *const about = over->about;
    const bool odd = self->rank == over->odd;
    char side[2][32];
    char odd_rank[16];
    const char *const parts[] = {side[0], side[1], odd_rank, NULL};
    rondo_comm *comm = NULL;
    call made = {.kind = odd ? about->odd_kind : about->kind};

    if (!rank_join(self, 15000, &comm) || !buffers_get(self, comm, over, &made)) {
        return;
    }
    /* Something like it went well before: plans and mappings are there. */
    call before = {CALL_ALL_REDUCE, made.in,   made.out, over->unit,
                   RONDO_FP32,      RONDO_SUM, 0};
    rank_expect_status(self, call_run(comm, &before), RONDO_OK, comm, "before");
    /* A rank ahead of the others would break their last call. */
    if (!rank_meet(self, 0, 10000)) {
        return;
    }
    made.count = over->unit * (odd ? about->odd_count : about->count);
    made.dtype = odd ? about->odd_dtype : about->dtype;
    made.op = odd ? about->odd_op : about->op;
    made.root = odd ? about->odd_root : about->root;
    words(about, over->unit, side);
    (void)snprintf(odd_rank, sizeof odd_rank, "rank %u", over->odd);
    calls_differ(self, comm, &made, parts);
    const uint64_t begin_ms = test_now_ms();
    rondo_comm_destroy(comm);
    rank_expect(self, test_now_ms() - begin_ms < 1000, "destroy was slow");
    buffers_give(&made);
}

static void
quarrels(uint32_t nranks, uint64_t unit, bool registered,
         const char *const *environment)
{
    static rank_report report;

    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        for (uint32_t odd = 0; odd < nranks; odd++) {
            quarrel over = {&examples[e], odd, unit, registered};
            const rank_run run = {.nranks = nranks,
                                  .kind = AS_THREADS,
                                  .function = quarrelling,
                                  .user = &over,
                                  .deadline_ms = 20000,
                                  .environment = environment};
            ranks_run(&run, &report);
            for (uint32_t r = 0; r < nranks; r++) {
                if (report.outcome[r].end != RANK_RETURNED) {
                    print_error("example %d, odd rank %u of %u\n", (int)e, odd, nranks);
                    break;
                }
            }
            ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
        }
    }
}

static void
two_ranks(void **state)
{
    (void)state;
    quarrels(2, SMALL, false, NULL);
    quarrels(2, LARGE, false, NULL);
}

static void
four_ranks(void **state)
{
    (void)state;
    quarrels(4, SMALL, false, NULL);
    if (!test_over_hosts()) {
        quarrels(4, LARGE, false, NULL);
    }
}

static void
mapped(void **state)
{
    (void)state;
    if (test_over_hosts()) {
        return; /* nothing is mapped between hosts */
    }
    quarrels(2, SMALL, true, NULL);
    quarrels(2, LARGE, true, NULL);
    quarrels(3, LARGE, true, NULL);
}

static void
checked_first(void **state)
{
    static const char *const check[] = {"RONDO_CHECK=1", NULL};

    (void)state;
    quarrels(3, SMALL, false, check);
}

/* --- sends and receives ----------------------------------------------------------- */

static void
pair_differs(rank_self *self)
{
    const bool by_type = *(const bool *)self->user;
    float at[64] = {0};
    rondo_comm *comm = NULL;

    if (!rank_join(self, 10000, &comm)) {
        return;
    }
    rondo_status status = self->rank == 0
                              ? rondo_send(comm, at, 32, RONDO_FP32, 1)
                              : rondo_recv(comm, at, by_type ? 32 : 64,
                                           by_type ? RONDO_INT32 : RONDO_FP32, 0);
    if (status == RONDO_OK) {
        status = rondo_barrier(comm);
    }
    rank_expect_status(self, status, RONDO_ERR_MISMATCH, comm, "a pair that differs");
    rank_expect_text(self, rondo_comm_error_text(comm), by_type ? "fp32" : "32",
                     "pair");
    rank_expect_text(self, rondo_comm_error_text(comm), by_type ? "int32" : "64",
                     "pair");
    rondo_comm_destroy(comm);
}

static void
pairs(void **state)
{
    (void)state;
    for (int by_type = 0; by_type < 2; by_type++) {
        bool user = by_type != 0;
        run_ranks(2, AS_THREADS, pair_differs, &user, 20000);
        run_ranks(2, AS_PROCESSES, pair_differs, &user, 20000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks), cmocka_unit_test(four_ranks),
        cmocka_unit_test(mapped),    cmocka_unit_test(checked_first),
        cmocka_unit_test(pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
