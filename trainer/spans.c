/* spans.c - what a rank is doing when (see spans.h). */
#include "spans.h"

#include "clock.h"
#include "trace.h"

#define SPAN_TEXT(upper, text, share)  text,
#define SPAN_SHARE(upper, text, share) share,

static const char *const texts[] = {SPAN_LIST(SPAN_TEXT)};
static const span_share shares[] = {SPAN_LIST(SPAN_SHARE)};

const char *
span_text(span_kind kind)
{
    return texts[kind];
}

span_share
span_share_of(span_kind kind)
{
    return shares[kind];
}

/* Time since the mark, for the innermost span. */
static void
count(spans *s, double now)
{
    if (s->depth > 0 && s->depth <= SPAN_DEPTH_MAX) {
        s->total[shares[s->open[s->depth - 1].kind]] += now - s->mark;
    }
    s->mark = now;
}

void
span_begin(spans *s, span_kind kind, uint64_t index)
{
    if (s == NULL) {
        return;
    }
    const double now = clock_seconds();
    count(s, now);
    if (s->depth < SPAN_DEPTH_MAX) {
        s->open[s->depth] = (span_open){.kind = kind, .index = index, .began = now};
    }
    s->depth++;
}

static void
note_average(spans *s, double seconds)
{
    if (s->average_least <= 0.0 || seconds < s->average_least) {
        s->average_least = seconds;
    }
    spans_move(s, SHARE_COMMUNICATE, SHARE_WAIT, seconds - s->average_least);
}

void
span_end(spans *s)
{
    if (s == NULL || s->depth == 0) {
        return;
    }
    const double now = clock_seconds();
    count(s, now);
    s->depth--;
    if (s->depth < SPAN_DEPTH_MAX) {
        const span_open *o = &s->open[s->depth];
        trace_span(s->trace, o->kind, o->index, o->began, now);
        if (o->kind == SPAN_AVERAGE) {
            note_average(s, now - o->began);
        }
    }
}

double
span_now(const spans *s)
{
    return s != NULL ? s->mark : 0.0;
}

void
span_beside(spans *s, span_kind kind, double began)
{
    if (s == NULL) {
        return;
    }
    trace_beside(s->trace, kind, began, s->mark);
}

void
spans_unwind(spans *s, uint32_t depth)
{
    while (s != NULL && s->depth > depth) {
        span_end(s);
    }
}

void
spans_move(spans *s, span_share from, span_share to, double seconds)
{
    if (s == NULL) {
        return;
    }
    const double moved = seconds < s->total[from] ? seconds : s->total[from];
    s->total[from] -= moved;
    s->total[to] += moved;
}
