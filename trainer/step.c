/* step.c - what the steps of all modes share: which images, and their gradient. */
#include "trainer.h"

#include "clock.h"

#include <string.h>

float
trainer_scale(const trainer *t)
{
    if ((t->mode->traits & MODE_LOCKSTEP) != 0) {
        /* The mean over ranks divides by their number; a sample then weighs 1 / those
         * of the step, even where some ranks have more than others. */
        return (float)t->all->count / (float)t->step_images;
    }
    if (t->own.own != NULL) {
        return t->sample.count > 0 ? 1.0f / (float)t->sample.count : 1.0f;
    }
    return (float)t->workers / (float)t->run.global_batch;
}

void
trainer_gradient(trainer *t, float scale, float *gradient, layer_done done)
{
    trainer_gradient_at(t, t->parameter, scale, gradient, done);
}

void
trainer_gradient_at(trainer *t, const float *parameter, float scale, float *gradient,
                    layer_done done)
{
    const gradient_of of = {.net = &t->net,
                            .parameter = parameter,
                            .images = &t->set->train,
                            .scale = scale,
                            .t = &t->t};
    t->gradient_began = clock_seconds();
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

void
trainer_sent(trainer *t, double bytes)
{
    t->payload_bytes += bytes;
    account_bytes(&t->account, bytes);
}

bool
trainer_average(trainer *t, double *loss, problem *why)
{
    const uint64_t count = t->net.parameters + 1;
    float *last = &t->parameter[t->net.parameters];
    *last = loss != NULL ? (float)*loss : 0.0f;
    span_begin(&t->account.spans, SPAN_AVERAGE, t->step);
    const rondo_status status =
        rondo_average(t->all->comm, t->parameter, count, t->newcomer ? 0.0 : 1.0);
    span_end(&t->account.spans);
    if (status != RONDO_OK) {
        return ranks_fail(t->all, status, "averaging parameters", why);
    }
    if (loss != NULL) {
        *loss = (double)*last;
    }
    trainer_sent(t, (double)(count * sizeof *t->parameter));
    return true;
}

bool
trainer_adopt(trainer *t, problem *why)
{
    optimiser *o = &t->descent;
    const uint64_t bytes = t->net.parameters * sizeof *t->parameter;
    return ranks_adopt(t->all, t->furthest, t->parameter, bytes, why) &&
           ranks_adopt(t->all, t->furthest, &o->steps, sizeof o->steps, why) &&
           (o->first == NULL ||
            ranks_adopt(t->all, t->furthest, o->first, bytes, why)) &&
           (o->second == NULL ||
            ranks_adopt(t->all, t->furthest, o->second, bytes, why));
}
