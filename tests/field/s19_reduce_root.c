/* s19_reduce_root.c - reduce leaves the buffers of other ranks than the root alone,
 * takes a null there, and refuses a root that does not exist.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/ranks.h"

#define COUNT 4

typedef enum out_form { OUT_APART, OUT_NULL, OUT_IN_PLACE, OUT_FORMS } out_form;

static bool
reduce_to(rank_self *self, rondo_comm *comm, uint32_t root, out_form form)
{
    float in[COUNT] = {1, 1, 1, 1}, out[COUNT], untouched[COUNT], ones[COUNT];
    const bool mine = self->rank == root;
    float *to = form == OUT_IN_PLACE ? in : out;

    memcpy(ones, in, sizeof ones);
    memset(untouched, 0xa5, sizeof untouched);
    memset(out, 0xa5, sizeof out);
    if (form == OUT_NULL && !mine) {
        to = NULL;
    }
    rank_note(self, "reduce to %u, form %d", root, (int)form);
    if (!rank_expect_status(
            self, rondo_reduce(comm, in, to, COUNT, RONDO_FP32, RONDO_SUM, root),
            RONDO_OK, comm, "reduce")) {
        return false;
    }
    for (int i = 0; mine && i < COUNT; i++) {
        rank_expect(self, to[i] == (float)self->nranks, "root %u: element %d is %g",
                    root, i, (double)to[i]);
    }
    const bool own_in = form == OUT_IN_PLACE && mine;
    const bool own_out = form != OUT_IN_PLACE && mine;
    return rank_expect(self, own_in || memcmp(in, ones, sizeof in) == 0,
                       "root %u, form %d: in was written", root, (int)form) &&
           rank_expect(self, own_out || memcmp(out, untouched, sizeof out) == 0,
                       "root %u, form %d: out was written", root, (int)form);
}

static void
every_root(rank_self *self)
{
    const float one = 1.0F;
    float sum = 0.0F;
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (uint32_t root = 0; root < self->nranks; root++) {
        for (out_form form = 0; form < OUT_FORMS; form++) {
            if (!reduce_to(self, comm, root, form)) {
                rondo_comm_destroy(comm);
                return;
            }
        }
    }
    const uint32_t wrong[] = {self->nranks, UINT32_MAX};
    for (int i = 0; i < 2; i++) {
        const rondo_status status =
            rondo_reduce(comm, &one, &sum, 1, RONDO_FP32, RONDO_SUM, wrong[i]);
        rank_expect_status(self, status, RONDO_ERR_ARG, comm, "a root out of range");
        rank_expect_text(self, rondo_comm_error_text(comm), "root",
                         "a root out of range");
    }
    /* The communicator is as good as before. */
    rank_expect_status(self,
                       rondo_all_reduce(comm, &one, &sum, 1, RONDO_FP32, RONDO_SUM),
                       RONDO_OK, comm, "all_reduce");
    rank_expect(self, sum == (float)self->nranks, "the sum is %g", (double)sum);
    rondo_comm_destroy(comm);
}

/* A root out of range on one rank only: that rank is told at once; the others get an
 * error in bounded time when it makes no other call. */
static void
one_wrong_root(rank_self *self)
{
    const float one = 1.0F;
    float sum = 0.0F;
    rondo_comm *comm = NULL;

    if (!rank_join(self, 1500, &comm)) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    if (self->rank == 1) {
        rank_expect_status(self,
                           rondo_reduce(comm, &one, &sum, 1, RONDO_FP32, RONDO_SUM, 17),
                           RONDO_ERR_ARG, comm, "the wrong root");
        rank_expect(self, test_now_ms() - begin_ms < 500,
                    "an argument error took long");
        rondo_comm_destroy(comm);
        return;
    }
    rondo_status status = rondo_reduce(comm, &one, &sum, 1, RONDO_FP32, RONDO_SUM, 0);
    if (status == RONDO_OK) {
        status = rondo_barrier(comm);
    }
    rank_expect(self, rondo_status_group_of(status) == RONDO_GROUP_BROKEN,
                "the other ranks got %s", rondo_status_name(status));
    rank_expect_text(self, rondo_comm_error_text(comm), "rank 1", "the other ranks");
    rank_expect(self, test_now_ms() - begin_ms < 4500, "took too long");
    rondo_comm_destroy(comm);
}

static void
roots(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 5; nranks++) {
        run_ranks(nranks, AS_PROCESSES, every_root, NULL, 30000);
        run_ranks(nranks, AS_THREADS, every_root, NULL, 30000);
    }
}

static void
wrong_on_one_rank(void **state)
{
    (void)state;
    run_ranks(3, AS_PROCESSES, one_wrong_root, NULL, 30000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots),
        cmocka_unit_test(wrong_on_one_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
