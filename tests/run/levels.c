/* levels.c - the all-reduce over levels, run and compared with a naive result.
 * ctest: timeout=300 label=notsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/gang.h"
#include "lib/groupings.h"

#define ROUNDING_RANKS 6

/* The loopback's moods: nearly calm, hesitant with tiny pieces, without any buffer. */
static void
set_mood(gang_job *job, uint64_t seed)
{
    job->seed = seed;
    job->busy_percent = seed % 3 == 0 ? 0 : 40;
    job->piece_bytes = seed % 3 == 0 ? 0 : 64 * (seed % 5 + 1);
    job->unbuffered = seed % 3 == 2;
}

static void
run_job(const gang_job *job, uint32_t grouping)
{
    struct gang *gang = NULL;

    assert_int_equal(gang_create(job, &gang), RONDO_OK);
    gang_fill(gang, gang_whole);
    const rondo_status status = gang_run(gang);
    if (status != RONDO_OK || !gang_right(gang)) {
        fail_msg("%s+%s on %u ranks, %s, count %llu, seed %llu: status %d",
                 rondo_shape_text(job->inner), rondo_shape_text(job->outer),
                 job->nranks, groupings_text(grouping), (unsigned long long)job->count,
                 (unsigned long long)job->seed, (int)status);
    }
    gang_destroy(gang);
}

/* Every grouping with every pair of shapes; counts, places, types and moods in turn. */
static void
right_results(void **state)
{
    uint64_t turn = 0;

    (void)state;
    for (uint32_t nranks = 1; nranks <= 9; nranks++) {
        const uint64_t counts[] = {0, 1, nranks - 1, nranks, nranks + 1, 4099, 517};

        for (uint32_t number = 0; number < groupings_count(); number++) {
            const rondo_levels *const levels = groupings_make(number, nranks);

            for (uint32_t pair = 0;
                 levels != NULL && pair < RONDO_SHAPES * RONDO_SHAPES; pair++, turn++) {
                gang_job job = {.algo = rondo_algo_at(RONDO_ALGO_all_reduce_levels),
                                .nranks = nranks,
                                .count = counts[turn % 7],
                                .segment = turn % 2 == 0 ? 0 : 260,
                                .levels = levels,
                                .inner = (rondo_shape)(pair / RONDO_SHAPES),
                                .outer = (rondo_shape)(pair % RONDO_SHAPES),
                                .place = (gang_place)(turn / 2 % GANG_PLACES),
                                .dtype = turn % 4 == 0 ? RONDO_BF16 : RONDO_INT32,
                                .op = turn % 5 == 0 ? RONDO_AVG : RONDO_SUM};

                set_mood(&job, turn);
                run_job(&job, number);
            }
            rondo_levels_destroy(levels);
        }
    }
}

/* Runs `job` and keeps every rank's result behind the one before. */
static void
run_and_keep(const gang_job *job, unsigned char *kept)
{
    struct gang *gang = NULL;

    assert_int_equal(gang_create(job, &gang), RONDO_OK);
    gang_fill(gang, gang_any);
    assert_int_equal(gang_run(gang), RONDO_OK);
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        memcpy(kept, gang_out(gang, rank), gang_out_bytes(gang, rank));
        kept += gang_out_bytes(gang, rank);
    }
    gang_destroy(gang);
}

/* Numbers that round: all ranks get the same bits, whatever timing and place. */
static void
same_bits(void **state)
{
    static const uint32_t host_of[] = {0, 1, 0, 1, 2, 0};
    enum { COUNT = 67, BYTES = COUNT * 2 };
    unsigned char first[ROUNDING_RANKS * BYTES];
    unsigned char other[ROUNDING_RANKS * BYTES];

    (void)state;
    for (uint32_t nranks = 2; nranks <= ROUNDING_RANKS; nranks++) {
        const rondo_levels *levels = NULL;

        assert_int_equal(rondo_levels_create(nranks, host_of, NULL, &levels), RONDO_OK);
        for (uint32_t pair = 0; pair < RONDO_SHAPES * RONDO_SHAPES; pair++) {
            for (uint64_t seed = 0; seed < 6; seed++) {
                gang_job job = {.algo = rondo_algo_at(RONDO_ALGO_all_reduce_levels),
                                .nranks = nranks,
                                .count = COUNT,
                                .segment = pair % 3 == 0 ? 24 : 0,
                                .levels = levels,
                                .inner = (rondo_shape)(pair / RONDO_SHAPES),
                                .outer = (rondo_shape)(pair % RONDO_SHAPES),
                                .place = (gang_place)(seed % GANG_PLACES),
                                .dtype = RONDO_BF16,
                                .op = pair % 2 == 0 ? RONDO_AVG : RONDO_SUM};

                set_mood(&job, seed);
                run_and_keep(&job, seed == 0 ? first : other);
                assert_memory_equal(first, seed == 0 ? first : other, nranks * BYTES);
            }
            for (uint32_t rank = 1; rank < nranks; rank++) {
                assert_memory_equal(first, first + rank * BYTES, BYTES);
            }
        }
        rondo_levels_destroy(levels);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results),
        cmocka_unit_test(same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
