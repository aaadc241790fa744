/* step.c - what the steps of all modes share: which images, and their gradient. */
#include "trainer.h"

#include <string.h>

float
trainer_scale(const trainer *t)
{
    /* The mean over workers divides by their number; a sample then weighs 1 / batch. */
    const uint32_t parts =
        (t->mode->traits & MODE_SERVERS) != 0 ? t->workers : t->all->count;
    return (float)parts / (float)t->run.global_batch;
}

void
trainer_gradient(trainer *t, float scale, float *gradient, layer_done done)
{
    const gradient_of of = {.net = &t->net,
                            .parameter = t->parameter,
                            .images = &t->set->train,
                            .scale = scale,
                            .t = &t->t};
    if (t->sample.count > 0) {
        gradient_in_passes(&t->passes, &of, t->sample, gradient, done);
        return;
    }
    memset(gradient, 0, (t->net.parameters + 1) * sizeof *gradient);
    for (uint32_t layer = t->net.layers; layer-- > 0 && done.call != NULL;) {
        done.call(done.user, layer);
    }
}

void
trainer_update(trainer *t, float rate, const float *gradient)
{
    span_begin(&t->account.spans, SPAN_UPDATE, 0);
    optimiser_step(&t->descent, rate, gradient, t->parameter);
    span_end(&t->account.spans);
}
