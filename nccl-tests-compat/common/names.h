/* names.h - the words nccl-tests uses for element types and operators. */
#ifndef PERF_NAMES_H
#define PERF_NAMES_H

#include <stdbool.h>

#include <rondo/types.h>

/* For -d, -o and -r: each in turn. */
#define PERF_ALL (-1)

/* perf_dtype_name - "float" for RONDO_FP32. */
const char *
perf_dtype_name(rondo_dtype dtype);

/* perf_op_name - "sum". */
const char *
perf_op_name(rondo_op op);

/* perf_dtype_find - a type or PERF_ALL; false: no such word. */
bool
perf_dtype_find(const char *name, int *dtype);

/* perf_op_find - an operator or PERF_ALL; false: no such word. */
bool
perf_op_find(const char *name, int *op);

#endif /* PERF_NAMES_H */
