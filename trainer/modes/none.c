/* none.c - no exchange: ranks part ways; the upper limit of speed. */
#include "memory.h"
#include "modes/mode.h"
#include "pace.h"
#include "trainer.h"

static bool
create(trainer *t, problem *why)
{
    t->mode_state = memory_floats(t->net.parameters + 1, why);
    return t->mode_state != NULL;
}

static bool
step(trainer *t, mode_step *s, problem *why)
{
    (void)why;
    float *gradient = t->mode_state;
    trainer_gradient(t, trainer_scale(t), gradient, (layer_done){.call = NULL});
    (void)pace_keep(t, (pace_idle){.call = NULL});
    s->loss = (double)gradient[t->net.parameters];
    trainer_update(t, s->rate, gradient);
    return true;
}

static void
release(trainer *t)
{
    memory_free(t->mode_state);
    t->mode_state = NULL;
}

const mode_kind mode_kind_none = {.help = "no exchange",
                                  .traits = 0,
                                  .create = create,
                                  .step = step,
                                  .free = release};
