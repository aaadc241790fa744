/*
 * kernels.h - reductions of two runs of elements, chosen by type, operator and CPU.
 *
 * to = a op b, element by element; `to` may be `a` or `b` exactly, any other overlap is
 * not allowed; no alignment is needed, not even the element's own. fp16 and bf16 are
 * computed in fp32 and rounded once, to nearest even. AVX2 and plain C give equal bits,
 * and so do a op b and b op a: every NaN that comes out is the default quiet NaN, and
 * of two zeros max takes +0, min -0.
 */
#ifndef EXEC_KERNELS_H
#define EXEC_KERNELS_H

#include <stdint.h>

#include <rondo/types.h>

/* `divisor` is used by the completing reduction of an average, ignored elsewhere. */
typedef void (*rondo_kernel)(void *to, const void *a, const void *b, uint64_t count,
                             uint32_t divisor);

/* Which reduction of a collective: an average divides in the completing one only. */
typedef enum rondo_kernel_place {
    RONDO_KERNEL_PARTIAL,
    RONDO_KERNEL_FINAL
} rondo_kernel_place;

/* rondo_kernel_find - never null for a valid type and operator. */
rondo_kernel
rondo_kernel_find(rondo_dtype dtype, rondo_op op, rondo_kernel_place place);

/* rondo_copy - like memcpy, but quick also where `to` is not aligned, which buffers of
 * users seldom are; `bytes` may be 0. */
void
rondo_copy(void *to, const void *from, uint64_t bytes);

#endif /* EXEC_KERNELS_H */
