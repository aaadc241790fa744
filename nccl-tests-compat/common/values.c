/* values.c - whole numbers turned into elements of each type. */
#include "common/values.h"

#include "common/draw.h"

#include <stdbool.h>
#include <string.h>

perf_rule
perf_rule_of(rondo_op op)
{
    switch (op) {
    case RONDO_SUM:
        return PERF_RULE_SUM;
    case RONDO_PROD:
        return PERF_RULE_PROD;
    case RONDO_MAX:
        return PERF_RULE_MAX;
    case RONDO_MIN:
        return PERF_RULE_MIN;
    case RONDO_AVG:
        return PERF_RULE_AVG;
    }
    return PERF_RULE_COPY;
}

static bool
is_floating(rondo_dtype dtype)
{
    return dtype == RONDO_FP16 || dtype == RONDO_FP32 || dtype == RONDO_FP64 ||
           dtype == RONDO_BF16;
}

/* Whole numbers up to here are exact in the type; int32_t holds them with room. */
static uint32_t
exact_limit(rondo_dtype dtype)
{
    switch (dtype) {
    case RONDO_INT8:
        return 127;
    case RONDO_UINT8:
        return 255;
    case RONDO_FP16:
        return 1u << 11;
    case RONDO_BF16:
        return 1u << 8;
    case RONDO_FP32:
        return 1u << 24;
    case RONDO_INT32:
    case RONDO_UINT32:
    case RONDO_INT64:
    case RONDO_UINT64:
    case RONDO_FP64:
        break;
    }
    return 1u << 29;
}

/* Sums and products of integers wrap, so every bit of the type may be used; an order
 * or a quotient must survive, so there the numbers stay small or grow evenly. */
static uint64_t
multiple_of(rondo_dtype dtype, perf_rule rule)
{
    if (rule == PERF_RULE_SUM) {
        return 0x9e3779b97f4a7c15u;
    }
    const bool wide = dtype == RONDO_INT64 || dtype == RONDO_UINT64;
    return wide && rule != PERF_RULE_PROD ? (uint64_t)1000003 << 12 : 1;
}

void
perf_values_init(rondo_dtype dtype, perf_rule rule, uint32_t seed, uint32_t nranks,
                 perf_values *values)
{
    const bool wraps =
        !is_floating(dtype) && (rule == PERF_RULE_SUM || rule == PERF_RULE_PROD);
    const uint32_t limit = wraps ? 1u << 29 : exact_limit(dtype);
    *values = (perf_values){.dtype = dtype,
                            .rule = rule,
                            .seed = seed,
                            .nranks = nranks,
                            .is_signed = dtype != RONDO_UINT8 &&
                                         dtype != RONDO_UINT32 && dtype != RONDO_UINT64,
                            .scale = rule == PERF_RULE_PROD ? 1.0 : 0.25,
                            .multiple = multiple_of(dtype, rule)};
    switch (rule) {
    case PERF_RULE_SUM:
        /* At most every second rank adds; with more ranks than the type can count
         * only the drawn one speaks. */
        values->top = limit / 2;
        values->spread = 1 + limit / 2 / (nranks / 2 + 1);
        values->is_signed = wraps || values->is_signed;
        break;
    case PERF_RULE_AVG:
        values->top = limit / nranks + 1;
        break;
    case PERF_RULE_MIN:
    case PERF_RULE_MAX:
        values->top = limit / 2;
        break;
    case PERF_RULE_PROD:
        values->top = limit;
        break;
    case PERF_RULE_COPY:
        break;
    }
}

#define INTEGERS(name, type, wide)                                                   \
    static void name(const int32_t *m, uint64_t multiple, uint32_t count, type *out) \
    {                                                                                \
        for (uint32_t i = 0; i < count; i++) {                                       \
            out[i] = (type)((wide)m[i] * (wide)multiple);                            \
        }                                                                            \
    }

INTEGERS(to_8_bits, uint8_t, uint32_t)
INTEGERS(to_32_bits, uint32_t, uint32_t)

static void
to_64_bits(const int32_t *m, uint64_t multiple, uint32_t count, uint64_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (uint64_t)(int64_t)m[i] * multiple;
    }
}

static void
to_fp32(const int32_t *m, double scale, uint32_t count, float *out)
{
    const float factor = (float)scale;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (float)m[i] * factor;
    }
}

static void
to_fp64(const int32_t *m, double scale, uint32_t count, double *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (double)m[i] * scale;
    }
}

/* The numbers are exact in 11 bits and far from both ends of the exponent, so moving
 * the fields is all there is to do. */
