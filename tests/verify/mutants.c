/* mutants.c - schedules spoilt in one place: the verifier must refuse each of them,
 * unless a rule of lib/excuse.c says why the change does no harm. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/excuse.h"
#include "verify/verify.h"

/* What became of the mutants. */
struct tally {
    uint64_t tried;
    uint64_t refused;
    uint64_t excused;
};

static struct tally tallies[SPOIL_ROWS + 1];

#define REASONS_MAX 16
static struct reason {
    const char *text;
    uint64_t times;
} reasons[REASONS_MAX];

static void
note_reason(const char *text)
{
    uint32_t at = 0;

    while (reasons[at].text != NULL && reasons[at].text != text) {
        at++;
        assert_true(at < REASONS_MAX);
    }
    reasons[at].text = text;
    reasons[at].times++;
}

static bool
is_refused(const schedules *set, uint32_t rank, const rondo_schedule *mutant)
{
    const rondo_schedule *shown[SCHEDULES_RANKS_MAX];

    memcpy(shown, set->of, sizeof shown);
    shown[rank] = mutant;
    const rondo_status status = rondo_verify(shown, set->nranks, NULL);
    if (status == RONDO_OK) {
        return false;
    }
    /* A refusal is a sentence that names a rank. */
    assert_int_equal(status, RONDO_ERR_INTERNAL);
    assert_non_null(strstr(rondo_error_text(), "rank "));
    return true;
}

/* A survivor: `reason` says why it does no harm, or the verifier is asleep. */
static void
let_pass(const struct spot *spot, const char *name, const rondo_schedule *mutant,
         const char *reason, struct tally *tally)
{
    if (reason == NULL) {
        char *const text = schedules_text(mutant);

        fail_msg("not refused: %s, rank %" PRIu32 " step %" PRIu64 ":\n%s", name,
                 spot->rank, spot->at, text);
    }
    tally->excused++;
    note_reason(reason);
}

static void
spoil_step(const struct spot *spot, uint32_t row)
{
    const spoil_function spoil = spoil_rows[row].spoil;
    rondo_schedule *const mutant =
        spoil_schedule(spot->set->of[spot->rank], spot->at, spoil);

    if (mutant == NULL) {
        return;
    }
    tallies[row].tried++;
    if (is_refused(spot->set, spot->rank, mutant)) {
        tallies[row].refused++;
    } else {
        let_pass(spot, spoil_rows[row].name, mutant, excuse_for(spot, spoil, mutant),
                 &tallies[row]);
    }
    rondo_schedule_destroy(mutant);
}

/* A need removed: what a mistaken builder would do. */
static void
spoil_needs(const struct spot *spot)
{
    for (uint64_t need = 0; need < spot->before->needs; need++) {
        rondo_schedule *const mutant = schedules_copy(spot->set->of[spot->rank]);
        rondo_step *const step = &mutant->steps[spot->at];
        uint64_t *const needs = &mutant->needs[step->needs_at];
        const uint64_t gone = needs[need];

        needs[need] = needs[step->needs - 1];
        step->needs--;
        tallies[SPOIL_ROWS].tried++;
        if (is_refused(spot->set, spot->rank, mutant)) {
            tallies[SPOIL_ROWS].refused++;
        } else {
            let_pass(spot, "need removed", mutant, excuse_need(spot, gone, mutant),
                     &tallies[SPOIL_ROWS]);
        }
        rondo_schedule_destroy(mutant);
    }
}

static void
spoil_set(const schedules *set)
{
    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
            const struct spot spot = {set, rank, at, &set->of[rank]->steps[at]};

            for (uint32_t number = 0; number < SPOIL_ROWS; number++) {
                spoil_step(&spot, number);
            }
            spoil_needs(&spot);
        }
    }
}

static void
spoil_all(uint32_t nranks, uint64_t count, uint64_t segment)
{
    for (uint32_t row = 0; row < rondo_algo_count(); row++) {
        const rondo_coll coll = {
            .nranks = nranks, .count = count, .segment = segment, .root = 0};
        schedules set;

        schedules_build(rondo_algo_at(row), &coll, PLACES_MIXED, &set);
        spoil_set(&set);
        schedules_clear(&set);
    }
}

/* Over levels: all shapes inside with all between. */
static void
spoil_levels(const uint32_t *host_of, const uint32_t *part_of, rondo_coll coll)
{
    assert_int_equal(rondo_levels_create(coll.nranks, host_of, part_of, &coll.levels),
                     RONDO_OK);
    for (uint32_t pair = 0; pair < RONDO_SHAPES * RONDO_SHAPES; pair++) {
        schedules set;

        coll.inner = (rondo_shape)(pair / RONDO_SHAPES);
        coll.outer = (rondo_shape)(pair % RONDO_SHAPES);
        schedules_build(rondo_algo_at(RONDO_ALGO_all_reduce_levels), &coll,
                        PLACES_MIXED, &set);
        spoil_set(&set);
        schedules_clear(&set);
    }
    rondo_levels_destroy(coll.levels);
}

static void
spoil_all_levels(void)
{
    static const uint32_t turns[] = {0, 1, 0, 1, 0, 1};
    static const uint32_t lopsided[] = {0, 0, 1, 0, 2};
    static const uint32_t hosts[] = {0, 0, 0, 0, 1, 1, 1, 1};
    static const uint32_t parts[] = {0, 1, 0, 1, 0, 1, 0, 1};

    spoil_levels(turns, NULL, (rondo_coll){.nranks = 4, .count = 9});
    spoil_levels(turns, NULL, (rondo_coll){.nranks = 4, .count = 24, .segment = 8});
    spoil_levels(turns, NULL, (rondo_coll){.nranks = 6, .count = 7});
    spoil_levels(lopsided, NULL, (rondo_coll){.nranks = 4, .count = 5});
    spoil_levels(lopsided, NULL, (rondo_coll){.nranks = 5, .count = 20, .segment = 7});
    spoil_levels(hosts, parts, (rondo_coll){.nranks = 8, .count = 9});
}

static void
report(const char *name, const struct tally *tally)
{
    print_message("%-26s %7" PRIu64 " tried %7" PRIu64 " refused %6" PRIu64
                  " harmless\n",
                  name, tally->tried, tally->refused, tally->excused);
}

static void
test_mutants(void **state)
{
    struct tally all = {0};

    (void)state;
    for (uint32_t nranks = 2; nranks <= 6; nranks++) {
        const uint64_t counts[] = {1, nranks, nranks + 1, 3 * nranks + 2};

        for (uint32_t at = 0; at < 4; at++) {
            spoil_all(nranks, counts[at], 0);
        }
        spoil_all(nranks, 3 * nranks + 2, 7);
    }
    spoil_all(8, 19, 0);
    spoil_all(9, 12, 7);
    spoil_all_levels();
    for (uint32_t number = 0; number <= SPOIL_ROWS; number++) {
        const bool steps = number < SPOIL_ROWS;

        report(steps ? spoil_rows[number].name : "need removed", &tallies[number]);
        assert_true(tallies[number].tried > 0);
        all.tried += tallies[number].tried;
        all.refused += tallies[number].refused;
        all.excused += tallies[number].excused;
    }
    report("all", &all);
    for (uint32_t at = 0; at < REASONS_MAX && reasons[at].text != NULL; at++) {
        print_message("harmless %6" PRIu64 ": %s\n", reasons[at].times,
                      reasons[at].text);
    }
    assert_int_equal(all.tried, all.refused + all.excused);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
