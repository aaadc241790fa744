/* trace.c - a timeline of a run's first steps (see trace.h). */
#include "trace.h"

#include "clock.h"

#include <stdlib.h>
#include <time.h>

#define EVENTS_FIRST 256u
#define EVENTS_MAX   1000000u

trace
trace_open(const char *path, uint64_t steps, const trace_owner *owner)
{
    trace t = {.wanted = path,
               .rank = owner->rank,
               .leads = owner->leads,
               .steps = steps,
               .started = owner->started};
    if (t.started > 0.0) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        const double today = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
        t.origin = clock_seconds() - (today - t.started);
    }
    return t;
}

static bool
make_room(trace *t)
{
    if (t->count < t->room) {
        return true;
    }
    const size_t room = t->room == 0 ? EVENTS_FIRST : 2 * t->room;
    trace_event *event =
        room <= EVENTS_MAX ? realloc(t->event, room * sizeof *event) : NULL;
    if (event == NULL) {
        t->full = true;
        return false;
    }
    t->event = event;
    t->room = room;
    return true;
}

static bool
is_wanted(const trace *t)
{
    return t != NULL && t->wanted != NULL && !t->full;
}

void
trace_add(trace *t, const trace_event *event)
{
    if (is_wanted(t) && make_room(t)) {
        t->event[t->count++] = *event;
        t->written = false;
    }
}

static void
add_mine(trace *t, trace_event event)
{
    /* Evaluation is between steps, and rare. */
    if (is_wanted(t) && (t->steps_done < t->steps || event.kind == SPAN_EVALUATE)) {
        event.rank = t->rank;
        trace_add(t, &event);
    }
}

void
trace_span(trace *t, span_kind kind, uint64_t index, double began, double ended)
{
    add_mine(t, (trace_event){.kind = kind,
                              .lane = LANE_MAIN,
                              .index = index,
                              .began = began,
                              .ended = ended});
}

void
trace_beside(trace *t, span_kind kind, double began, double ended)
{
    add_mine(t,
             (trace_event){
                 .kind = kind, .lane = LANE_EXCHANGE, .began = began, .ended = ended});
}

bool
trace_step_done(trace *t)
{
    if (!is_wanted(t) || t->steps_done >= t->steps) {
        return false;
    }
    t->steps_done++;
    return t->steps_done == t->steps;
}

void
trace_free(trace *t)
{
    free(t->event);
    *t = (trace){.wanted = NULL};
}