static void
to_fp16(const float *value, uint32_t count, uint16_t *out)
{
    uint32_t bits[PERF_VALUES_BLOCK];
    memcpy(bits, value, count * sizeof(bits[0]));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t sign = (bits[i] >> 16) & 0x8000u;
        const uint32_t size = bits[i] & 0x7fffffffu;
        const uint32_t half = size == 0 ? 0 : (size - ((127u - 15u) << 23)) >> 13;
        out[i] = (uint16_t)(sign | half);
    }
}

static void
to_bf16(const float *value, uint32_t count, uint16_t *out)
{
    uint32_t bits[PERF_VALUES_BLOCK];
    memcpy(bits, value, count * sizeof(bits[0]));
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (uint16_t)(bits[i] >> 16);
    }
}

/* `out` may begin anywhere (-u), so elements are made aside and copied. */
static void
store(const perf_values *values, const int32_t *m, uint32_t count, void *out)
{
    union {
        uint8_t bits8[PERF_VALUES_BLOCK];
        uint16_t bits16[PERF_VALUES_BLOCK];
        uint32_t bits32[PERF_VALUES_BLOCK];
        uint64_t bits64[PERF_VALUES_BLOCK];
        float fp32[PERF_VALUES_BLOCK];
        double fp64[PERF_VALUES_BLOCK];
    } made;
    float single[PERF_VALUES_BLOCK];
    switch (values->dtype) {
    case RONDO_INT8:
    case RONDO_UINT8:
        to_8_bits(m, values->multiple, count, made.bits8);
        break;
    case RONDO_INT32:
    case RONDO_UINT32:
        to_32_bits(m, values->multiple, count, made.bits32);
        break;
    case RONDO_INT64:
    case RONDO_UINT64:
        to_64_bits(m, values->multiple, count, made.bits64);
        break;
    case RONDO_FP32:
        to_fp32(m, values->scale, count, made.fp32);
        break;
    case RONDO_FP64:
        to_fp64(m, values->scale, count, made.fp64);
        break;
    case RONDO_FP16:
        to_fp32(m, values->scale, count, single);
        to_fp16(single, count, made.bits16);
        break;
    case RONDO_BF16:
        to_fp32(m, values->scale, count, single);
        to_bf16(single, count, made.bits16);
        break;
    }
    memcpy(out, &made, count * rondo_dtype_bytes(values->dtype));
}

/* Elements of one block: never across a multiple of 2^32, where the upper half of the
 * element's number, which the hash takes once per block, would change. */
static uint32_t
block_of(uint64_t first, uint64_t count)
{
    const uint64_t before_carry = ((uint64_t)1 << 32) - (uint32_t)first;
    uint64_t block = count < before_carry ? count : before_carry;
    block = block < PERF_VALUES_BLOCK ? block : PERF_VALUES_BLOCK;
    return (uint32_t)block;
}

/* Copies are bytes: words are drawn, and what is asked of the last one is taken. */
static void
fill_bits(const perf_values *values, uint32_t rank, uint64_t first, uint64_t count,
          char *out)
{
    const uint64_t width = rondo_dtype_bytes(values->dtype);
    uint64_t bytes = count * width;
    uint64_t word = first * width / sizeof(uint32_t);
    while (bytes > 0) {
        uint32_t words[PERF_VALUES_BLOCK];
        const uint32_t block = block_of(word, (bytes + 3) / 4);
        const uint64_t room = (uint64_t)block * sizeof(words[0]);
        const uint64_t part = bytes < room ? bytes : room;
        perf_draw_bits(values, rank, word, block, words);
        memcpy(out, words, part);
        out += part;
        bytes -= part;
        word += block;
    }
}

void
perf_values_fill(const perf_values *values, uint32_t rank, uint64_t first,
                 uint64_t count, void *out)
{
    if (values->rule == PERF_RULE_COPY) {
        fill_bits(values, rank, first, count, out);
        return;
    }
    char *next = out;
    int32_t m[PERF_VALUES_BLOCK];
    for (uint64_t done = 0; done < count;) {
        const uint32_t part = block_of(first + done, count - done);
        perf_draw_rank(values, rank, first + done, part, m);
        store(values, m, part, next);
        next += part * rondo_dtype_bytes(values->dtype);
        done += part;
    }
}

void
perf_values_expect(const perf_values *values, uint64_t first, uint64_t count, void *out)
{
    char *next = out;
    int32_t m[PERF_VALUES_BLOCK];
    for (uint64_t done = 0; done < count;) {
        const uint32_t part = block_of(first + done, count - done);
        perf_draw_result(values, first + done, part, m);
        store(values, m, part, next);
        next += part * rondo_dtype_bytes(values->dtype);
        done += part;
    }
}
