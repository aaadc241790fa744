/* events.h - what happens next in a virtual run: a binary heap by time; what is put in
 * first comes out first where times are equal, so that a run is exactly repeatable. */
#ifndef TRAINER_VIRTUAL_EVENTS_H
#define TRAINER_VIRTUAL_EVENTS_H

#include "problem.h"

#include <stdint.h>

typedef struct event {
    double time;
    uint32_t worker;
    uint64_t attempt; /* Of the worker; what it means is up to the mode. */
} event;

typedef struct event_place {
    event what;
    uint64_t number; /* In the order in which they were put in. */
} event_place;

typedef struct events {
    event_place *heap;
    uint64_t count;
    uint64_t room;
    uint64_t numbers;
} events;

/* An empty one is all 0. */
void
events_free(events *e);

TRAINER_MUST_USE bool
events_put(events *e, const event *what, problem *why);

/* The next one; false: there is none. */
bool
events_take(events *e, event *what);

#endif
