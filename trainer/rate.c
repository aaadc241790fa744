/* rate.c - the learning rate as a function of the step (see rate.h). */
#include "rate.h"

#include <math.h>

double
rate_scaled(double rate, uint64_t from, uint64_t to)
{
    return rate * (double)to / (double)from;
}

double
rate_at(const rate_plan *plan, uint64_t step)
{
    if (step < plan->warmup) {
        const double part = (double)(step + 1) / (double)plan->warmup;
        return plan->start + (plan->base - plan->start) * part;
    }
    switch (plan->schedule) {
    case RATE_CONSTANT:
        break;
    case RATE_COSINE: {
        const double done =
            (double)(step - plan->warmup) / (double)(plan->steps - plan->warmup);
        return plan->base * 0.5 * (1.0 + cos(3.14159265358979323846 * done));
    }
    case RATE_STEPS:
        return plan->base * pow(plan->decay_factor, (double)(step / plan->decay_every));
    }
    return plan->base;
}
