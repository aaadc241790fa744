/* s07_average.c - avg divides by the number of ranks, once; integers truncate to
 * zero.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/calls.h"
#include "lib/model.h"
#include "lib/ranks.h"

#define COUNT_MAX 300

static void
floats(rank_self *self)
{
    float in[5], out[5];
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (int i = 0; i < 5; i++) {
        in[i] = (float)(i + (self->rank == 0 ? 1 : 3));
    }
    rank_expect_status(self, rondo_all_reduce(comm, in, out, 5, RONDO_FP32, RONDO_AVG),
                       RONDO_OK, comm, "all_reduce");
    for (int i = 0; i < 5; i++) {
        rank_expect(self, out[i] == (float)(i + 2), "element %d is %g, not %d", i,
                    (double)out[i], i + 2);
    }
    rondo_comm_destroy(comm);
}

static void
integers(rank_self *self)
{
    static const int32_t brought[3][3] = {{1, -1, 6}, {1, -1, 6}, {2, -2, 6}};
    static const int32_t want[3] = {1, -1, 6};
    static const call_kind kinds[] = {CALL_ALL_REDUCE, CALL_REDUCE,
                                      CALL_REDUCE_SCATTER};
    int32_t in[9], out[3];
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (int i = 0; i < 9; i++) {
        in[i] = brought[self->rank][i % 3];
    }
    for (int k = 0; k < 3; k++) {
        const call made = {kinds[k], in, out, 3, RONDO_INT32, RONDO_AVG, 2};
        const uint64_t results = call_out_count(&made, self->rank, self->nranks);
        rank_expect_status(self, call_run(comm, &made), RONDO_OK, comm,
                           call_text(kinds[k]));
        for (uint64_t i = 0; i < results; i++) {
            rank_expect(self, out[i] == want[i], "%s: element %d is %d, not %d",
                        call_text(kinds[k]), (int)i, out[i], want[i]);
        }
    }
    rondo_comm_destroy(comm);
}

/* Every type, in the three calls that reduce, bit for bit as computed naively. */
static bool
naive(rank_self *self, rondo_comm *comm, rondo_dtype dtype, uint64_t count)
{
    static const call_kind kinds[] = {CALL_ALL_REDUCE, CALL_REDUCE,
                                      CALL_REDUCE_SCATTER};
    static _Thread_local unsigned char in[COUNT_MAX * 8 * 8];
    static _Thread_local unsigned char out[COUNT_MAX * 8], want[COUNT_MAX * 8];
    const model numbers = {dtype, RONDO_AVG, self->nranks, count};
    const size_t width = rondo_dtype_bytes(dtype);
    const uint32_t root = (uint32_t)count % self->nranks;

    model_input(&numbers, self->rank, 0, count * self->nranks, in);
    for (int k = 0; k < 3; k++) {
        const call made = {kinds[k], in, out, count, dtype, RONDO_AVG, root};
        const uint64_t results = call_out_count(&made, self->rank, self->nranks);
        const uint64_t first = kinds[k] == CALL_REDUCE_SCATTER ? self->rank * count : 0;
        model_result(&numbers, first, results, want);
        if (!rank_expect_status(self, call_run(comm, &made), RONDO_OK, comm,
                                call_text(kinds[k]))) {
            return false;
        }
        for (uint64_t i = 0; i < results; i++) {
            if (!rank_expect(
                    self, memcmp(out + i * width, want + i * width, width) == 0,
                    "%s avg of %d %s: element %d is %.17g, not %.17g",
                    call_text(kinds[k]), (int)count, rondo_dtype_text(dtype), (int)i,
                    model_get(dtype, out, i), model_get(dtype, want, i))) {
                return false;
            }
        }
    }
    return true;
}

static void
every_type(rank_self *self)
{
    rondo_comm *comm = NULL;
    bool good = rank_join(self, 20000, &comm);

    for (rondo_dtype dtype = 0; dtype < RONDO_DTYPES; dtype++) {
        for (uint64_t count = 1; good && count <= COUNT_MAX; count += 1 + count / 9) {
            good = naive(self, comm, dtype, count);
        }
    }
    rondo_comm_destroy(comm);
}

static void
two_ranks_of_floats(void **state)
{
    (void)state;
    run_ranks(2, AS_PROCESSES, floats, NULL, 30000);
}

static void
three_ranks_of_integers(void **state)
{
    (void)state;
    run_ranks(3, AS_PROCESSES, integers, NULL, 30000);
}

static void
one_to_eight_ranks_of_every_type(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 8; nranks++) {
        run_ranks(nranks, AS_THREADS, every_type, NULL, 30000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks_of_floats),
        cmocka_unit_test(three_ranks_of_integers),
        cmocka_unit_test(one_to_eight_ranks_of_every_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
