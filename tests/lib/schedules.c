/* schedules.c - schedules of all ranks of one collective, for tests. */
#include "lib/schedules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "schedule/text.h"

bool
schedules_in_place(enum places places, uint32_t rank)
{
    switch (places) {
    case PLACES_IN_PLACE:
        return true;
    case PLACES_MIXED:
        return rank % 3 == 1 || rank % 7 == 0;
    default:
        return false;
    }
}

void
schedules_build(const rondo_algo *algo, const rondo_coll *coll, enum places places,
                schedules *set)
{
    assert_true(coll->nranks <= SCHEDULES_RANKS_MAX);
    set->nranks = coll->nranks;
    for (uint32_t rank = 0; rank < coll->nranks; rank++) {
        rondo_coll mine = *coll;

        mine.kind = algo->kind;
        mine.rank = rank;
        mine.in_place = schedules_in_place(places, rank);
        if (rondo_algo_build(algo, &mine, &set->of[rank]) != RONDO_OK) {
            fail_msg("%s %s: %s", rondo_coll_text(algo->kind), algo->shape,
                     rondo_error_text());
        }
    }
}

void
schedules_clear(schedules *set)
{
    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        rondo_schedule_destroy(set->of[rank]);
    }
    set->nranks = 0;
}

const rondo_schedule *const *
schedules_const(const schedules *set)
{
    static const rondo_schedule *shown[2][SCHEDULES_RANKS_MAX];
    static uint32_t turn;

    turn = 1 - turn;
    memcpy(shown[turn], set->of, sizeof set->of);
    return shown[turn];
}

static void *
twin(const void *items, uint64_t count, uint64_t more, size_t width)
{
    void *memory = NULL;

    assert_int_equal(rondo_alloc_zero((count + more) * width, &memory), RONDO_OK);
    if (count > 0) {
        memcpy(memory, items, count * width);
    }
    return memory;
}

rondo_schedule *
schedules_copy(const rondo_schedule *schedule)
{
    rondo_schedule *copy = NULL;

    assert_int_equal(rondo_schedule_bare(&schedule->coll, &copy), RONDO_OK);
    *copy = *schedule;
    copy->steps = twin(schedule->steps, schedule->nsteps, 1, sizeof(rondo_step));
    copy->needs = twin(schedule->needs, schedule->nneeds, 1, sizeof(uint64_t));
    copy->deps = NULL;
    copy->own_levels = NULL;
    return copy;
}

char *
schedules_text(const rondo_schedule *schedule)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);

    assert_non_null(out);
    assert_int_equal(rondo_schedule_print(schedule, out), RONDO_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

uint32_t
schedules_counts(uint32_t nranks, uint64_t counts[SCHEDULES_COUNTS_MAX])
{
    const uint64_t wanted[] = {0, 1, nranks - 1, nranks, nranks + 1, 3 * nranks + 2};
    uint32_t found = 0;

    for (uint32_t index = 0; index < sizeof wanted / sizeof wanted[0]; index++) {
        bool known = false;

        for (uint32_t other = 0; other < found; other++) {
            known = known || counts[other] == wanted[index];
        }
        if (!known) {
            counts[found++] = wanted[index];
        }
    }
    return found;
}
