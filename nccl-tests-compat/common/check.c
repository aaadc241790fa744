/* check.c - compares block by block with what is made anew, so that no third buffer is
 * needed and the right values never leave the cache. */
#include "common/check.h"

#include <stdbool.h>
#include <string.h>

/* Units in the last place an average of a floating type may be off. */
#define AVERAGE_ULPS 2u

static uint64_t
bits_of(const char *element, size_t width)
{
    uint64_t bits = 0;
    memcpy(&bits, element, width);
    return bits;
}

/* Floating numbers in the order of their values, as whole numbers one unit apart. */
static int64_t
place_of(uint64_t bits, size_t width)
{
    const uint64_t sign = (uint64_t)1 << (width * 8 - 1);
    return (bits & sign) != 0 ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

static bool
is_nan(uint64_t bits, rondo_dtype dtype)
{
    switch (dtype) {
    case RONDO_FP16:
        return (bits & 0x7fffu) > 0x7c00u;
    case RONDO_BF16:
        return (bits & 0x7fffu) > 0x7f80u;
    case RONDO_FP32:
        return (bits & 0x7fffffffu) > 0x7f800000u;
    case RONDO_FP64:
        return (bits & INT64_MAX) > 0x7ff0000000000000u;
    default:
        return false;
    }
}

static bool
may_be_near(const perf_values *values)
{
    const rondo_dtype dtype = values->dtype;
    return values->rule == PERF_RULE_AVG &&
           (dtype == RONDO_FP16 || dtype == RONDO_BF16 || dtype == RONDO_FP32 ||
            dtype == RONDO_FP64);
}

static bool
is_near(uint64_t left, uint64_t right, rondo_dtype dtype)
{
    const size_t width = rondo_dtype_bytes(dtype);
    if (is_nan(left, dtype) || is_nan(right, dtype)) {
        return false;
    }
    const int64_t here = place_of(left, width);
    const int64_t there = place_of(right, width);
    const uint64_t distance = here > there ? (uint64_t)here - (uint64_t)there
                                           : (uint64_t)there - (uint64_t)here;
    return distance <= AVERAGE_ULPS;
}

static uint64_t
count_block(const perf_values *values, const char *right, const char *got,
            uint32_t count)
{
    const size_t width = rondo_dtype_bytes(values->dtype);
    if (memcmp(right, got, count * width) == 0) {
        return 0;
    }
    const bool near = may_be_near(values);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t left = bits_of(right + i * width, width);
        const uint64_t other = bits_of(got + i * width, width);
        wrong += left != other && !(near && is_near(left, other, values->dtype));
    }
    return wrong;
}

static void
make(const perf_values *values, perf_want want, uint64_t first, uint32_t count,
     char *right)
{
    switch (want.source) {
    case PERF_SOURCE_RESULT:
        perf_values_expect(values, want.first + first, count, right);
        break;
    case PERF_SOURCE_INPUT:
        perf_values_fill(values, want.rank, want.first + first, count, right);
        break;
    case PERF_SOURCE_ZERO:
        memset(right, 0, count * rondo_dtype_bytes(values->dtype));
        break;
    }
}

uint64_t
perf_check_wrong(const perf_values *values, perf_want want, uint64_t count,
                 const void *got)
{
    char right[PERF_VALUES_BLOCK * sizeof(uint64_t)];
    const size_t width = rondo_dtype_bytes(values->dtype);
    const char *next = got;
    uint64_t wrong = 0;
    for (uint64_t done = 0; done < count;) {
        const uint64_t rest = count - done;
        const uint32_t part =
            rest < PERF_VALUES_BLOCK ? (uint32_t)rest : PERF_VALUES_BLOCK;
        make(values, want, done, part, right);
        wrong += count_block(values, right, next, part);
        next += part * width;
        done += part;
    }
    return wrong;
}
