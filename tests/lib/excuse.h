/* excuse.h - why a spoilt schedule that the verifier accepts does no harm. */
#ifndef TESTS_LIB_EXCUSE_H
#define TESTS_LIB_EXCUSE_H

#include "lib/spoil.h"

/* One place in one schedule of a set, and the step that was there. */
struct spot {
    const schedules *set;
    uint32_t rank;
    uint64_t at; /* step */
    const rondo_step *before;
};

/* excuse_for - the rule by which `mutant`, spoilt at `spot` and not refused, does no
 * harm; null if there is none. */
const char *
excuse_for(const struct spot *spot, spoil_function spoil, const rondo_schedule *mutant);

/* excuse_need - the same for step `spot->at` that no longer needs step `gone`. */
const char *
excuse_need(const struct spot *spot, uint64_t gone, const rondo_schedule *mutant);

#endif /* TESTS_LIB_EXCUSE_H */
