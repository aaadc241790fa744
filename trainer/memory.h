/* memory.h - vectors of floats, aligned to cache lines and filled with zeros. */
#ifndef TRAINER_MEMORY_H
#define TRAINER_MEMORY_H

#include "problem.h"

#include <stdint.h>

/* NULL where there is no memory; then `why` is set. */
TRAINER_MUST_USE float *
memory_floats(uint64_t count, problem *why);
void
memory_free(float *vector);

#endif
