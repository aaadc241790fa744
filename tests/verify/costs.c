/* costs.c - what the head of each algorithm's file says it costs, in formulas, held
 * against what the proof counts. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/schedules.h"
#include "schedule/blocks.h"
#include "verify/verify.h"

#define RANKS_MAX 40

static uint64_t
log2_down(uint64_t number)
{
    return 63 - (uint64_t)__builtin_clzll(number);
}

static uint64_t
log2_up(uint64_t number)
{
    return number <= 1 ? 0 : log2_down(number - 1) + 1;
}

/* Nothing moves when there is nobody to move it to, or nothing to move. */
static bool
idle(const rondo_coll *coll)
{
    return coll->nranks == 1 || coll->count == 0;
}

static rondo_verdict
one_shot(const rondo_coll *coll)
{
    const uint64_t others = coll->nranks - 1;

    return (rondo_verdict){.turns = idle(coll) ? 0 : 1,
                           .sent_max = others * coll->count,
                           .sent_total = coll->nranks * others * coll->count,
                           .messages_total = idle(coll) ? 0 : coll->nranks * others,
                           .roundings_max = coll->count == 0 ? 0 : others,
                           .uniform = true};
}

/* Blocks that are empty are not sent, so with fewer elements than ranks only the volume
 * is promised; `turns` 0 stands for that. */
static rondo_verdict
all_reduce_ring(const rondo_coll *coll)
{
    const uint64_t nranks = coll->nranks;
    const uint64_t others = nranks - 1;
    const bool full = coll->count >= nranks;
    uint64_t most = 0;

    for (uint64_t rank = 0; nranks > 1 && rank < nranks; rank++) {
        const uint64_t kept =
            rondo_block_count(coll->count, nranks, rank) +
            rondo_block_count(coll->count, nranks, (rank + 1) % nranks);

        most = 2 * coll->count - kept > most ? 2 * coll->count - kept : most;
    }
    return (rondo_verdict){.turns = full ? 2 * others : 0,
                           .sent_max = most,
                           .sent_total = 2 * others * coll->count,
                           .messages_total = full ? 2 * others * nranks : 0,
                           .roundings_max = coll->count == 0 ? 0 : others,
                           .uniform = nranks == 1 || coll->count < 2};
}

static rondo_verdict
all_reduce_halving_doubling(const rondo_coll *coll)
{
    const uint64_t halvings = log2_down(coll->nranks);
    const uint64_t power = UINT64_C(1) << halvings;
    const uint64_t above = coll->nranks - power;
    const bool even = coll->count % power == 0 && coll->count > 0;
    const uint64_t exchanged = 2 * (power - 1) * (coll->count / power);

    return (rondo_verdict){
        .turns = even ? 2 * halvings + (above > 0 ? 2 : 0) : 0,
        .sent_max = even ? exchanged + (above > 0 ? coll->count : 0) : UINT64_MAX,
        .sent_total = 2 * (power - 1) * coll->count + 2 * above * coll->count,
        .messages_total = even ? 2 * halvings * power + 2 * above : 0,
        .roundings_max = coll->count == 0 ? 0 : halvings + (above > 0),
        .uniform = true};
}

static rondo_verdict
all_reduce_tree(const rondo_coll *coll)
{
    const uint64_t others = coll->nranks - 1;

    return (rondo_verdict){.turns = idle(coll) ? 0 : 2 * log2_down(coll->nranks),
                           .sent_max = log2_up(coll->nranks) * coll->count,
                           .sent_total = 2 * others * coll->count,
                           .messages_total = idle(coll) ? 0 : 2 * others,
                           .roundings_max = idle(coll) ? 0 : log2_up(coll->nranks),
                           .uniform = true};
}

static rondo_verdict
direct(const rondo_coll *coll)
{
    return (rondo_verdict){.turns = coll->nranks == 1 ? 0 : 2,
                           .roundings_max = coll->count == 0 ? 0 : coll->nranks - 1,
                           .uniform = true};
}

static rondo_verdict
blocks_ring(const rondo_coll *coll)
{
    const uint64_t others = coll->nranks - 1;

    return (rondo_verdict){.turns = idle(coll) ? 0 : others,
                           .sent_max = others * coll->count,
                           .sent_total = coll->nranks * others * coll->count,
                           .messages_total = idle(coll) ? 0 : coll->nranks * others};
}

static rondo_verdict
reduce_scatter_ring(const rondo_coll *coll)
{
    rondo_verdict verdict = blocks_ring(coll);

    verdict.uniform = idle(coll);
    verdict.roundings_max = idle(coll) ? 0 : coll->nranks - 1;
    return verdict;
}

