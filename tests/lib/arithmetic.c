/* arithmetic.c - integers in 128 bits, floating types by scaling and rounding in
 * fp64. */
#include "lib/arithmetic.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

bool
arithmetic_floating(rondo_dtype dtype)
{
    return dtype == RONDO_FP16 || dtype == RONDO_BF16 || dtype == RONDO_FP32 ||
           dtype == RONDO_FP64;
}

static bool
is_signed(rondo_dtype dtype)
{
    return dtype == RONDO_INT8 || dtype == RONDO_INT32 || dtype == RONDO_INT64;
}

static uint64_t
random_word(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return rondo_hash_mix(*seed);
}

/* Significant bits, least exponent and largest value of the narrow types. */
static double
round_to(double value, int digits, int least, double largest)
{
    if (isnan(value) || isinf(value) || value == 0) {
        return value;
    }
    const int exponent = ilogb(value) < least ? least : ilogb(value);
    const double unit = ldexp(1.0, exponent - digits + 1);
    const double rounded = rint(value / unit) * unit;
    return fabs(rounded) > largest ? copysign((double)INFINITY, value) : rounded;
}

static double
round_as(rondo_dtype dtype, double value)
{
    switch (dtype) {
    case RONDO_FP16:
        return round_to(value, 11, -14, 65504.0);
    case RONDO_BF16:
        return round_to(value, 8, -126, 0x1.fep127);
    case RONDO_FP32:
        return (float)value;
    default:
        return value;
    }
}

double
arithmetic_value(rondo_dtype dtype, uint64_t bits)
{
    float single = 0;
    double twice = 0;
    uint32_t word = (uint32_t)bits;

    if (dtype == RONDO_FP64) {
        memcpy(&twice, &bits, sizeof twice);
        return twice;
    }
    if (dtype == RONDO_FP16) {
        const int exponent = (int)(bits >> 10 & 31);
        const double part = (double)(bits & 1023);
        double value =
            exponent == 0 ? ldexp(part, -24) : ldexp(1024 + part, exponent - 25);
        if (exponent == 31) {
            value = part == 0 ? (double)INFINITY : (double)NAN;
        }
        return bits >> 15 != 0 ? -value : value;
    }
    word = dtype == RONDO_BF16 ? word << 16 : word;
    memcpy(&single, &word, sizeof single);
    return (double)single;
}

/* Of two zeros the larger is +0; a NaN wins. */
static double
extreme(rondo_op op, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    if (a == b) {
        return (op == RONDO_MAX) == (signbit(a) != 0) ? b : a;
    }
    return (op == RONDO_MAX) == (a > b) ? a : b;
}

/* fp32 arithmetic in fp64 rounds the same for one operation at a time. */
double
arithmetic_floating_result(rondo_dtype dtype, rondo_op op, double a, double b,
                           uint32_t divisor)
{
    const rondo_dtype wide = dtype == RONDO_FP64 ? RONDO_FP64 : RONDO_FP32;

    switch (op) {
    case RONDO_SUM:
        return round_as(dtype, round_as(wide, a + b));
    case RONDO_PROD:
        return round_as(dtype, round_as(wide, a * b));
    case RONDO_AVG:
        return round_as(
            dtype, round_as(wide, round_as(wide, a + b) / round_as(wide, divisor)));
    default:
        return extreme(op, a, b);
    }
}

