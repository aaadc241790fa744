/* sync_canonical.c - the fixed tree: the same micro-batches give the same bits on 1, 2,
 * 4 and 8 ranks, with values whose sum depends on the order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/ranks.h"
#include "sync/state.h"

#define MICRO 8
#define COUNT 5000

/* Of magnitudes so different that every order of sums has bits of its own. */
static float
micro_gradient(uint32_t micro, uint64_t i)
{
    uint64_t state = i * 977 + micro;
    const uint64_t drawn = model_random(&state);
    const float size = (float)(drawn % 100003) * 1e-3F;

    return (drawn & (1U << 30)) != 0 ? size * 1e4F : -size;
}

/* Plain recursion over the tree, as the reference. */
static float
tree(uint32_t first, uint32_t count, uint64_t i)
{
    return count == 1
               ? micro_gradient(first, i)
               : tree(first, count / 2, i) + tree(first + count / 2, count / 2, i);
}

static void
share_of_the_work(rank_self *self)
{
    static _Thread_local float grad[COUNT];
    const uint32_t mine = MICRO / self->nranks;
    rondo_sync_config config;
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;
    uint32_t param = 0;

    rondo_sync_config_init(&config);
    config.canonical = 1;
    if (!rank_join(self, 20000, &comm) ||
        !rank_expect_status(self, rondo_sync_create(comm, &config, &sync), RONDO_OK,
                            NULL, "create") ||
        !rank_expect_status(self, rondo_sync_add(sync, "all", grad, COUNT, &param),
                            RONDO_OK, NULL, "add") ||
        !rank_expect_status(self, rondo_sync_commit(sync), RONDO_OK, comm, "commit")) {
        return;
    }
    rank_expect_status(self, rondo_sync_step_begin(sync), RONDO_OK, comm, "begin");
    for (uint64_t i = 0; i < COUNT; i++) {
        grad[i] = tree(self->rank * mine, mine, i) / (float)mine;
    }
    rank_expect_status(self, rondo_sync_grad_ready(sync, param), RONDO_OK, comm,
                       "ready");
    rank_expect_status(self, rondo_sync_step_wait(sync, NULL), RONDO_OK, comm, "wait");
    for (uint64_t i = 0; i < COUNT; i++) {
        const float want = tree(0, MICRO, i) / (float)MICRO;
        if (!rank_expect(self, memcmp(&grad[i], &want, sizeof want) == 0,
                         "element %d is %a, not %a", (int)i, (double)grad[i],
                         (double)want)) {
            break;
        }
    }
    rondo_sync_destroy(sync);
    rondo_comm_destroy(comm);
}

static void
same_bits_on_any_number_of_ranks(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= MICRO; nranks *= 2) {
        run_ranks(nranks, AS_PROCESSES, share_of_the_work, NULL, 20000);
        run_ranks(nranks, AS_THREADS, share_of_the_work, NULL, 20000);
    }
}

/* The tree by itself, against the recursion, at counts around its block. */
static void
tree_mean(void **state)
{
    static const uint64_t some[] = {1, 2, 15, 2047, 2048, 2049, 4097};

    (void)state;
    for (uint32_t nranks = 1; nranks <= MICRO; nranks *= 2) {
        for (size_t c = 0; c < sizeof some / sizeof *some; c++) {
            const uint64_t count = some[c];
            float *const gathered = malloc(count * nranks * sizeof *gathered);
            float *const mean = malloc(count * sizeof *mean);
            assert_non_null(gathered);
            assert_non_null(mean);
            for (uint64_t i = 0; i < count * nranks; i++) {
                gathered[i] = micro_gradient((uint32_t)(i / count), i % count);
            }
            rondo_sync_tree_mean(gathered, nranks, count, mean);
            for (uint64_t i = 0; i < count; i++) {
                const float want = tree(0, nranks, i) / (float)nranks;
                assert_memory_equal(&mean[i], &want, sizeof want);
            }
            free(gathered);
            free(mean);
        }
    }
}

static void
wants_a_power_of_two(rank_self *self)
{
    rondo_sync_config config;
    rondo_comm *comm = NULL;
    rondo_sync *sync = NULL;
    const bool right = (self->nranks & (self->nranks - 1)) == 0;

    rondo_sync_config_init(&config);
    config.canonical = 1;
    if (!rank_join(self, 20000, &comm)) {
        return;
    }
    const rondo_status status = rondo_sync_create(comm, &config, &sync);
    rank_expect_status(self, status, right ? RONDO_OK : RONDO_ERR_ARG, NULL, "create");
    rank_expect(self, right || sync == NULL, "a synchroniser was set");
    if (!right) {
        rank_expect_text(self, rondo_error_text(), "power of two", "create");
    }
    rondo_sync_destroy(sync);
    rondo_comm_destroy(comm);
}

static void
powers_of_two_only(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 8; nranks++) {
        run_ranks(nranks, AS_THREADS, wants_a_power_of_two, NULL, 20000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_mean),
        cmocka_unit_test(same_bits_on_any_number_of_ranks),
        cmocka_unit_test(powers_of_two_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
