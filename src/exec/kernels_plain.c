/* kernels_plain.c - reductions in plain C, for every type and operator. */
#include "exec/element.h"
#include "exec/kernels_tables.h"

/* memcpy, since no alignment is promised; compilers make a plain load of it. */
#define KERNEL(name, stored, op)                                                   \
    static void name##_##op##_run(void *to, const void *a, const void *b,          \
                                  uint64_t count, uint32_t divisor)                \
    {                                                                              \
        for (uint64_t at = 0; at < count * sizeof(stored); at += sizeof(stored)) { \
            stored left;                                                           \
            stored right;                                                          \
            memcpy(&left, (const char *)a + at, sizeof left);                      \
            memcpy(&right, (const char *)b + at, sizeof right);                    \
            const stored result = name##_##op(left, right, divisor);               \
            memcpy((char *)to + at, &result, sizeof result);                       \
        }                                                                          \
    }

#define KERNELS(upper, name, stored) \
    KERNEL(name, stored, sum)        \
    KERNEL(name, stored, prod)       \
    KERNEL(name, stored, max)        \
    KERNEL(name, stored, min)        \
    KERNEL(name, stored, avg)

RONDO_ELEMENT_ROWS(KERNELS)

#define TABLE_ROW(upper, name, stored)                                \
    [RONDO_##upper] = {                                               \
        [RONDO_SUM] = name##_sum_run, [RONDO_PROD] = name##_prod_run, \
        [RONDO_MAX] = name##_max_run, [RONDO_MIN] = name##_min_run,   \
        [RONDO_AVG] = name##_avg_run,                                 \
    },

const rondo_kernel rondo_kernels_plain[RONDO_DTYPES][RONDO_OPS] = {
    RONDO_ELEMENT_ROWS(TABLE_ROW)};
