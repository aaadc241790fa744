/* topology_cores.c - how many cores ranks share, and who polls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/cores.h"

static void
counts_what_ranks_may_use(void **state)
{
    (void)state;
    /* Any number of ranks, each with its own processors or all with the same. */
    for (uint32_t nranks = 1; nranks <= 64; nranks++) {
        rondo_cores apart = {.quota = 0};
        rondo_cores together = {.quota = 0};

        for (uint32_t rank = 0; rank < nranks; rank++) {
            uint64_t own[RONDO_CPUS_MAX / 64] = {0};
            uint64_t all[RONDO_CPUS_MAX / 64] = {0};

            own[rank % 16] = UINT64_C(3) << (2 * (rank / 16));
            all[15] = 0xff;
            rondo_cores_add(&apart, own, UINT32_MAX);
            rondo_cores_add(&together, all, UINT32_MAX);
        }
        assert_int_equal(rondo_cores_count(&apart), 2 * nranks);
        assert_int_equal(rondo_cores_count(&together), 8);
    }
}

static void
obeys_the_smallest_quota(void **state)
{
    uint64_t mask[RONDO_CPUS_MAX / 64] = {[0] = 0xffff};
    static const uint32_t quotas[] = {UINT32_MAX, 20, 12, 14, 3, 5, 1};
    static const uint32_t counts[] = {16, 16, 12, 12, 3, 3, 1};
    rondo_cores cores = {.quota = 0};

    (void)state;
    assert_int_equal(rondo_cores_count(&cores), 1);
    for (uint32_t i = 0; i < 7; i++) {
        rondo_cores_add(&cores, mask, quotas[i]);
        assert_int_equal(rondo_cores_count(&cores), counts[i]);
    }
}

static void
polls_where_each_has_a_core(void **state)
{
    uint32_t spins = 0;

    (void)state;
    (void)unsetenv("RONDO_SPIN");
    for (uint32_t cores = 1; cores <= 70; cores++) {
        for (uint32_t nranks = 1; nranks <= 70; nranks++) {
            assert_int_equal(rondo_cores_spins(nranks, cores, false, &spins), RONDO_OK);
            assert_int_equal(spins > 0, nranks <= cores);
            const uint32_t alone = spins;
            assert_int_equal(rondo_cores_spins(nranks, cores, true, &spins), RONDO_OK);
            assert_int_equal(spins > 0, nranks <= cores);
            assert_true(spins <= alone);
        }
    }
    (void)setenv("RONDO_SPIN", "12", 1);
    assert_int_equal(rondo_cores_spins(9, 1, false, &spins), RONDO_OK);
    assert_int_equal(spins, 12);
    (void)setenv("RONDO_SPIN", "auto", 1);
    assert_int_equal(rondo_cores_spins(9, 1, false, &spins), RONDO_OK);
    assert_int_equal(spins, 0);
    spins = 5;
    (void)setenv("RONDO_SPIN", "4294967296", 1);
    assert_int_equal(rondo_cores_spins(9, 1, false, &spins), RONDO_ERR_ARG);
    assert_int_equal(spins, 5);
    assert_non_null(strstr(rondo_error_text(), "RONDO_SPIN"));
    (void)unsetenv("RONDO_SPIN");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_ranks_may_use),
        cmocka_unit_test(obeys_the_smallest_quota),
        cmocka_unit_test(polls_where_each_has_a_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
