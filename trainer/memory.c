/* memory.c - vectors of floats (see memory.h). */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u

float *
memory_floats(uint64_t count, problem *why)
{
    /* Whole lines, as aligned_alloc asks; at least one, so that NULL means failure. */
    float *vector = NULL;
    if (count < SIZE_MAX / sizeof *vector - LINE_BYTES) {
        const size_t lines = count * sizeof *vector / LINE_BYTES + 1;
        vector = aligned_alloc(LINE_BYTES, lines * LINE_BYTES);
        if (vector != NULL) {
            memset(vector, 0, lines * LINE_BYTES);
        }
    }
    if (vector == NULL) {
        (void)problem_fail(why, "no memory for %llu floats", (unsigned long long)count);
    }
    return vector;
}

void
memory_free(float *vector)
{
    free(vector);
}
