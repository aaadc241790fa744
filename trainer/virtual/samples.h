/* samples.h - a list of numbers, and its percentiles. */
#ifndef TRAINER_VIRTUAL_SAMPLES_H
#define TRAINER_VIRTUAL_SAMPLES_H

#include "problem.h"

#include <stdint.h>

typedef struct samples {
    double *value;
    uint64_t count;
    uint64_t room;
    double sum;
} samples;

/* An empty one is all 0. */
void
samples_free(samples *s);

TRAINER_MUST_USE bool
samples_add(samples *s, double value, problem *why);

/* Puts them in order. */
void
samples_sort(samples *s);

/* Of sorted ones: the smallest that at least `share` of them do not exceed; 0 if there
 * are none. */
double
samples_at(const samples *s, double share);

#endif
