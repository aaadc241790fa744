/* faults.c - transports that put calls off and peers that die: the same results, or an
 * error that names the peer, and never a run that does not end because of the error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/gang.h"

static void
delays_change_nothing(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        for (uint32_t nranks = 2; nranks <= 9; nranks++) {
            for (uint32_t percent = 20; percent <= 80; percent += 30) {
                const gang_job job = {.algo = rondo_algo_at(row),
                                      .nranks = nranks,
                                      .root = nranks - 1,
                                      .count = 61,
                                      .segment = percent == 20 ? 16 : 0,
                                      .place = (gang_place)(nranks % GANG_PLACES),
                                      .dtype = RONDO_INT32,
                                      .op = RONDO_SUM,
                                      .seed = percent + nranks,
                                      .piece_bytes = 64,
                                      .unbuffered = percent == 50,
                                      .delay_percent = percent};
                struct gang *gang = NULL;
                assert_int_equal(gang_create(&job, &gang), RONDO_OK);
                for (int run = 0; run < 2; run++) {
                    gang_fill(gang, gang_whole);
                    assert_int_equal(gang_run(gang), RONDO_OK);
                    assert_true(gang_right(gang));
                }
                gang_destroy(gang);
            }
        }
    }
}

/* After the death: who talks to the dead rank has RONDO_ERR_PEER and says so; who is
 * done has the right result; the others wait, for those above to tell them. */
static uint32_t
judge_survivors(const struct gang *gang, const gang_job *job)
{
    uint32_t failed = 0;

    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        const rondo_status status = gang_status(gang, rank);
        rondo_standing standing;

        if (rank == job->kill_rank || status == RONDO_OK || status == RONDO_BUSY) {
            continue;
        }
        assert_int_equal(status, RONDO_ERR_PEER);
        rondo_plan_standing(gang_plan(gang, rank), &standing);
        assert_int_equal(standing.peer, job->kill_rank);
        assert_true(standing.step < standing.nsteps);
        failed++;
    }
    return failed;
}

/* Every rank in turn dies at every moment of its peers, until that is after the end. */
static void
kill_one(gang_job job)
{
    uint32_t failures = 0;
    uint64_t kill_at = 1;
    rondo_status status = RONDO_ERR_PEER;

    for (; status != RONDO_OK && kill_at < 400; kill_at++) {
        struct gang *gang = NULL;

        job.kill_at = kill_at;
        assert_int_equal(gang_create(&job, &gang), RONDO_OK);
        gang_fill(gang, gang_whole);
        status = gang_run(gang);
        failures += judge_survivors(gang, &job);
        gang_destroy(gang);
    }
    assert_true(failures > 0);
}

static void
deaths_are_named(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        /* Signals of the dead do not fail, they do not come: no error of the
         * transport. */
        if (rondo_algo_at(row)->needs != RONDO_NEEDS_NOTHING) {
            continue;
        }
        for (uint32_t nranks = 2; nranks <= 5; nranks++) {
            for (uint32_t rank = 0; rank < nranks; rank++) {
                const gang_job job = {.algo = rondo_algo_at(row),
                                      .nranks = nranks,
                                      .root = 0,
                                      .count = 61,
                                      .dtype = RONDO_INT32,
                                      .op = RONDO_SUM,
                                      .seed = nranks,
                                      .piece_bytes = 64,
                                      .kill_rank = rank};
                kill_one(job);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_change_nothing),
        cmocka_unit_test(deaths_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
