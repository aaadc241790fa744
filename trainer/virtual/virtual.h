/* virtual.h - --virtual: one process plays a whole run in virtual time (see
 * world.h). */
#ifndef TRAINER_VIRTUAL_VIRTUAL_H
#define TRAINER_VIRTUAL_VIRTUAL_H

#include "options.h"

/* The whole run: reads the data, trains, reports. `began` is when the program did. */
TRAINER_MUST_USE bool
virtual_train(const options *o, double began, problem *why);

#endif
