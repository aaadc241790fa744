/* rate.c - the learning rate as a function of the step (see rate.h). */
#include "rate.h"

#include <math.h>

double
rate_at(rate_schedule schedule, double base, uint64_t step, uint64_t steps)
{
    if (schedule == RATE_CONSTANT) {
        return base;
    }
    const double done = (double)step / (double)steps;
    return base * 0.5 * (1.0 + cos(3.14159265358979323846 * done));
}
