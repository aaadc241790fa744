/* sixty_four_ranks.c - 64 ranks on few cores: right sums at all sizes, a quick start,
 * and little memory of their own.
 * ctest: timeout=180 label=slow serial hosts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model.h"
#include "lib/ranks.h"

#define RANKS     64
#define BYTES_MAX (1 << 20)
#define START_MS  3000
#define OWN_KIB   (40 * 1024)

/* Memory that belongs to this process alone. */
static uint64_t
own_kib(void)
{
    char line[256];
    unsigned long long kib = 0;
    uint64_t sum = 0;
    FILE *const file = fopen("/proc/self/smaps_rollup", "r");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Private_Clean: %llu", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %llu", &kib) == 1) {
            sum += kib;
        }
    }
    (void)!(file != NULL && fclose(file) == 0);
    return sum;
}

static bool
one_size(rank_self *self, rondo_comm *comm, uint64_t bytes)
{
    const uint64_t count = bytes / sizeof(float);
    const model numbers = {RONDO_FP32, RONDO_SUM, self->nranks, bytes};
    float *const data = malloc(bytes);
    float *const want = malloc(bytes);
    bool good = rank_expect(self, data != NULL && want != NULL, "no memory");

    rank_note(self, "all_reduce of %d bytes", (int)bytes);
    if (good) {
        model_input(&numbers, self->rank, 0, count, data);
        good = rank_expect_status(
            self, rondo_all_reduce(comm, data, data, count, RONDO_FP32, RONDO_SUM),
            RONDO_OK, comm, "all_reduce");
    }
    /* One rank in eight looks at everything; the cores are few. */
    if (good && self->rank % 8 == 0) {
        model_result(&numbers, 0, count, want);
        good = rank_expect(self, memcmp(data, want, bytes) == 0,
                           "the sum of %d bytes is wrong", (int)bytes);
    }
    free(data);
    free(want);
    return good;
}

/* The slowest start of all ranks, in ms. */
static _Atomic uint64_t *slowest;

static void
note_start(uint64_t start_ms)
{
    uint64_t before = atomic_load(slowest);

    while (start_ms > before &&
           !atomic_compare_exchange_weak(slowest, &before, start_ms)) {
    }
}

static void
crowd(rank_self *self)
{
    rondo_comm *comm = NULL;

    /* Starting 64 processes is the system's business; joining is ours. */
    if (!rank_meet(self, 0, 30000)) {
        return;
    }
    const uint64_t begin_ms = test_now_ms();
    if (!rank_join(self, 60000, &comm)) {
        return;
    }
    const uint64_t start_ms = test_now_ms() - begin_ms;
    note_start(start_ms);
    rank_expect(self, start_ms < START_MS, "joining took %d ms", (int)start_ms);
    for (uint64_t bytes = 8; bytes <= BYTES_MAX; bytes *= 8) {
        for (int i = 0; i < 3; i++) {
            if (!one_size(self, comm, bytes)) {
                rondo_comm_destroy(comm);
                return;
            }
        }
    }
    rank_expect_status(self, rondo_barrier(comm), RONDO_OK, comm, "barrier");
    if (self->kind == AS_PROCESSES) {
        const uint64_t kib = own_kib();
        rank_expect(self, kib < OWN_KIB, "own memory is %d KiB", (int)kib);
    }
    rondo_comm_destroy(comm);
}

static void
start(rank_kind kind, const char *as)
{
    atomic_store(slowest, 0);
    run_ranks(RANKS, kind, crowd, NULL, 60000);
    print_message("%d ranks, %s: all have joined after %d ms\n", RANKS, as,
                  (int)atomic_load(slowest));
}

static void
processes(void **state)
{
    (void)state;
    start(AS_PROCESSES, "processes");
}

static void
on_four_hosts(void **state)
{
    (void)state;
    if (test_over_hosts()) {
        assert_int_equal(setenv("RONDO_TEST_HOSTS", "4", 1), 0);
        start(AS_PROCESSES, "processes on four hosts");
    }
}

static void
threads(void **state)
{
    (void)state;
    start(AS_THREADS, "threads");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(threads),
        cmocka_unit_test(on_four_hosts),
    };

    slowest = test_shared(sizeof *slowest);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
