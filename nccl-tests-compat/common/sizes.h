/* sizes.h - sizes in words ("1.5M"), and the sweep from one size to the next. */
#ifndef PERF_SIZES_H
#define PERF_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* perf_size_parse - bytes with an optional K, M, G or T (powers of 1024; "K", "KB" and
 * "KiB" are the same). False: no size, negative, or above 2^62. */
bool
perf_size_parse(const char *text, uint64_t *bytes);

/* perf_size_text - "1.5 GiB" for messages. */
void
perf_size_text(uint64_t bytes, char *text, size_t text_size);

/* How a sweep goes on: times `factor` if that is above 1, else plus `step`. */
typedef struct perf_sweep {
    uint64_t least;
    uint64_t most;
    uint64_t step;
    uint64_t factor;
} perf_sweep;

/* perf_sweep_next - the size after `bytes`; false: that was the last. 0 times anything
 * stays 0, so after 0 a factor goes on at `width`, one element. */
bool
perf_sweep_next(const perf_sweep *sweep, size_t width, uint64_t *bytes);

#endif /* PERF_SIZES_H */
