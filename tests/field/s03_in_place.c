/* s03_in_place.c - in place gives the same bits as out of place, on all ranks, with
 * every algorithm there is.
 * ctest: hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algos/algos.h"
#include "lib/ranks.h"

#define COUNT_MAX 17

/* Buffers of one rank; registered, so that mapped algorithms are taken as well. */
typedef struct buffers {
    double *in;
    double *out;
    double *both;
} buffers;

static bool
block_get(rank_self *self, rondo_comm *comm, double **block)
{
    void *memory = NULL;
    const rondo_status status = rondo_mem_alloc(COUNT_MAX * sizeof **block, &memory);

    *block = memory;
    return rank_expect_status(self, status, RONDO_OK, NULL, "rondo_mem_alloc") &&
           rank_expect_status(self, rondo_mem_register(comm, memory), RONDO_OK, comm,
                              "rondo_mem_register");
}

static bool
near(double got, double want)
{
    const double off = got > want ? got - want : want - got;

    return off <= 2.3e-16 * want;
}

/* in = rank, 1 / rank, rank, ... summed twice, compared here and with rank 0. */
static bool
compare(rank_self *self, rondo_comm *comm, const buffers *at, uint64_t count)
{
    double root[COUNT_MAX];

    for (uint64_t i = 0; i < count; i++) {
        const double rank = (double)self->rank;
        at->in[i] = i % 2 == 0 ? rank : self->rank == 0 ? 0.0 : 1.0 / rank;
        at->both[i] = at->in[i];
        at->out[i] = -1.0;
    }
    rondo_status status =
        rondo_all_reduce(comm, at->in, at->out, count, RONDO_FP64, RONDO_SUM);
    if (!rank_expect_status(self, status, RONDO_OK, comm, "out of place")) {
        return false;
    }
    status = rondo_all_reduce(comm, at->both, at->both, count, RONDO_FP64, RONDO_SUM);
    if (!rank_expect_status(self, status, RONDO_OK, comm, "in place") ||
        !rank_expect(self, memcmp(at->out, at->both, count * sizeof(double)) == 0,
                     "count %d: in place differs", (int)count)) {
        return false;
    }
    status = rondo_broadcast(comm, at->out, root, count, RONDO_FP64, 0);
    return rank_expect_status(self, status, RONDO_OK, comm, "broadcast") &&
           rank_expect(self, memcmp(at->out, root, count * sizeof(double)) == 0,
                       "count %d: other bits than rank 0", (int)count);
}

static void
in_place(rank_self *self)
{
    rondo_comm *comm = NULL;
    buffers at;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    if (!block_get(self, comm, &at.in) || !block_get(self, comm, &at.out) ||
        !block_get(self, comm, &at.both)) {
        return;
    }
    for (uint64_t count = 1; count <= COUNT_MAX; count++) {
        rank_note(self, "%s, count %d", (const char *)self->user, (int)count);
        if (!compare(self, comm, &at, count)) {
            break;
        }
    }
    if (self->nranks == 4) {
        rank_expect(self, at.out[0] == 6.0 && near(at.out[1], 1.8333333333333333),
                    "got [%.17g, %.17g]", at.out[0], at.out[1]);
    }
    rondo_comm_destroy(comm);
    rondo_mem_free(at.in);
    rondo_mem_free(at.out);
    rondo_mem_free(at.both);
}

static void
with_algorithm(const char *shape, uint32_t nranks, rank_kind kind)
{
    static rank_report report;
    char line[96];
    const char *const environment[] = {line, NULL};
    char *const shown = strdup(shape);
    const rank_run run = {.nranks = nranks,
                          .kind = kind,
                          .function = in_place,
                          .user = shown,
                          .deadline_ms = 30000,
                          .environment = environment};

    (void)snprintf(line, sizeof line, "RONDO_ALGO=%s%s",
                   shape[0] != '\0' ? "all_reduce=" : "", shape);
    ranks_run(&run, &report);
    free(shown);
    ranks_expect(&report, RANK_RETURNED, RANKS_MAX);
}

static void
every_algorithm(void **state)
{
    (void)state;
    for (uint32_t nranks = 2; nranks <= 9; nranks++) {
        with_algorithm("", nranks, AS_PROCESSES);
        for (uint32_t a = 0; a < rondo_algo_count(); a++) {
            const rondo_algo *const algo = rondo_algo_at(a);
            if (algo->kind == RONDO_COLL_ALL_REDUCE) {
                with_algorithm(algo->shape, nranks, AS_PROCESSES);
                with_algorithm(algo->shape, nranks, AS_THREADS);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
