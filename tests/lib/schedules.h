/* schedules.h - schedules of all ranks of one collective, for tests. */
#ifndef TESTS_LIB_SCHEDULES_H
#define TESTS_LIB_SCHEDULES_H

#include "algos/algos.h"

#define SCHEDULES_RANKS_MAX 64

/* Which ranks are in place. */
enum places { PLACES_APART, PLACES_IN_PLACE, PLACES_MIXED, PLACES };

/* One schedule per rank. */
typedef struct schedules {
    rondo_schedule *of[SCHEDULES_RANKS_MAX];
    uint32_t nranks;
} schedules;

/* schedules_in_place - whether `rank` is in place; mixed is neither even nor odd. */
bool
schedules_in_place(enum places places, uint32_t rank);

/* schedules_build - for all ranks of `coll` (its rank and in_place do not matter).
 * Fails the test when a schedule cannot be built. */
void
schedules_build(const rondo_algo *algo, const rondo_coll *coll, enum places places,
                schedules *set);

/* schedules_clear - destroy them. */
void
schedules_clear(schedules *set);

/* schedules_const - the same as the verifier takes it; good until the next call. */
const rondo_schedule *const *
schedules_const(const schedules *set);

/* schedules_copy - a schedule that may be spoilt, with room for more steps. */
rondo_schedule *
schedules_copy(const rondo_schedule *schedule);

/* schedules_text - the text form; the caller frees it. */
char *
schedules_text(const rondo_schedule *schedule);

/* schedules_counts - counts worth a try with `nranks` ranks, in `counts`; how many. */
#define SCHEDULES_COUNTS_MAX 8
uint32_t
schedules_counts(uint32_t nranks, uint64_t counts[SCHEDULES_COUNTS_MAX]);

#endif /* TESTS_LIB_SCHEDULES_H */
