/* table.c - every row of the table of algorithms, run and compared with a naive result.
 * ctest: timeout=300 label=notsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "lib/gang.h"

#define COUNTS 6
#define SEEDS  3

/* The loopback's moods: nearly calm, hesitant with tiny pieces, without any buffer. */
static void
set_mood(gang_job *job, uint64_t seed)
{
    job->seed = seed;
    job->busy_percent = seed % SEEDS == 0 ? 0 : 40;
    job->piece_bytes = seed % SEEDS == 0 ? 0 : 64 * (seed % 5 + 1);
    job->unbuffered = seed % SEEDS == 2;
}

static void
run_job(const gang_job *job, uint32_t runs)
{
    struct gang *gang = NULL;

    assert_int_equal(gang_create(job, &gang), RONDO_OK);
    for (uint32_t run = 0; run < runs; run++) {
        gang_fill(gang, gang_whole);
        const rondo_status status = gang_run(gang);
        if (status != RONDO_OK || !gang_right(gang)) {
            fail_msg("%s %s on %u ranks, count %llu, seed %llu: status %d",
                     rondo_coll_text(job->algo->kind), job->algo->shape, job->nranks,
                     (unsigned long long)job->count, (unsigned long long)job->seed,
                     (int)status);
        }
    }
    gang_destroy(gang);
}

/* All places and segments of one row, count and number of ranks. */
static void
run_variants(gang_job job)
{
    for (int place = 0; place < GANG_PLACES; place++) {
        for (uint64_t segment = 0; segment <= 64; segment += 64) {
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                job.place = (gang_place)place;
                job.segment = segment;
                job.root = (uint32_t)(rondo_hash_mix(job.count + seed) % job.nranks);
                set_mood(&job, seed + SEEDS * job.nranks);
                /* The second run finds the plan as the first one left it. */
                run_job(&job, seed == 0 ? 2 : 1);
            }
        }
    }
}

/* A root is of no concern to most collectives. */
static void
run_row(const rondo_algo *algo, uint32_t nranks, const uint64_t *counts, uint32_t n)
{
    gang_job job = {
        .algo = algo, .nranks = nranks, .dtype = RONDO_INT32, .op = RONDO_SUM};

    for (uint32_t at = 0; at < n; at++) {
        job.count = counts[at];
        run_variants(job);
    }
}

static void
few_ranks(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 1; nranks <= 17; nranks++) {
            const uint64_t counts[COUNTS] = {0,      1,          nranks - 1,
                                             nranks, nranks + 1, 4099};

            run_row(rondo_algo_at(row), nranks, counts, nranks < 10 ? 6 : 5);
        }
        const uint64_t longer[1] = {4099};
        run_row(rondo_algo_at(row), 13, longer, 1);
    }
}

static void
many_ranks(void **state)
{
    static const uint32_t numbers[] = {31, 32, 33, 64};

    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t at = 0; at < 4; at++) {
            const uint64_t counts[2] = {1, numbers[at] + 1};

            run_row(rondo_algo_at(row), numbers[at], counts, 2);
        }
    }
}

/* A thousand orders of deliveries and polls of one small case a row. */
static void
many_orders(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint64_t seed = 0; seed < 1000; seed++) {
            gang_job job = {.algo = rondo_algo_at(row),
                            .nranks = 2 + (uint32_t)(seed % 5),
                            .count = 35,
                            .segment = seed % 3 == 0 ? 4 : 0,
                            .place = (gang_place)(seed / 5 % GANG_PLACES),
                            .dtype = RONDO_INT32,
                            .op = RONDO_SUM};

            set_mood(&job, seed);
            job.piece_bytes = 64 * (seed % 2);
            run_job(&job, 1);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_ranks),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test(many_orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
