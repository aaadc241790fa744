/*
 * rondo/types.h - element types and reduction operators. Values never change.
 *
 * Counts are elements and 64 bits wide everywhere. fp16 is IEEE binary16, bf16 the
 * upper half of an IEEE binary32; both are computed in fp32 and rounded once, to
 * nearest even, at each reduction. Integer sums and products wrap (modulo 2^bits).
 */
#ifndef RONDO_TYPES_H
#define RONDO_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <rondo/status.h>

/* One row each: enum name, value, bytes of an element, text. */
#define RONDO_DTYPE_ROWS(ROW)   \
    ROW(INT8, 0, 1, "int8")     \
    ROW(UINT8, 1, 1, "uint8")   \
    ROW(INT32, 2, 4, "int32")   \
    ROW(UINT32, 3, 4, "uint32") \
    ROW(INT64, 4, 8, "int64")   \
    ROW(UINT64, 5, 8, "uint64") \
    ROW(FP16, 6, 2, "fp16")     \
    ROW(FP32, 7, 4, "fp32")     \
    ROW(FP64, 8, 8, "fp64")     \
    ROW(BF16, 9, 2, "bf16")

typedef enum rondo_dtype {
#define RONDO_DTYPE_ENUM(name, value, bytes, text) RONDO_##name = (value),
    RONDO_DTYPE_ROWS(RONDO_DTYPE_ENUM)
#undef RONDO_DTYPE_ENUM
} rondo_dtype;

#define RONDO_DTYPES 10

/*
 * One row each: enum name, value, text.
 *
 * MIN and MAX: a NaN on any rank wins, whichever rank holds it; the result is then a
 * quiet NaN. AVG: the sum divided by the number of ranks, once, in the reduction that
 * completes it; floating types divide before they round, integers truncate to zero.
 */
#define RONDO_OP_ROWS(ROW) \
    ROW(SUM, 0, "sum")     \
    ROW(PROD, 1, "prod")   \
    ROW(MAX, 2, "max")     \
    ROW(MIN, 3, "min")     \
    ROW(AVG, 4, "avg")

typedef enum rondo_op {
#define RONDO_OP_ENUM(name, value, text) RONDO_##name = (value),
    RONDO_OP_ROWS(RONDO_OP_ENUM)
#undef RONDO_OP_ENUM
} rondo_op;

#define RONDO_OPS 5

#ifdef __cplusplus
extern "C" {
#endif

/* rondo_dtype_bytes - bytes of one element; 0 for a value that is no type. */
RONDO_API size_t
rondo_dtype_bytes(rondo_dtype dtype);

/* rondo_dtype_text - "fp32"; "?" for a value that is no type. */
RONDO_API const char *
rondo_dtype_text(rondo_dtype dtype);

/* rondo_op_text - "sum"; "?" for a value that is no operator. */
RONDO_API const char *
rondo_op_text(rondo_op op);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_TYPES_H */
