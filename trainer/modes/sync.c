/* sync.c - every step all ranks make the same update with the mean gradient. With
 * --on-failure shrink the living go on: a step that some have made and others have not
 * when a rank dies counts as made. */
#include "modes/mean_step.h"

#include <stdlib.h>

static bool
create(trainer *t, problem *why)
{
    mean_step *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return problem_fail(why, "no memory for mode sync");
    }
    t->mode_state = state;
    return t->newcomer || mean_step_create(t, state, why);
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    return mean_step_do(t->mode_state, t, s, why);
}

static void
part(trainer *t)
{
    mean_step_free(t->mode_state);
}

static bool
regroup(trainer *t, problem *why)
{
    return mean_step_regroup(t->mode_state, t, why);
}

static void
release(trainer *t)
{
    mean_step *state = t->mode_state;
    if (state != NULL) {
        mean_step_free(state);
        free(state);
        t->mode_state = NULL;
    }
}

const mode_kind mode_kind_sync = {.help = "the mean gradient, every step",
                                  .traits = MODE_EQUAL | MODE_LOCKSTEP | MODE_REJOIN,
                                  .create = create,
                                  .step = step,
                                  .part = part,
                                  .regroup = regroup,
                                  .free = release};
