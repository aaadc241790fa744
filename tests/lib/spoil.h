/* spoil.h - schedules spoilt in one place, as an author's slip would spoil them. */
#ifndef TESTS_LIB_SPOIL_H
#define TESTS_LIB_SPOIL_H

#include "lib/schedules.h"

/* The steps of a schedule, with room for one more. */
struct spoil_steps {
    rondo_step *at;
    uint64_t count;
    rondo_coll coll;
};

/* Spoils step `at`; false where that kind of slip does not apply to it. */
typedef bool (*spoil_function)(struct spoil_steps *steps, uint64_t at);

bool
spoil_drop(struct spoil_steps *steps, uint64_t at);
bool
spoil_peer(struct spoil_steps *steps, uint64_t at);
bool
spoil_longer(struct spoil_steps *steps, uint64_t at);
bool
spoil_operands(struct spoil_steps *steps, uint64_t at);
bool
spoil_wait_less(struct spoil_steps *steps, uint64_t at);
bool
spoil_wait_more(struct spoil_steps *steps, uint64_t at);
bool
spoil_order(struct spoil_steps *steps, uint64_t at);

/* All of them, those above included. */
struct spoil_row {
    const char *name;
    spoil_function spoil;
};
#define SPOIL_ROWS 17
extern const struct spoil_row spoil_rows[SPOIL_ROWS];

/* spoil_schedule - the schedule with step `at` spoilt and its needs derived anew; null
 * where `spoil` does not apply. */
rondo_schedule *
spoil_schedule(const rondo_schedule *schedule, uint64_t at, spoil_function spoil);

#endif /* TESTS_LIB_SPOIL_H */
