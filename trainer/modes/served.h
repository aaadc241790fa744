/* served.h - backup, async and ssp, but for their rules: what a worker does, and what
 * workers and servers do together. A step is the gradient of the parameters last
 * pulled, a push, and a pull, so that what a worker has after a step holds its own
 * update. */
#ifndef TRAINER_MODES_SERVED_H
#define TRAINER_MODES_SERVED_H

#include "modes/mode.h"
#include "modes/serving.h"

/* With the rule of a mode; the rest are what mode_kind wants. */
TRAINER_MUST_USE bool
served_create(trainer *t, const serving_rule *rule, problem *why);
TRAINER_MUST_USE bool
served_step(trainer *t, mode_step *s, problem *why);
TRAINER_MUST_USE bool
served_serve(trainer *t, problem *why);
TRAINER_MUST_USE bool
served_regroup(trainer *t, problem *why);
TRAINER_MUST_USE bool
served_finish(trainer *t, problem *why);
void
served_free(trainer *t);

#define SERVED_TRAITS (MODE_SERVERS | MODE_SURVIVES | MODE_REJOIN)

#endif
