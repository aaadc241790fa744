/*
 * element.h - what each reduction does to one pair of elements, for every type.
 *
 * Integers wrap: they are computed in unsigned 64-bit arithmetic and cut. Floating
 * types are computed in fp32 or fp64 and rounded once. Every NaN that comes out is the
 * one default quiet NaN, so that neither the order of operands, nor the compiler, nor
 * the width of the vectors shows in the bits. Of two zeros max takes +0 and min -0.
 */
#ifndef EXEC_ELEMENT_H
#define EXEC_ELEMENT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* One row each: enum name, name, how it is stored. */
#define RONDO_ELEMENT_ROWS(ROW)   \
    ROW(INT8, int8, int8_t)       \
    ROW(UINT8, uint8, uint8_t)    \
    ROW(INT32, int32, int32_t)    \
    ROW(UINT32, uint32, uint32_t) \
    ROW(INT64, int64, int64_t)    \
    ROW(UINT64, uint64, uint64_t) \
    ROW(FP16, fp16, uint16_t)     \
    ROW(FP32, fp32, float)        \
    ROW(FP64, fp64, double)       \
    ROW(BF16, bf16, uint16_t)

static inline uint32_t
rondo_bits_of_fp32(float value)
{
    uint32_t bits = 0;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float
rondo_fp32_of_bits(uint32_t bits)
{
    float value = 0;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float
rondo_widen_fp32(float value)
{
    return value;
}

static inline float
rondo_narrow_fp32(float value)
{
    return isnan(value) ? NAN : value;
}

static inline double
rondo_widen_fp64(double value)
{
    return value;
}

static inline double
rondo_narrow_fp64(double value)
{
    return isnan(value) ? (double)NAN : value;
}

static inline float
rondo_widen_bf16(uint16_t half)
{
    return rondo_fp32_of_bits((uint32_t)half << 16);
}

/* Adding just under half of the last place, and the last place itself where it is odd,
 * carries into the upper half exactly when nearest-even rounds up. */
static inline uint16_t
rondo_narrow_bf16(float value)
{
    const uint32_t bits = rondo_bits_of_fp32(rondo_narrow_fp32(value));

    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

static inline float
rondo_widen_fp16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    const uint32_t rest = half & 0x7fffU;

    if (rest >= 0x7c00U) {
        return rondo_fp32_of_bits(sign | 0x7f800000U | (rest & 0x3ffU) << 13);
    }
    if (rest >= 0x400U) {
        return rondo_fp32_of_bits(sign | (rest + (112U << 10)) << 13);
    }
    /* A subnormal is a count of the smallest one, which fp32 holds as a normal. */
    return rondo_fp32_of_bits(sign | rondo_bits_of_fp32((float)rest * 0x1p-24F));
}

static inline uint16_t
rondo_narrow_fp16(float value)
{
    const uint32_t bits = rondo_bits_of_fp32(value);
    const uint32_t sign = bits >> 16 & 0x8000U;
    const uint32_t rest = bits & 0x7fffffffU;

    if (rest > 0x7f800000U) {
        return 0x7e00U;
    }
    if (rest >= 0x47800000U) { /* 65536 and more, infinity included */
        return (uint16_t)(sign | 0x7c00U);
    }
    if (rest >= 0x38800000U) { /* normal; a carry out of the largest gives infinity */
        const uint32_t moved = rest - (112U << 23);
        return (uint16_t)(sign | (moved + 0xfffU + (moved >> 13 & 1U)) >> 13);
    }
    /* The last place of 0.5 is the smallest subnormal: the addition rounds for us. */
    const float shifted = rondo_fp32_of_bits(rest) + 0.5F;
    return (uint16_t)(sign | (rondo_bits_of_fp32(shifted) - 0x3f000000U));
}

#define RONDO_INTEGER_ELEMENT(name, type, quotient)                  \
    static inline type name##_sum(type a, type b, uint32_t divisor)  \
    {                                                                \
        (void)divisor;                                               \
        return (type)((uint64_t)a + (uint64_t)b);                    \
    }                                                                \
    static inline type name##_prod(type a, type b, uint32_t divisor) \
    {                                                                \
        (void)divisor;                                               \
        return (type)((uint64_t)a * (uint64_t)b);                    \
    }                                                                \
    static inline type name##_max(type a, type b, uint32_t divisor)  \
    {                                                                \
        (void)divisor;                                               \
        return a > b ? a : b;                                        \
    }                                                                \
    static inline type name##_min(type a, type b, uint32_t divisor)  \
    {                                                                \
        (void)divisor;                                               \
        return a < b ? a : b;                                        \
    }                                                                \
    static inline type name##_avg(type a, type b, uint32_t divisor)  \
    {                                                                \
        const type sum = name##_sum(a, b, divisor);                  \
        return (type)((quotient)sum / (quotient)divisor);            \
    }

#define RONDO_FLOATING_ELEMENT(name, type, wide)                                     \
    static inline type name##_sum(type a, type b, uint32_t divisor)                  \
    {                                                                                \
        (void)divisor;                                                               \
        return rondo_narrow_##name(rondo_widen_##name(a) + rondo_widen_##name(b));   \
    }                                                                                \
    static inline type name##_prod(type a, type b, uint32_t divisor)                 \
    {                                                                                \
        (void)divisor;                                                               \
        return rondo_narrow_##name(rondo_widen_##name(a) * rondo_widen_##name(b));   \
    }                                                                                \
    static inline type name##_max(type a, type b, uint32_t divisor)                  \
    {                                                                                \
        const wide x = rondo_widen_##name(a);                                        \
        const wide y = rondo_widen_##name(b);                                        \
        const bool first = isnan(x) || x > y || (x == y && !signbit(x));             \
        (void)divisor;                                                               \
        return rondo_narrow_##name(first ? x : y);                                   \
    }                                                                                \
    static inline type name##_min(type a, type b, uint32_t divisor)                  \
    {                                                                                \
        const wide x = rondo_widen_##name(a);                                        \
        const wide y = rondo_widen_##name(b);                                        \
        const bool first = isnan(x) || x < y || (x == y && signbit(x));              \
        (void)divisor;                                                               \
        return rondo_narrow_##name(first ? x : y);                                   \
    }                                                                                \
    static inline type name##_avg(type a, type b, uint32_t divisor)                  \
    {                                                                                \
        return rondo_narrow_##name((rondo_widen_##name(a) + rondo_widen_##name(b)) / \
                                   (wide)divisor);                                   \
    }

/* Dividing integers is slow. Floating quotients are cut to the same integer where the
 * significand is longer than the sum: none is rounded up to the next integer. */
RONDO_INTEGER_ELEMENT(int8, int8_t, float)
RONDO_INTEGER_ELEMENT(uint8, uint8_t, float)
RONDO_INTEGER_ELEMENT(int32, int32_t, double)
RONDO_INTEGER_ELEMENT(uint32, uint32_t, double)
RONDO_INTEGER_ELEMENT(int64, int64_t, int64_t)
RONDO_INTEGER_ELEMENT(uint64, uint64_t, uint64_t)
RONDO_FLOATING_ELEMENT(fp16, uint16_t, float)
RONDO_FLOATING_ELEMENT(bf16, uint16_t, float)
RONDO_FLOATING_ELEMENT(fp32, float, float)
RONDO_FLOATING_ELEMENT(fp64, double, double)

#endif /* EXEC_ELEMENT_H */
