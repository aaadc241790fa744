/* s02_uneven_count.c - counts that the ranks do not divide: nothing dropped, nothing
 * doubled, nothing written behind the end.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/ranks.h"

#define COUNT_MAX 4099
#define GUARD     0x2a2a2a2a

static bool
guarded(rank_self *self, const int32_t *at, const char *what)
{
    return rank_expect(self, at[0] == GUARD && at[15] == GUARD,
                       "%s: written behind the end", what);
}

/* The sum over n ranks of 100 * rank + i. */
static int32_t
sum_of(uint32_t nranks, uint64_t i)
{
    const int32_t n = (int32_t)nranks;

    return 100 * (n * (n - 1) / 2) + n * (int32_t)i;
}

static bool
all_reduce_of(rank_self *self, rondo_comm *comm, uint64_t count)
{
    int32_t *const in = malloc((COUNT_MAX + 16) * sizeof *in);
    int32_t *const out = malloc((COUNT_MAX + 16) * sizeof *out);
    bool good = in != NULL && out != NULL;

    for (uint64_t i = 0; good && i < COUNT_MAX + 16; i++) {
        in[i] = i < count ? 100 * (int32_t)self->rank + (int32_t)i : 7;
        out[i] = GUARD;
    }
    rank_note(self, "all_reduce of %d", (int)count);
    good = good &&
           rank_expect_status(
               self, rondo_all_reduce(comm, in, out, count, RONDO_INT32, RONDO_SUM),
               RONDO_OK, comm, "all_reduce");
    for (uint64_t i = 0; good && i < count; i++) {
        const int32_t want = sum_of(self->nranks, i);
        good = rank_expect(self, out[i] == want, "count %d: element %d is %d, not %d",
                           (int)count, (int)i, out[i], want);
    }
    good = good && guarded(self, out + count, "all_reduce");
    free(in);
    free(out);
    return good;
}

static void
many_counts(rank_self *self)
{
    static const uint64_t counts[] = {1, 2, 3, 5, 7, 8, 9, 10, 73, COUNT_MAX};
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        if (!all_reduce_of(self, comm, counts[c])) {
            break;
        }
    }
    rondo_comm_destroy(comm);
}

/* 73 numbers on 4 ranks, padded to 76: 19 for each, and together again. */
static void
scatter_and_gather(rank_self *self)
{
    int32_t in[76] = {0}, part[19 + 16], all[76 + 16];
    rondo_comm *comm = NULL;

    for (int i = 0; i < 73; i++) {
        in[i] = 100 * (int)self->rank + i;
    }
    for (int i = 0; i < 92; i++) {
        all[i] = GUARD;
        part[i % 35] = GUARD;
    }
    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    rondo_status status =
        rondo_reduce_scatter(comm, in, part, 19, RONDO_INT32, RONDO_SUM);
    rank_expect_status(self, status, RONDO_OK, comm, "reduce_scatter");
    for (int j = 0; j < 19; j++) {
        const int at = 19 * (int)self->rank + j;
        const int want = at < 73 ? 600 + 4 * at : 0;
        rank_expect(self, part[j] == want, "part %d is %d, not %d", j, part[j], want);
    }
    guarded(self, part + 19, "reduce_scatter");
    status = rondo_all_gather(comm, part, all, 19, RONDO_INT32);
    rank_expect_status(self, status, RONDO_OK, comm, "all_gather");
    for (int i = 0; i < 76; i++) {
        const int want = i < 73 ? 600 + 4 * i : 0;
        rank_expect(self, all[i] == want, "element %d is %d, not %d", i, all[i], want);
    }
    guarded(self, all + 76, "all_gather");
    rondo_comm_destroy(comm);
}

static void
all_reduce_counts(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 9; nranks++) {
        run_ranks(nranks, AS_PROCESSES, many_counts, NULL, 30000);
        run_ranks(nranks, AS_THREADS, many_counts, NULL, 30000);
    }
}

static void
padded_parts(void **state)
{
    (void)state;
    run_ranks(4, AS_PROCESSES, scatter_and_gather, NULL, 30000);
    run_ranks(4, AS_THREADS, scatter_and_gather, NULL, 30000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_counts),
        cmocka_unit_test(padded_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
