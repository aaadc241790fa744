/* kernels_tables.h - the two sets of kernels that rondo_kernel_find chooses from. */
#ifndef EXEC_KERNELS_TABLES_H
#define EXEC_KERNELS_TABLES_H

#include "exec/kernels.h"

/* By type and operator. The kernel of RONDO_AVG completes an average; a partial one is
 * a sum. A null in the AVX2 table: plain C is what there is. */
extern const rondo_kernel rondo_kernels_plain[RONDO_DTYPES][RONDO_OPS];
extern const rondo_kernel rondo_kernels_avx2[RONDO_DTYPES][RONDO_OPS];

#endif /* EXEC_KERNELS_TABLES_H */
