/* s10_collectives.c - one rank makes another call than the rest: an error on all,
 * naming the operation's number and both calls.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/differ.h"

#define COUNT 1024
#define ODD   2

/* What rank 2 calls and what the others call. */
typedef struct example {
    call odd, even; /* buffers are filled in */
    const char *parts[5];
} example;

static const example examples[] = {
    {{CALL_ALL_GATHER, NULL, NULL, COUNT, RONDO_INT8, RONDO_SUM, 0},
     {CALL_ALL_REDUCE, NULL, NULL, COUNT, RONDO_FP32, RONDO_SUM, 0},
     {"#2", "rank 2", "all_gather", "all_reduce", NULL}},
    {{CALL_BROADCAST, NULL, NULL, COUNT, RONDO_FP32, RONDO_SUM, 1},
     {CALL_BROADCAST, NULL, NULL, COUNT, RONDO_FP32, RONDO_SUM, 3},
     {"#2", "rank 2", "root 1", "root 3", NULL}},
    {{CALL_REDUCE, NULL, NULL, COUNT, RONDO_FP32, RONDO_SUM, 0},
     {CALL_REDUCE, NULL, NULL, COUNT, RONDO_FP32, RONDO_SUM, 2},
     {"#2", "rank 2", "root 0", "root 2", NULL}},
    {{CALL_ALL_REDUCE, NULL, NULL, COUNT, RONDO_FP32, RONDO_MAX, 0},
     {CALL_ALL_REDUCE, NULL, NULL, COUNT, RONDO_FP32, RONDO_SUM, 0},
     {"#2", "rank 2", "max", "sum", NULL}},
};

static void
differ(rank_self *self)
{
    static _Thread_local float in[COUNT], out[4 * COUNT];
    const example *const shown = self->user;
    call mine = self->rank == ODD ? shown->odd : shown->even;
    rondo_comm *comm = NULL;

    mine.in = in;
    mine.out = out;
    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    /* The first operation is the same on all ranks, and right. */
    in[0] = (float)(self->rank + 1);
    const rondo_status status =
        rondo_all_reduce(comm, in, out, 1, RONDO_FP32, RONDO_SUM);
    if (rank_expect_status(self, status, RONDO_OK, comm, "operation 1") &&
        rank_expect(self, out[0] == 10.0F, "operation 1 gave %g", (double)out[0])) {
        calls_differ(self, comm, &mine, shown->parts);
    }
    rondo_comm_destroy(comm);
}

/* Two reductions of the same shape in another order cannot be told apart: bounded in
 * time and within the buffers is all that can be asked. */
static void
swapped(rank_self *self)
{
    static _Thread_local float in[2][COUNT], out[2][COUNT];
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t which = self->rank == ODD ? 1 - i : i;
        rank_expect_status(
            self,
            rondo_all_reduce(comm, in[which], out[which], COUNT, RONDO_FP32, RONDO_SUM),
            RONDO_OK, comm, "all_reduce");
    }
    rondo_comm_destroy(comm);
}

static void
every_example(void **state)
{
    (void)state;
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        example shown = examples[e];
        run_ranks(4, AS_PROCESSES, differ, &shown, 30000);
        run_ranks(4, AS_THREADS, differ, &shown, 30000);
    }
}

static void
same_shape(void **state)
{
    (void)state;
    run_ranks(4, AS_PROCESSES, swapped, NULL, 30000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example),
        cmocka_unit_test(same_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
