/* mean_step.h - a step in which all ranks make the same update with the mean gradient:
 * every step of sync, and the first ones of local. */
#ifndef TRAINER_MODES_MEAN_STEP_H
#define TRAINER_MODES_MEAN_STEP_H

#include "exchange.h"
#include "modes/mode.h"
#include "trainer.h"

typedef struct mean_step {
    exchange exchange;
    gradient_tree tree; /* With --canonical only. */
} mean_step;

/* Collective; *result must then stay where it is, and be freed also after a failure. */
TRAINER_MUST_USE bool
mean_step_create(trainer *t, mean_step *result, problem *why);
void
mean_step_free(mean_step *m);

TRAINER_MUST_USE bool
mean_step_do(mean_step *m, trainer *t, mode_step *s, problem *why);

/* In a new group, after mean_step_free in the old one: all go on from the parameters,
 * optimiser and step of rank t->furthest. */
TRAINER_MUST_USE bool
mean_step_regroup(mean_step *m, trainer *t, problem *why);

#endif
