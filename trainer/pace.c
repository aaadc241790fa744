/* pace.c - a worker's steps take as long as they are to (see pace.h). */
#include "pace.h"

#include "clock.h"

#define IDLE_SECONDS 1e-3

bool
pace_keep(trainer *t, pace_idle idle)
{
    const double end =
        t->gradient_began + straggler_seconds(&t->slow, t->worker, t->step + 1);
    double left = end - clock_seconds();
    bool go_on = true;
    if (left <= 0.0) {
        return true;
    }
    span_begin(t->t.spans, SPAN_STRAGGLE, 0);
    while (left > 0.0 && go_on) {
        const double pause = left < IDLE_SECONDS ? left : IDLE_SECONDS;
        const struct timespec time = {.tv_nsec = (long)(pause * 1e9)};
        (void)nanosleep(&time, NULL);
        go_on = idle.call == NULL || idle.call(idle.user);
        left = end - clock_seconds();
    }
    span_end(t->t.spans);
    return go_on;
}
