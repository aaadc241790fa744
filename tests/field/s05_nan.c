/* s05_nan.c - min and max with a NaN: it wins, whichever rank holds it, in every type,
 * at every place of a vector. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/calls.h"
#include "lib/model.h"
#include "lib/ranks.h"

#define RANKS     4
#define LARGE     1000003
#define SMALL_MAX 33

/* What the four ranks bring, in the order before permuting, and what comes out. */
typedef struct example {
    double value[RANKS];
    double min, max; /* NAN: a NaN */
} example;

static const example examples[] = {
    {{1, NAN, 3, 4}, NAN, NAN},
    {{NAN, NAN, NAN, NAN}, NAN, NAN},
    {{1, INFINITY, 3, -INFINITY}, -INFINITY, INFINITY},
    {{INFINITY, NAN, -INFINITY, 0}, NAN, NAN},
    {{1, 2, 3, 4}, 1, 4},
};

/* The p-th of the 24 permutations of four, at `place`. */
static uint32_t
permuted(uint32_t p, uint32_t place)
{
    uint32_t left[RANKS] = {0, 1, 2, 3};
    uint32_t nleft = RANKS;
    uint32_t taken = 0;

    for (uint32_t i = 0; i <= place; i++) {
        static const uint32_t factorial[RANKS] = {6, 2, 1, 1};
        const uint32_t at = p / factorial[i] % nleft;
        taken = left[at];
        memmove(left + at, left + at + 1, (--nleft - at) * sizeof *left);
    }
    return taken;
}

static bool
same(double got, double want)
{
    return isnan(want) ? isnan(got) != 0 : got == want;
}

typedef struct work {
    unsigned char *in;
    unsigned char *out;
    rondo_comm *comm;
} work;

static bool
check(rank_self *self, const work *at, const call *made, double want)
{
    const char *const text = call_text(made->kind);
    const uint64_t results = call_out_count(made, self->rank, self->nranks);

    rank_note(self, "%s %s %s of %d", text, rondo_op_text(made->op),
              rondo_dtype_text(made->dtype), (int)made->count);
    if (!rank_expect_status(self, call_run(at->comm, made), RONDO_OK, at->comm, text)) {
        return false;
    }
    for (uint64_t i = 0; i < results; i++) {
        const double got = model_get(made->dtype, at->out, i);
        if (!rank_expect(self, same(got, want),
                         "%s %s %s: element %d of %d is %g, not %g", text,
                         rondo_op_text(made->op), rondo_dtype_text(made->dtype), (int)i,
                         (int)made->count, got, want)) {
            return false;
        }
    }
    return true;
}

static bool
check_all(rank_self *self, const work *at, const example *shown, uint64_t count)
{
    static const rondo_dtype dtypes[] = {RONDO_FP16, RONDO_BF16, RONDO_FP32,
                                         RONDO_FP64};
    static const call_kind kinds[] = {CALL_ALL_REDUCE, CALL_REDUCE,
                                      CALL_REDUCE_SCATTER};
    const uint32_t permutations = count > SMALL_MAX ? 2 : 24;

    for (uint32_t p = 0; p < permutations * 4; p++) {
        const rondo_dtype dtype = dtypes[p % 4];
        const double mine = shown->value[permuted(p / 4, self->rank)];
        for (uint64_t i = 0; i < count * RANKS; i++) {
            model_put(dtype, mine, i, at->in);
        }
        for (uint32_t k = 0; k < 6; k++) {
            const rondo_op op = k % 2 == 0 ? RONDO_MIN : RONDO_MAX;
            const call made = {kinds[k / 2], at->in, at->out,  count,
                               dtype,        op,     p % RANKS};
            if (!check(self, at, &made, k % 2 == 0 ? shown->min : shown->max)) {
                return false;
            }
        }
    }
    return true;
}

/* NaNs at some places only: the others must not catch them. */
static bool
check_places(rank_self *self, const work *at, rondo_dtype dtype)
{
    for (uint64_t place = 0; place < SMALL_MAX; place++) {
        for (uint64_t i = 0; i < SMALL_MAX; i++) {
            const bool here = i == place && self->rank == place % RANKS;
            model_put(dtype, here ? (double)NAN : self->rank + 1.0, i, at->in);
        }
        const rondo_status status =
            rondo_all_reduce(at->comm, at->in, at->out, SMALL_MAX, dtype, RONDO_MIN);
        if (!rank_expect_status(self, status, RONDO_OK, at->comm, "all_reduce")) {
            return false;
        }
        for (uint64_t i = 0; i < SMALL_MAX; i++) {
            const double got = model_get(dtype, at->out, i);
            if (!rank_expect(self, same(got, i == place ? (double)NAN : 1.0),
                             "%s: NaN at %d, element %d is %g", rondo_dtype_text(dtype),
                             (int)place, (int)i, got)) {
                return false;
            }
        }
    }
    return true;
}

static void
not_a_number(rank_self *self)
{
    static const uint64_t counts[] = {1, 3, 4, 7, 8, 15, 16, 17, SMALL_MAX};
    work at = {malloc((size_t)LARGE * 8 * RANKS), malloc((size_t)LARGE * 8), NULL};

    if (at.in == NULL || at.out == NULL || !rank_join(self, 30000, &at.comm)) {
        return;
    }
    bool good = true;
    for (size_t e = 0; good && e < sizeof examples / sizeof *examples; e++) {
        for (size_t c = 0; good && c < sizeof counts / sizeof *counts; c++) {
            good = check_all(self, &at, &examples[e], counts[c]);
        }
    }
    good = good && check_places(self, &at, RONDO_FP16) &&
           check_places(self, &at, RONDO_BF16) && check_places(self, &at, RONDO_FP32) &&
           check_places(self, &at, RONDO_FP64);
    if (good && self->kind == AS_PROCESSES) {
        (void)check_all(self, &at, &examples[0], LARGE);
    }
    rondo_comm_destroy(at.comm);
    free(at.in);
    free(at.out);
}

static void
processes(void **state)
{
    (void)state;
    run_ranks(RANKS, AS_PROCESSES, not_a_number, NULL, 100000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
