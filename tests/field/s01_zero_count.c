/* s01_zero_count.c - count 0 moves nothing, accepts null, and does not put the next
 * call out of step.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/calls.h"
#include "lib/ranks.h"

/* One int32, rank + 1, summed: says that the ranks are still in step. */
static bool
in_step(rank_self *self, rondo_comm *comm, const char *after)
{
    const int32_t mine = (int32_t)self->rank + 1;
    const int32_t want = (int32_t)(self->nranks * (self->nranks + 1) / 2);
    int32_t sum = 0;
    const rondo_status status =
        rondo_all_reduce(comm, &mine, &sum, 1, RONDO_INT32, RONDO_SUM);

    return rank_expect_status(self, status, RONDO_OK, comm, after) &&
           rank_expect(self, sum == want, "sum after %s with count 0 is %d, not %d",
                       after, sum, want);
}

static bool
empty(rank_self *self, rondo_comm *comm, const call *made)
{
    const char *const text = call_text(made->kind);

    rank_note(self, "%s of 0 elements", text);
    return rank_expect_status(self, call_run(comm, made), RONDO_OK, comm, text) &&
           in_step(self, comm, text);
}

static void
zero_count(rank_self *self)
{
    unsigned char in[64], out[64], untouched[64];
    rondo_comm *comm = NULL;

    memset(in, 0x5a, sizeof in);
    memset(out, 0xa5, sizeof out);
    memset(untouched, 0xa5, sizeof untouched);
    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (call_kind kind = 0; kind < CALLS; kind++) {
        for (uint32_t root = 0; root < self->nranks; root++) {
            const call with = {kind, in, out, 0, RONDO_FP32, RONDO_SUM, root};
            const call without = {kind, NULL, NULL, 0, RONDO_FP32, RONDO_SUM, root};
            if (!empty(self, comm, &with) || !empty(self, comm, &without)) {
                break;
            }
        }
    }
    rank_expect(self, memcmp(out, untouched, sizeof out) == 0, "out was written");
    rondo_comm_destroy(comm);
}

static void
processes(void **state)
{
    (void)state;
    run_ranks(4, AS_PROCESSES, zero_count, NULL, 30000);
}

static void
threads(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 5; nranks++) {
        run_ranks(nranks, AS_THREADS, zero_count, NULL, 30000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
