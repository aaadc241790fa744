/* pace.h - a worker's steps take as long as --straggler draws (straggler.h): what its
 * gradient has not taken of that time it waits, and keeps the communicator going. */
#ifndef TRAINER_PACE_H
#define TRAINER_PACE_H

#include "trainer.h"

/* Called every millisecond of the wait; false ends it. call NULL: nothing to do. */
typedef struct pace_idle {
    bool (*call)(void *user);
    void *user;
} pace_idle;

/* After trainer_gradient: waits until the step's time is over, counted from where that
 * began. False: idle.call has ended it. */
bool
pace_keep(trainer *t, pace_idle idle);

#endif
