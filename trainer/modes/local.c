/* local.c - each rank makes its own updates, and every --local-steps of them all take
 * the mean of their parameters. What the optimiser remembers stays each rank's own.
 * Until --local-from it is sync.
 *
 * Sources: Stich, "Local SGD converges fast and communicates little", 2018; Lin et al.,
 * "Don't use large mini-batches, use local SGD", 2018 (sync first). */
#include "checkpoint.h"
#include "memory.h"
#include "modes/mean_step.h"
#include "pace.h"

#include <stdlib.h>

typedef struct local_state {
    mean_step first; /* Until --local-from. */
    float *gradient;
    uint64_t equal; /* After this step all ranks had the same parameters. */
} local_state;

static bool
is_sync(const trainer *t)
{
    return t->step < t->o->local_from;
}

static bool
create(trainer *t, problem *why)
{
    local_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return problem_fail(why, "no memory for mode local");
    }
    t->mode_state = state;
    state->gradient = memory_floats(t->net.parameters + 1, why);
    return state->gradient != NULL &&
           (!is_sync(t) || t->newcomer || mean_step_create(t, &state->first, why));
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    local_state *state = t->mode_state;
    if (is_sync(t)) {
        state->equal = s->step;
        return mean_step_do(&state->first, t, s, why);
    }
    trainer_gradient(t, trainer_scale(t), state->gradient, (layer_done){.call = NULL});
    (void)pace_keep(t, (pace_idle){.call = NULL});
    trainer_update(t, s->rate, state->gradient);
    s->loss = (double)state->gradient[t->net.parameters];
    if ((s->step - t->o->local_from) % t->o->local_steps != 0) {
        return true;
    }
    state->equal = s->step;
    return trainer_average(t, &s->loss, why);
}

static void
part(trainer *t)
{
    local_state *state = t->mode_state;
    mean_step_free(&state->first);
}

/* In a new group the mean of whatever the ranks have; one that has come back has
 * nothing. */
static bool
regroup(trainer *t, problem *why)
{
    local_state *state = t->mode_state;
    state->equal = t->furthest_step;
    if (t->furthest_step < t->o->local_from) {
        return mean_step_regroup(&state->first, t, why);
    }
    return trainer_average(t, NULL, why);
}

static bool
finish(trainer *t, problem *why)
{
    const local_state *state = t->mode_state;
    return state->equal == t->step || trainer_average(t, NULL, why);
}

static void
list_state(trainer *t, state_list *list)
{
    local_state *state = t->mode_state;
    state_add(list, "local.equal", &state->equal, sizeof state->equal);
}

static void
release(trainer *t)
{
    local_state *state = t->mode_state;
    if (state != NULL) {
        mean_step_free(&state->first);
        memory_free(state->gradient);
        free(state);
        t->mode_state = NULL;
    }
}

const mode_kind mode_kind_local = {.help = "own updates, the mean now and then",
                                   .traits =
                                       MODE_LOCKSTEP | MODE_SURVIVES | MODE_REJOIN,
                                   .create = create,
                                   .step = step,
                                   .part = part,
                                   .regroup = regroup,
                                   .finish = finish,
                                   .free = release,
                                   .state = list_state};
