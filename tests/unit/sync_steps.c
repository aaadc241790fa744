/* sync_steps.c - the gradient synchroniser: means are right whatever the layout, the
 * buckets, the order of readiness and the number of ranks, and a step allocates
 * nothing. ctest: timeout=180 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "lib/model.h"
#include "lib/ranks.h"

#define PARAMS_MAX 9
#define COUNT_MAX  1500
#define STEPS      10
#define STEPS_LONG 40
#define SETTLED    8
#define ROOM       (PARAMS_MAX * (COUNT_MAX + 64))

/* Elements of each parameter, in the order of adding. */
static const uint64_t counts[PARAMS_MAX] = {500, 1, 1024, 17, 1500, 3, 250, 64, 10};

/* How the gradients lie in memory. */
typedef enum layout { CONTIGUOUS, WITH_GAPS, BACKWARDS, BY_RANK, LAYOUTS } layout;

/* One way to run. */
typedef struct variant {
    layout layout;
    uint32_t nparams;
    uint64_t first_bucket_bytes;
    uint64_t bucket_bytes;
    uint32_t canonical;
    rondo_sync_mode mode;
    bool registered;
} variant;

typedef struct trainer {
    rank_self *self;
    const variant *how;
    rondo_comm *comm;
    rondo_sync *sync;
    float *memory;
    float *grad[PARAMS_MAX];
    uint32_t param[PARAMS_MAX];
} trainer;

static void
lay_out(trainer *t)
{
    layout form = t->how->layout;
    float *at = t->memory;

    if (form == BY_RANK) {
        form = t->self->rank % 2 == 0 ? CONTIGUOUS : BACKWARDS;
    }
    for (uint32_t i = 0; i < t->how->nparams; i++) {
        const uint32_t p = form == BACKWARDS ? t->how->nparams - 1 - i : i;
        t->grad[p] = at;
        at += counts[p] + (form == WITH_GAPS ? 5 : 0);
    }
}

static float
brought(uint32_t rank, uint64_t step, uint32_t param, uint64_t i)
{
    uint64_t state = (uint64_t)rank << 40 ^ step << 20 ^ (uint64_t)param << 60 ^ i;

    return (float)(int32_t)(model_random(&state) % 2001) - 1000.0F;
}

/* The mean as the synchroniser must form it: exact sums, so any order gives the
 * same. */
static float
mean_of(const trainer *t, uint64_t step, uint32_t param, uint64_t i)
{
    float sum = 0.0F;

    if (t->how->mode == RONDO_SYNC_NONE) {
        return brought(t->self->rank, step, param, i);
    }
    for (uint32_t r = 0; r < t->self->nranks; r++) {
        sum += brought(r, step, param, i);
    }
    return sum / (float)t->self->nranks;
}

static bool
set_up(trainer *t)
{
    rondo_sync_config config;
    void *block = NULL;

    if (!rank_expect_status(t->self, rondo_mem_alloc(ROOM * sizeof(float), &block),
                            RONDO_OK, NULL, "rondo_mem_alloc") ||
        !rank_join(t->self, 20000, &t->comm)) {
        return false;
    }
    t->memory = block;
    if (t->how->registered &&
        !rank_expect_status(t->self, rondo_mem_register(t->comm, block), RONDO_OK,
                            t->comm, "rondo_mem_register")) {
        return false;
    }
    rondo_sync_config_init(&config);
    config.mode = t->how->mode;
    config.canonical = t->how->canonical;
    config.first_bucket_bytes = t->how->first_bucket_bytes;
    config.bucket_bytes = t->how->bucket_bytes;
    if (!rank_expect_status(t->self, rondo_sync_create(t->comm, &config, &t->sync),
                            RONDO_OK, NULL, "rondo_sync_create")) {
        return false;
    }
    lay_out(t);
    for (uint32_t p = 0; p < t->how->nparams; p++) {
        char name[32];
        (void)snprintf(name, sizeof name, "tensor %u", p);
        if (!rank_expect_status(
                t->self,
                rondo_sync_add(t->sync, name, t->grad[p], counts[p], &t->param[p]),
                RONDO_OK, NULL, "rondo_sync_add")) {
            return false;
        }
    }
    return rank_expect_status(t->self, rondo_sync_commit(t->sync), RONDO_OK, t->comm,
                              rondo_sync_error_text(t->sync));
}

/* Which parameter becomes ready as the i-th: last first, or shuffled by rank and
 * step. */
static uint32_t
ready_order(const trainer *t, uint64_t step, uint32_t i)
{
    const uint32_t n = t->how->nparams;

    if (step % 2 == 0) {
        return n - 1 - i;
    }
    return (i + t->self->rank + (uint32_t)step) % n;
}

