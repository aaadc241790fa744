/* samples.c - a list of numbers, and its percentiles (see samples.h). */
#include "virtual/samples.h"

#include <math.h>
#include <stdlib.h>

#define ROOM_FIRST 1024u

void
samples_free(samples *s)
{
    free(s->value);
    *s = (samples){.value = NULL};
}

bool
samples_add(samples *s, double value, problem *why)
{
    if (s->count == s->room) {
        const uint64_t room = s->room > 0 ? 2 * s->room : ROOM_FIRST;
        double *more = realloc(s->value, room * sizeof *more);
        if (more == NULL) {
            return problem_fail(why, "no memory for %llu times",
                                (unsigned long long)room);
        }
        s->value = more;
        s->room = room;
    }
    s->value[s->count++] = value;
    s->sum += value;
    return true;
}

static int
compare(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

void
samples_sort(samples *s)
{
    if (s->count > 1) {
        qsort(s->value, s->count, sizeof *s->value, compare);
    }
}

double
samples_at(const samples *s, double share)
{
    if (s->count == 0) {
        return 0.0;
    }
    const double rank = ceil(share * (double)s->count);
    const uint64_t at = rank < 1.0 ? 0 : (uint64_t)rank - 1;
    return s->value[at < s->count ? at : s->count - 1];
}
