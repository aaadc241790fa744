/* events.c - what happens next in a virtual run (see events.h). */
#include "virtual/events.h"

#include <stdlib.h>

#define ROOM_FIRST 64u

void
events_free(events *e)
{
    free(e->heap);
    *e = (events){.heap = NULL};
}

static bool
before(const event_place *a, const event_place *b)
{
    if (a->what.time < b->what.time) {
        return true;
    }
    return a->what.time <= b->what.time && a->number < b->number;
}

static bool
make_room(events *e, problem *why)
{
    if (e->count < e->room) {
        return true;
    }
    const uint64_t room = e->room > 0 ? 2 * e->room : ROOM_FIRST;
    event_place *heap = realloc(e->heap, room * sizeof *heap);
    if (heap == NULL) {
        return problem_fail(why, "no memory for %llu events", (unsigned long long)room);
    }
    e->heap = heap;
    e->room = room;
    return true;
}

bool
events_put(events *e, const event *what, problem *why)
{
    if (!make_room(e, why)) {
        return false;
    }
    const event_place place = {.what = *what, .number = e->numbers++};
    uint64_t at = e->count++;
    while (at > 0 && before(&place, &e->heap[(at - 1) / 2])) {
        e->heap[at] = e->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    e->heap[at] = place;
    return true;
}

bool
events_take(events *e, event *what)
{
    if (e->count == 0) {
        return false;
    }
    *what = e->heap[0].what;
    const event_place place = e->heap[--e->count];
    uint64_t at = 0;
    for (uint64_t child = 1; child < e->count; child = 2 * at + 1) {
        if (child + 1 < e->count && before(&e->heap[child + 1], &e->heap[child])) {
            child++;
        }
        if (!before(&e->heap[child], &place)) {
            break;
        }
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = place;
    return true;
}
