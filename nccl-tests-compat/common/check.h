/* check.h - counts the elements that are not what they must be. */
#ifndef PERF_CHECK_H
#define PERF_CHECK_H

#include "common/values.h"

/* Where the right elements come from. */
typedef enum perf_source {
    PERF_SOURCE_RESULT, /* the combination of all ranks */
    PERF_SOURCE_INPUT,  /* the input of one rank */
    PERF_SOURCE_ZERO    /* the buffer as it was cleared */
} perf_source;

typedef struct perf_want {
    perf_source source;
    uint32_t rank;  /* of PERF_SOURCE_INPUT */
    uint64_t first; /* element of the source the buffer begins with */
} perf_want;

/*
 * perf_check_wrong - how many of `count` elements at `got` are wrong.
 *
 * Bits must be equal; only averages of floating types may be off by 2 units in the last
 * place, as in nccl-tests, since an implementation may multiply by 1 / n.
 */
uint64_t
perf_check_wrong(const perf_values *values, perf_want want, uint64_t count,
                 const void *got);

#endif /* PERF_CHECK_H */
