/* arithmetic.h - a second way to compute what the reduction kernels compute. */
#ifndef LIB_ARITHMETIC_H
#define LIB_ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/types.h>

/* arithmetic_floating - whether it is a floating type. */
bool
arithmetic_floating(rondo_dtype dtype);

/* arithmetic_value - the number that bits of a floating type stand for. */
double
arithmetic_value(rondo_dtype dtype, uint64_t bits);

/* arithmetic_floating_result - a op b as the contract of the kernels rounds it. */
double
arithmetic_floating_result(rondo_dtype dtype, rondo_op op, double a, double b,
                           uint32_t divisor);

/* arithmetic_integer_result - the same for bits of an integer type. */
uint64_t
arithmetic_integer_result(rondo_dtype dtype, rondo_op op, uint64_t a, uint64_t b,
                          uint32_t divisor);

/* arithmetic_nan - the bits of every NaN that comes out. */
uint64_t
arithmetic_nan(rondo_dtype dtype);

/* arithmetic_draw - bits to try: edges, rubbish, and numbers near each other. */
uint64_t
arithmetic_draw(rondo_dtype dtype, uint64_t *seed);

#endif /* LIB_ARITHMETIC_H */