static rondo_verdict
all_gather_ring(const rondo_coll *coll)
{
    rondo_verdict verdict = blocks_ring(coll);

    verdict.uniform = true;
    return verdict;
}

static rondo_verdict
broadcast_tree(const rondo_coll *coll)
{
    const uint64_t others = coll->nranks - 1;

    return (rondo_verdict){.turns = idle(coll) ? 0 : log2_down(coll->nranks),
                           .sent_max = log2_up(coll->nranks) * coll->count,
                           .sent_total = others * coll->count,
                           .messages_total = idle(coll) ? 0 : others,
                           .uniform = true};
}

static rondo_verdict
reduce_tree(const rondo_coll *coll)
{
    rondo_verdict verdict = broadcast_tree(coll);

    verdict.sent_max = idle(coll) ? 0 : coll->count;
    verdict.roundings_max = idle(coll) ? 0 : log2_up(coll->nranks);
    return verdict;
}

static rondo_verdict
barrier(const rondo_coll *coll)
{
    const uint64_t turns = log2_up(coll->nranks);

    return (rondo_verdict){.turns = turns,
                           .sent_max = turns,
                           .sent_total = coll->nranks * turns,
                           .messages_total = coll->nranks * turns,
                           .uniform = true};
}

static const struct promise {
    const char *row;
    rondo_verdict (*of)(const rondo_coll *coll);
} promises[] = {
    {"all_reduce one_shot", one_shot},
    {"all_reduce ring", all_reduce_ring},
    {"all_reduce halving_doubling", all_reduce_halving_doubling},
    {"all_reduce tree", all_reduce_tree},
    {"all_reduce direct", direct},
    /* Flat here; levels.c holds it to account with levels. */
    {"all_reduce levels", all_reduce_ring},
    {"reduce_scatter ring", reduce_scatter_ring},
    {"all_gather ring", all_gather_ring},
    {"broadcast tree", broadcast_tree},
    {"reduce tree", reduce_tree},
    {"barrier dissemination", barrier},
};

static const struct promise *
promise_of(const rondo_algo *algo)
{
    char row[64];

    (void)snprintf(row, sizeof row, "%s %s", rondo_coll_text(algo->kind), algo->shape);
    for (uint32_t at = 0; at < sizeof promises / sizeof promises[0]; at++) {
        if (strcmp(promises[at].row, row) == 0) {
            return &promises[at];
        }
    }
    fail_msg("%s: put the formulas of its Cost here", row);
    return NULL;
}

static void
compare(const struct promise *promise, const rondo_coll *coll,
        const rondo_verdict *found)
{
    const rondo_verdict want = promise->of(coll);
    const bool all = want.turns > 0 || want.messages_total > 0 || idle(coll);
    const bool counts = !all || (want.turns == found->turns &&
                                 want.messages_total == found->messages_total);
    const bool volume =
        want.sent_total == found->sent_total &&
        (want.sent_max == UINT64_MAX || want.sent_max == found->sent_max);

    if (!counts || !volume || want.uniform != found->uniform ||
        want.roundings_max != found->roundings_max || found->encodings_max != 0) {
        fail_msg("%s, %" PRIu32 " ranks, count %" PRIu64 ": turns %" PRIu64
                 " not %" PRIu64 ", most sent %" PRIu64 " not %" PRIu64
                 ", sent %" PRIu64 " not %" PRIu64 ", messages %" PRIu64 " not %" PRIu64
                 ", uniform %d not %d"
                 ", roundings %" PRIu64 " not %" PRIu64,
                 promise->row, coll->nranks, coll->count, found->turns, want.turns,
                 found->sent_max, want.sent_max, found->sent_total, want.sent_total,
                 found->messages_total, want.messages_total, (int)found->uniform,
                 (int)want.uniform, found->roundings_max, want.roundings_max);
    }
}

static void
test_costs(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_algo *const algo = rondo_algo_at(row);
        const struct promise *const promise = promise_of(algo);

        for (uint32_t nranks = 1; nranks <= RANKS_MAX; nranks++) {
            uint64_t counts[SCHEDULES_COUNTS_MAX];
            uint32_t ncounts = schedules_counts(nranks, counts);

            counts[ncounts++] = 64;
            for (uint32_t at = 0; at < ncounts; at++) {
                const rondo_coll coll = {
                    .kind = algo->kind, .nranks = nranks, .count = counts[at]};
                rondo_verdict found;
                schedules set;

                schedules_build(algo, &coll, PLACES_MIXED, &set);
                assert_int_equal(rondo_verify(schedules_const(&set), nranks, &found),
                                 RONDO_OK);
                compare(promise, &coll, &found);
                schedules_clear(&set);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
