/* draw.h - the whole numbers behind the inputs, a block at a time. */
#ifndef PERF_DRAW_H
#define PERF_DRAW_H

#include "common/values.h"

/* perf_draw_rank - m of `rank` for elements first ... first + count - 1; `count` is at
 * most PERF_VALUES_BLOCK. */
void
perf_draw_rank(const perf_values *values, uint32_t rank, uint64_t first, uint32_t count,
               int32_t *m);

/* perf_draw_result - the m that comes out. */
void
perf_draw_result(const perf_values *values, uint64_t first, uint32_t count, int32_t *m);

/* perf_draw_bits - `count` words of any bits for `rank`, from word `first` on. */
void
perf_draw_bits(const perf_values *values, uint32_t rank, uint64_t first, uint32_t count,
               uint32_t *words);

#endif /* PERF_DRAW_H */
