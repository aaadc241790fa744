/*
 * model.h - inputs and results computed naively: every input follows from a seed, and
 * is chosen so that the exact result does not depend on the order of the operations, up
 * to 64 ranks (avg of int8 and bf16 sums: up to 8).
 */
#ifndef LIB_MODEL_H
#define LIB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/types.h>

/* One operation's numbers. */
typedef struct model {
    rondo_dtype dtype;
    rondo_op op;
    uint32_t nranks;
    uint64_t seed;
} model;

/* model_input - elements [first, first + count) of what `rank` brings. */
void
model_input(const model *of, uint32_t rank, uint64_t first, uint64_t count, void *data);

/* model_result - the same elements of the reduction over all ranks. */
void
model_result(const model *of, uint64_t first, uint64_t count, void *data);

/* model_put - `value` as element `index` of `data`, rounded to nearest even. */
void
model_put(rondo_dtype dtype, double value, uint64_t index, void *data);

/* model_get - element `index` of `data`. */
double
model_get(rondo_dtype dtype, const void *data, uint64_t index);

/* model_is_float - fp16, bf16, fp32 or fp64. */
bool
model_is_float(rondo_dtype dtype);

/* model_random - the next number of a sequence; `state` starts as the seed. */
uint64_t
model_random(uint64_t *state);

#endif /* LIB_MODEL_H */