uint64_t
arithmetic_integer_result(rondo_dtype dtype, rondo_op op, uint64_t a, uint64_t b,
                          uint32_t divisor)
{
    const unsigned bits = (unsigned)rondo_dtype_bytes(dtype) * 8;
    const __int128 modulus = (__int128)1 << bits;
    const __int128 half = is_signed(dtype) ? modulus / 2 : modulus;
    const __int128 x = (__int128)a >= half ? (__int128)a - modulus : (__int128)a;
    const __int128 y = (__int128)b >= half ? (__int128)b - modulus : (__int128)b;
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    switch (op) {
    case RONDO_SUM:
        return (uint64_t)(x + y) & mask;
    case RONDO_PROD:
        return (uint64_t)((unsigned __int128)x * (unsigned __int128)y) & mask;
    case RONDO_MAX:
        return (uint64_t)(x > y ? x : y) & mask;
    case RONDO_MIN:
        return (uint64_t)(x < y ? x : y) & mask;
    default:
        break;
    }
    const uint64_t wrapped = (uint64_t)(x + y) & mask;
    const __int128 sum =
        (__int128)wrapped >= half ? (__int128)wrapped - modulus : (__int128)wrapped;
    return (uint64_t)(sum / (__int128)divisor) & mask;
}

uint64_t
arithmetic_nan(rondo_dtype dtype)
{
    switch (dtype) {
    case RONDO_FP16:
        return 0x7e00;
    case RONDO_BF16:
        return 0x7fc0;
    case RONDO_FP32:
        return 0x7fc00000;
    default:
        return UINT64_C(0x7ff8000000000000);
    }
}

/* Edges of every type, as bits; what does not fit is cut. */
static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 0x7f,
                                 0x80,
                                 0xff,
                                 0x78,
                                 0x64,
                                 0x7fff,
                                 0x8000,
                                 0x8001,
                                 0x0400,
                                 0x03ff,
                                 0x7bff,
                                 0x7c00,
                                 0x7c01,
                                 0x7e00,
                                 0xfc00,
                                 0xfe01,
                                 0x3c00,
                                 0x0080,
                                 0x007f,
                                 0x7f7f,
                                 0x7f80,
                                 0x7f81,
                                 0x7fc1,
                                 0xff80,
                                 0xffc0,
                                 0x3f80,
                                 0xbf80,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x00800000,
                                 0x007fffff,
                                 0x7f7fffff,
                                 0x7f800000,
                                 0x7f800001,
                                 0x7fc00001,
                                 0xff800000,
                                 0xffc12345,
                                 0x3f800000,
                                 0xbf800000,
                                 0x33800000,
                                 0x38800000,
                                 0x477fe000,
                                 0x477ff000,
                                 UINT64_C(0x7fffffffffffffff),
                                 UINT64_C(0x8000000000000000),
                                 UINT64_C(0xffffffffffffffff),
                                 UINT64_C(0x0010000000000000),
                                 UINT64_C(0x000fffffffffffff),
                                 UINT64_C(0x7fefffffffffffff),
                                 UINT64_C(0x7ff0000000000000),
                                 UINT64_C(0x7ff0000000000001),
                                 UINT64_C(0x7ff8000000000001),
                                 UINT64_C(0xfff0000000000000),
                                 UINT64_C(0xfff8123456789abc),
                                 UINT64_C(0x3ff0000000000000),
                                 UINT64_C(0xbff0000000000000)};

#define EDGES (sizeof edges / sizeof edges[0])

/* A third edges, a third any bits, a third values whose exponents are near each other,
 * so that rounding is met. */
uint64_t
arithmetic_draw(rondo_dtype dtype, uint64_t *seed)
{
    const uint64_t word = random_word(seed);
    const uint64_t kind = random_word(seed) % 3;

    if (kind == 0) {
        return edges[word % EDGES];
    }
    if (kind == 1 || !arithmetic_floating(dtype)) {
        return word;
    }
    switch (dtype) {
    case RONDO_FP16:
        return (word & 0x83ff) | (14 + (word >> 20) % 4) << 10;
    case RONDO_BF16:
        return (word & 0x807f) | (126 + (word >> 20) % 4) << 7;
    case RONDO_FP32:
        return (word & 0x807fffff) | (126 + (word >> 40) % 4) << 23;
    default:
        return (word & UINT64_C(0x800fffffffffffff)) | (1022 + (word >> 60) % 4) << 52;
    }
}
