/* bits.c - the same call gives the same bits: on every rank, in place or not, whatever
 * the timing and whichever receives were fused; also for numbers that round.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/gang.h"

#define SEEDS 8

/* Runs `job` and keeps every rank's result behind the one before. */
static void
run_and_keep(const gang_job *job, unsigned char *kept)
{
    struct gang *gang = NULL;

    assert_int_equal(gang_create(job, &gang), RONDO_OK);
    gang_fill(gang, gang_any);
    assert_int_equal(gang_run(gang), RONDO_OK);
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        const uint64_t bytes = gang_out_bytes(gang, rank);

        if (bytes > 0) {
            memcpy(kept, gang_out(gang, rank), bytes);
        }
        kept += bytes;
    }
    gang_destroy(gang);
}

static void
compare_timings(gang_job job)
{
    const uint64_t room = job.count * job.nranks * job.nranks * 8;
    unsigned char *const first = calloc(1, room);
    unsigned char *const other = calloc(1, room);
    const uint64_t each = job.count * rondo_dtype_bytes(job.dtype);

    assert_non_null(first);
    assert_non_null(other);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        job.seed = seed + 100;
        job.place = (gang_place)(seed % GANG_PLACES);
        job.busy_percent = seed == 0 ? 0 : 60;
        job.piece_bytes = 64 * (seed % 3);
        job.unbuffered = seed % 2 == 1;
        run_and_keep(&job, seed == 0 ? first : other);
        if (seed > 0) {
            assert_memory_equal(first, other, room);
        }
    }
    for (uint32_t rank = 1;
         job.algo->kind == RONDO_COLL_ALL_REDUCE && rank < job.nranks; rank++) {
        assert_memory_equal(first, first + rank * each, each);
    }
    free(first);
    free(other);
}

static void
same_bits_always(void **state)
{
    static const rondo_dtype dtypes[] = {RONDO_FP16, RONDO_BF16, RONDO_FP32,
                                         RONDO_FP64};

    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 1; nranks <= 9; nranks++) {
            for (uint32_t dtype = 0; dtype < 4; dtype++) {
                const gang_job job = {.algo = rondo_algo_at(row),
                                      .nranks = nranks,
                                      .root = nranks - 1,
                                      .count = 67,
                                      .segment = nranks % 2 == 0 ? 24 : 0,
                                      .dtype = dtypes[dtype],
                                      .op = nranks % 3 == 0 ? RONDO_AVG : RONDO_SUM};
                compare_timings(job);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_always),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