static bool
means_are_right(trainer *t, uint64_t step)
{
    for (uint32_t p = 0; p < t->how->nparams; p++) {
        for (uint64_t i = 0; i < counts[p]; i++) {
            const float want = mean_of(t, step, p, i);
            if (!rank_expect(t->self, t->grad[p][i] == want,
                             "step %d: element %d of tensor %u is %.9g, not %.9g",
                             (int)step, (int)i, p, (double)t->grad[p][i],
                             (double)want)) {
                return false;
            }
        }
    }
    return true;
}

static bool
info_is_right(trainer *t, uint64_t step, const rondo_sync_step_info *info)
{
    uint64_t bytes = 0;

    for (uint32_t p = 0; p < t->how->nparams; p++) {
        bytes += t->how->mode == RONDO_SYNC_NONE ? 0 : counts[p] * sizeof(float);
    }
    return rank_expect(t->self, info->step == step, "the step is %d, not %d",
                       (int)info->step, (int)step) &&
           rank_expect(t->self, info->payload_bytes == bytes, "%d bytes, not %d",
                       (int)info->payload_bytes, (int)bytes) &&
           rank_expect(t->self, info->communication_ns < UINT64_C(20000000000),
                       "communication took %llu ns",
                       (unsigned long long)info->communication_ns);
}

static bool
one_step(trainer *t, uint64_t step)
{
    rondo_sync_step_info info = {.size = sizeof info};
    rondo_status status = rondo_sync_step_begin(t->sync);

    rank_note(t->self, "step %d", (int)step);
    for (uint32_t i = 0; status == RONDO_OK && i < t->how->nparams; i++) {
        const uint32_t p = ready_order(t, step, i);
        for (uint64_t e = 0; e < counts[p]; e++) {
            t->grad[p][e] = brought(t->self->rank, step, p, e);
        }
        status = rondo_sync_grad_ready(t->sync, t->param[p]);
        if (status == RONDO_OK && i % 2 == 1) {
            status = rondo_sync_progress(t->sync);
        }
    }
    if (status == RONDO_OK) {
        status = rondo_sync_step_wait(t->sync, &info);
    }
    return rank_expect(t->self, status == RONDO_OK, "step %d: %s: %s", (int)step,
                       rondo_status_name(status), rondo_sync_error_text(t->sync)) &&
           means_are_right(t, step) && info_is_right(t, step, &info);
}

static void
train(rank_self *self)
{
    trainer t = {.self = self, .how = self->user};
    uint64_t allocations = 0;
    const bool longer = self->kind == AS_PROCESSES && self->nranks == 2;
    bool good = set_up(&t);

    for (uint64_t step = 0; good && step < (longer ? STEPS_LONG : STEPS); step++) {
        /* The first steps build schedules. */
        allocations = step == SETTLED ? rondo_alloc_count() : allocations;
        good = one_step(&t, step);
    }
    if (good && self->kind == AS_PROCESSES) {
        /* A request more, where more buckets than ever are in flight, and no others. */
        const uint64_t made = rondo_alloc_count() - allocations;
        rank_expect(self, made <= PARAMS_MAX, "%d allocations in steady state",
                    (int)made);
    }
    rondo_sync_destroy(t.sync);
    rondo_comm_destroy(t.comm);
    rondo_mem_free(t.memory);
}

static void
each_layout(uint32_t nranks, rank_kind kind, uint32_t canonical)
{
    static const uint64_t sizes[][2] = {{65536, 1 << 20}, {1, 1}, {64, 5000}};

    for (layout form = 0; form < LAYOUTS; form++) {
        for (int s = 0; s < 3; s++) {
            variant how = {form,      PARAMS_MAX, sizes[s][0], sizes[s][1],
                           canonical, 0,          s == 0};
            run_ranks(nranks, kind, train, &how, 30000);
        }
    }
}

static void
threads(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 5; nranks++) {
        each_layout(nranks, AS_THREADS, 0);
    }
}

static void
processes(void **state)
{
    (void)state;
    each_layout(1, AS_PROCESSES, 0);
    each_layout(2, AS_PROCESSES, 0);
    each_layout(3, AS_PROCESSES, 0);
}

static void
canonical(void **state)
{
    (void)state;
    for (uint32_t nranks = 1; nranks <= 8; nranks *= 2) {
        each_layout(nranks, AS_THREADS, 1);
    }
    each_layout(4, AS_PROCESSES, 1);
}

static void
no_exchange(void **state)
{
    variant how = {CONTIGUOUS, PARAMS_MAX, 65536, 1 << 20, 0, RONDO_SYNC_NONE, false};

    (void)state;
    run_ranks(2, AS_PROCESSES, train, &how, 20000);
    run_ranks(3, AS_THREADS, train, &how, 20000);
}

static void
few_parameters(void **state)
{
    (void)state;
    for (uint32_t nparams = 0; nparams <= 3; nparams++) {
        variant how = {WITH_GAPS, nparams, 4096, 8192, 0, 0, false};
        run_ranks(2, AS_THREADS, train, &how, 20000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),        cmocka_unit_test(processes),
        cmocka_unit_test(canonical),      cmocka_unit_test(no_exchange),
        cmocka_unit_test(few_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
