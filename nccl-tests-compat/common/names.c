/* names.c - one table for types, one for operators. */
#include "common/names.h"

#include <string.h>

static const char *const dtype_names[RONDO_DTYPES] = {
    [RONDO_INT8] = "int8",     [RONDO_UINT8] = "uint8", [RONDO_INT32] = "int32",
    [RONDO_UINT32] = "uint32", [RONDO_INT64] = "int64", [RONDO_UINT64] = "uint64",
    [RONDO_FP16] = "half",     [RONDO_FP32] = "float",  [RONDO_FP64] = "double",
    [RONDO_BF16] = "bfloat16",
};

const char *
perf_dtype_name(rondo_dtype dtype)
{
    return dtype_names[dtype];
}

const char *
perf_op_name(rondo_op op)
{
    return rondo_op_text(op);
}

bool
perf_dtype_find(const char *name, int *dtype)
{
    if (strcmp(name, "all") == 0) {
        *dtype = PERF_ALL;
        return true;
    }
    for (int i = 0; i < RONDO_DTYPES; i++) {
        if (strcmp(name, dtype_names[i]) == 0) {
            *dtype = i;
            return true;
        }
    }
    return false;
}

bool
perf_op_find(const char *name, int *op)
{
    if (strcmp(name, "all") == 0) {
        *op = PERF_ALL;
        return true;
    }
    for (int i = 0; i < RONDO_OPS; i++) {
        if (strcmp(name, perf_op_name((rondo_op)i)) == 0) {
            *op = i;
            return true;
        }
    }
    return false;
}
