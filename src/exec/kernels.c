/* kernels.c - which kernels this processor gets, and the copy. */
#include "exec/kernels.h"

#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/cpu.h"
#include "exec/kernels_tables.h"

typedef enum kernel_set { UNKNOWN, PLAIN, AVX2 } kernel_set;

/* Asked once: the answer costs an instruction that a virtual machine has to trap. All
 * threads that ask at the same time get the same answer, so relaxed order is enough. */
static kernel_set
set_of_this_cpu(void)
{
    static _Atomic kernel_set known = UNKNOWN;
    kernel_set set = atomic_load_explicit(&known, memory_order_relaxed);

    if (set == UNKNOWN) {
        set = rondo_cpu_has_avx2() ? AVX2 : PLAIN;
        atomic_store_explicit(&known, set, memory_order_relaxed);
    }
    return set;
}

rondo_kernel
rondo_kernel_find(rondo_dtype dtype, rondo_op op, rondo_kernel_place place)
{
    const rondo_op done =
        op == RONDO_AVG && place == RONDO_KERNEL_PARTIAL ? RONDO_SUM : op;

    RONDO_ASSERT((unsigned)dtype < RONDO_DTYPES);
    RONDO_ASSERT((unsigned)op < RONDO_OPS);
    const rondo_kernel vectors =
        set_of_this_cpu() == AVX2 ? rondo_kernels_avx2[dtype][done] : NULL;
    return vectors != NULL ? vectors : rondo_kernels_plain[dtype][done];
}

/* The C library streams by itself from about the size of the last-level cache on. */
