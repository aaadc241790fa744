/* average_mean.c - the weighted mean over ranks: its value, equal weights as an
 * all-reduce, ranks without weight, and what all ranks refuse together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/ranks.h"

#define NRANKS_MAX 8
#define COUNT      3001
#define COUNTS     4
#define PATTERNS   6

static const uint64_t counts[COUNTS] = {0, 1, 64, COUNT};

static float
brought(uint32_t rank, uint64_t i)
{
    uint64_t state = (uint64_t)rank << 32 ^ i ^ 77;

    return (float)(model_random(&state) % 200001) / 50000.0F - 2.0F;
}

/* Weights of samples, of all sizes, with zeros among them. */
static double
weight_of(uint32_t pattern, uint32_t rank, uint32_t nranks)
{
    switch (pattern) {
    case 0:
        return 1.0 + rank;
    case 1:
        return rank == nranks - 1 ? 0.0 : 64.0;
    case 2:
        return rank == 0 ? 3.0 : 0.0;
    case 3:
        return 1e308 / (1.0 + rank);
    case 4:
        return 1e-308 * (1.0 + rank);
    default:
        return rank % 2 == 0 ? 1e9 : 1e-9;
    }
}

static bool
weighted(rank_self *self, rondo_comm *comm, uint32_t pattern, uint64_t count)
{
    static _Thread_local float values[COUNT];
    double total = 0.0;

    for (uint32_t r = 0; r < self->nranks; r++) {
        /* In parts of the largest number, so that the sum is finite. */
        total += weight_of(pattern, r, self->nranks) / 64.0;
    }
    const double own = weight_of(pattern, self->rank, self->nranks);
    for (uint64_t i = 0; i < count; i++) {
        values[i] = own > 0.0 ? brought(self->rank, i) : (i % 2 == 0 ? NAN : INFINITY);
    }
    if (!rank_expect_status(self, rondo_average(comm, values, count, own), RONDO_OK,
                            comm, "rondo_average")) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        double mean = 0.0;
        for (uint32_t r = 0; r < self->nranks; r++) {
            mean += weight_of(pattern, r, self->nranks) / 64.0 / total *
                    (double)brought(r, i);
        }
        if (!rank_expect(self, fabs((double)values[i] - mean) <= 2e-6,
                         "pattern %u: value %d is %.9g, not %.9g", pattern, (int)i,
                         (double)values[i], mean)) {
            return false;
        }
    }
    return true;
}

static bool
equal(rank_self *self, rondo_comm *comm, double weight, uint64_t count)
{
    static _Thread_local float values[COUNT];
    static _Thread_local float reduced[COUNT];

    for (uint64_t i = 0; i < count; i++) {
        values[i] = brought(self->rank, i);
    }
    return rank_expect_status(
               self,
               rondo_all_reduce(comm, values, reduced, count, RONDO_FP32, RONDO_AVG),
               RONDO_OK, comm, "rondo_all_reduce") &&
           rank_expect_status(self, rondo_average(comm, values, count, weight),
                              RONDO_OK, comm, "rondo_average") &&
           rank_expect(self, memcmp(values, reduced, count * sizeof *values) == 0,
                       "weights of %g have other bits than an all-reduce", weight);
}

static void
means(rank_self *self)
{
    rondo_comm *comm = NULL;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    bool fine = true;
    for (uint32_t i = 0; i < COUNTS && fine; i++) {
        for (uint32_t pattern = 0; pattern < PATTERNS && fine; pattern++) {
            /* One rank of weight 0 is a case of its own, below. */
            fine = (pattern == 1 && self->nranks == 1) ||
                   weighted(self, comm, pattern, counts[i]);
        }
        fine = fine && equal(self, comm, 1.0, counts[i]) &&
               equal(self, comm, 1e-300, counts[i]) &&
               equal(self, comm, 60000.0, counts[i]);
    }
    rondo_comm_destroy(comm);
}

static void
the_mean_is_weighted(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= NRANKS_MAX; nranks++) {
        run_ranks(nranks, nranks % 2 == 0 ? AS_PROCESSES : AS_THREADS, means, NULL,
                  30000);
    }
}

static void
refused(rank_self *self, rondo_comm *comm, double weight, const char *text)
{
    float values[3] = {1.0F, 2.0F, 3.0F};

    rank_expect_status(self, rondo_average(comm, values, 3, weight), RONDO_ERR_ARG,
                       NULL, text);
    rank_expect_text(self, rondo_error_text(), text, "the sentence");
    rank_expect(self, values[0] == 1.0F && values[1] == 2.0F && values[2] == 3.0F,
                "refused values have changed");
}

static void
refusals(rank_self *self)
{
    static const double wrong[] = {-1.0, -1e-300, NAN, INFINITY, -INFINITY};
    rondo_comm *comm = NULL;
    float value = 1.0F;

    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        refused(self, comm, self->rank == 1 ? wrong[w] : 2.0,
                "the weight of rank 1 is negative or not finite");
        refused(self, comm, wrong[w], "the weight of rank 2 is negative");
    }
    refused(self, comm, 0.0, "the weights of all ranks are 0");
    refused(self, comm, self->rank == 0 ? -0.0 : 0.0, "the weights of all ranks are 0");
    rank_expect_status(self, rondo_average(NULL, &value, 1, 1.0), RONDO_ERR_ARG, NULL,
                       "no communicator");
    rank_expect_status(self, rondo_average(comm, NULL, 1, 1.0), RONDO_ERR_ARG, NULL,
                       "no values");
    value = (float)self->rank;
    rank_expect_status(self, rondo_average(comm, &value, 1, 1.0), RONDO_OK, comm,
                       "after refusals");
    rank_expect(self, value == 1.0F, "the mean of 0, 1, 2 is %g", (double)value);
    rondo_comm_destroy(comm);
}

static void
all_ranks_refuse_or_none(void **state)
{
    (void)state;
    run_ranks(3, AS_PROCESSES, refusals, NULL, 20000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_weighted),
        cmocka_unit_test(all_ranks_refuse_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
