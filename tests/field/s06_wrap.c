/* s06_wrap.c - integers wrap: no saturation, no trap, at every place of a vector.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/calls.h"
#include "lib/ranks.h"

#define COUNT_MAX 70

/* The elements the ranks bring and what comes out, as bytes of the type. */
typedef struct example {
    rondo_dtype dtype;
    rondo_op op;
    uint32_t nranks;
    uint64_t in[3];
    uint64_t out;
} example;

static const example examples[] = {
    {RONDO_INT8, RONDO_SUM, 2, {120, 100}, 0xdc},
    {RONDO_UINT8, RONDO_SUM, 2, {120, 100}, 220},
    {RONDO_UINT8, RONDO_SUM, 2, {200, 100}, 44},
    {RONDO_INT8, RONDO_SUM, 3, {100, 100, 100}, 44},
    {RONDO_INT8, RONDO_PROD, 2, {16, 16}, 0},
    {RONDO_INT32, RONDO_SUM, 2, {INT32_MAX, 1}, UINT64_C(0x80000000)},
    {RONDO_INT32, RONDO_PROD, 2, {INT32_MAX, INT32_MAX}, 1},
    {RONDO_UINT32, RONDO_SUM, 2, {UINT32_MAX, 2}, 1},
    {RONDO_INT64, RONDO_SUM, 2, {UINT64_C(1) << 63, UINT64_MAX}, INT64_MAX},
    {RONDO_INT64, RONDO_PROD, 2, {INT64_MAX, INT64_MAX}, 1},
    {RONDO_UINT64, RONDO_SUM, 2, {UINT64_MAX, 3}, 2},
};

static bool
check(rank_self *self, rondo_comm *comm, const example *shown, const call *made)
{
    const size_t width = rondo_dtype_bytes(shown->dtype);
    const uint64_t results = call_out_count(made, self->rank, self->nranks);
    const unsigned char *const out = made->out;

    if (!rank_expect_status(self, call_run(comm, made), RONDO_OK, comm,
                            call_text(made->kind))) {
        return false;
    }
    for (uint64_t i = 0; i < results; i++) {
        uint64_t got = 0;
        memcpy(&got, out + i * width, width);
        if (!rank_expect(self, got == shown->out,
                         "%s %s %s: element %d of %d has the bits %llx, not %llx",
                         call_text(made->kind), rondo_op_text(shown->op),
                         rondo_dtype_text(shown->dtype), (int)i, (int)made->count,
                         (unsigned long long)got, (unsigned long long)shown->out)) {
            return false;
        }
    }
    return true;
}

static void
wrap(rank_self *self)
{
    static const call_kind kinds[] = {CALL_ALL_REDUCE, CALL_REDUCE,
                                      CALL_REDUCE_SCATTER};
    const example *const shown = self->user;
    const size_t width = rondo_dtype_bytes(shown->dtype);
    unsigned char in[COUNT_MAX * 3 * 8], out[COUNT_MAX * 8];
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (uint64_t i = 0; i < COUNT_MAX * 3; i++) {
        memcpy(in + i * width, &shown->in[self->rank], width);
    }
    for (uint64_t count = 1; count <= COUNT_MAX; count++) {
        for (int k = 0; k < 3; k++) {
            const call made = {kinds[k], in, out, count, shown->dtype, shown->op, 1};
            if (!check(self, comm, shown, &made)) {
                rondo_comm_destroy(comm);
                return;
            }
        }
    }
    rondo_comm_destroy(comm);
}

static void
every_example(void **state)
{
    (void)state;
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        example shown = examples[e];
        run_ranks(shown.nranks, AS_PROCESSES, wrap, &shown, 30000);
        run_ranks(shown.nranks, AS_THREADS, wrap, &shown, 30000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
