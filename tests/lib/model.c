/* model.c - the naive reference: one element at a time, in plain arithmetic. */
#include "lib/model.h"

#include <math.h>
#include <string.h>

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t
model_random(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);

    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

bool
model_is_float(rondo_dtype dtype)
{
    return dtype == RONDO_FP16 || dtype == RONDO_BF16 || dtype == RONDO_FP32 ||
           dtype == RONDO_FP64;
}

static bool
is_unsigned(rondo_dtype dtype)
{
    return dtype == RONDO_UINT8 || dtype == RONDO_UINT32 || dtype == RONDO_UINT64;
}

/* A binary format of 16 bits with `fraction` bits of fraction. */
static uint16_t
to_16_bits(double value, int fraction, int exponent_max)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    int exponent = 0;

    if (isnan(value)) {
        return (uint16_t)(sign | (((2 * exponent_max + 1) << fraction) |
                                  (1 << (fraction - 1))));
    }
    (void)frexp(size, &exponent);
    exponent--;
    if (size == 0.0 || exponent < 1 - exponent_max) {
        exponent = 1 - exponent_max; /* subnormal: the leading bit is not implied */
    }
    double whole = nearbyint(ldexp(size, fraction - exponent));
    if (!isfinite(size) ||
        ldexp(whole, exponent - fraction) >= ldexp(1.0, exponent_max + 1)) {
        return (uint16_t)(sign | ((2 * exponent_max + 1) << fraction));
    }
    /* The leading bit adds one to the exponent field; a carry does so once more. */
    const int field = (exponent + exponent_max - 1) << fraction;
    return (uint16_t)(sign | (field + (int)whole));
}

static double
from_16_bits(uint16_t bits, int fraction, int exponent_max)
{
    const int field = (bits & 0x7fff) >> fraction;
    const int rest = bits & ((1 << fraction) - 1);
    double size = 0.0;

    if (field == 2 * exponent_max + 1) {
        size = rest != 0 ? (double)NAN : (double)INFINITY;
    } else if (field == 0) {
        size = ldexp(rest, 1 - exponent_max - fraction);
    } else {
        size = ldexp(rest + (1 << fraction), field - exponent_max - fraction);
    }
    return (bits & 0x8000) != 0 ? -size : size;
}

/* Integers wrap: the low bits of the two's complement. */
static void
put_whole(rondo_dtype dtype, uint64_t bits, uint64_t index, void *data)
{
    const size_t width = rondo_dtype_bytes(dtype);

    memcpy((unsigned char *)data + index * width, &bits, width);
}

void
model_put(rondo_dtype dtype, double value, uint64_t index, void *data)
{
    uint16_t half = 0;

    switch (dtype) {
    case RONDO_FP16:
        half = to_16_bits(value, 10, 15);
        memcpy((uint16_t *)data + index, &half, sizeof half);
        break;
    case RONDO_BF16:
        half = to_16_bits(value, 7, 127);
        memcpy((uint16_t *)data + index, &half, sizeof half);
        break;
    case RONDO_FP32:
        ((float *)data)[index] = (float)value;
        break;
    case RONDO_FP64:
        ((double *)data)[index] = value;
        break;
    default:
        put_whole(dtype, value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value, index,
                  data);
    }
}

double
model_get(rondo_dtype dtype, const void *data, uint64_t index)
{
    switch (dtype) {
    case RONDO_INT8:
        return ((const int8_t *)data)[index];
    case RONDO_UINT8:
        return ((const uint8_t *)data)[index];
    case RONDO_INT32:
        return ((const int32_t *)data)[index];
    case RONDO_UINT32:
        return ((const uint32_t *)data)[index];
    case RONDO_INT64:
        return (double)((const int64_t *)data)[index];
    case RONDO_UINT64:
        return (double)((const uint64_t *)data)[index];
    case RONDO_FP16:
        return from_16_bits(((const uint16_t *)data)[index], 10, 15);
    case RONDO_BF16:
        return from_16_bits(((const uint16_t *)data)[index], 7, 127);
    case RONDO_FP32:
        return (double)((const float *)data)[index];
    case RONDO_FP64:
        return ((const double *)data)[index];
    }
    return (double)NAN;
}

/* Small whole numbers, so that sums and products are exact in every type. */
static int64_t
input_of(const model *of, uint32_t rank, uint64_t index)
{
    uint64_t state =
        of->seed ^ (index * UINT64_C(0x2545f4914f6cdd1d)) ^ ((uint64_t)rank << 48);
    const uint64_t drawn = model_random(&state);
    const bool may_be_negative = !is_unsigned(of->dtype);

    if (of->op == RONDO_PROD) {
        const int64_t size = rank < 8 && (drawn & 1) != 0 ? 2 : 1;
        return may_be_negative && (drawn & 2) != 0 ? -size : size;
    }
    int64_t span = of->nranks > 16 ? 3 : 15;
    if (of->op == RONDO_MIN || of->op == RONDO_MAX) {
        span = 100;
    }
    return may_be_negative ? (int64_t)(drawn % (uint64_t)(2 * span + 1)) - span
                           : (int64_t)(drawn % (uint64_t)(span + 1));
}

void
model_input(const model *of, uint32_t rank, uint64_t first, uint64_t count, void *data)
{
    for (uint64_t i = 0; i < count; i++) {
        model_put(of->dtype, (double)input_of(of, rank, first + i), i, data);
    }
}

static int64_t
combine(rondo_op op, int64_t left, int64_t right)
{
    switch (op) {
    case RONDO_PROD:
        return (int64_t)((uint64_t)left * (uint64_t)right);
    case RONDO_MIN:
        return left < right ? left : right;
    case RONDO_MAX:
        return left > right ? left : right;
    default:
        return left + right;
    }
}

/* Floats divide before they round to their own type, integers truncate to zero. */
static void
put_average(const model *of, int64_t sum, uint64_t index, void *data)
{
    if (of->dtype == RONDO_FP64) {
        model_put(of->dtype, (double)sum / of->nranks, index, data);
    } else if (model_is_float(of->dtype)) {
        const float mean = (float)sum / (float)of->nranks;
        model_put(of->dtype, (double)mean, index, data);
    } else {
        put_whole(of->dtype, (uint64_t)(sum / (int64_t)of->nranks), index, data);
    }
}

void
model_result(const model *of, uint64_t first, uint64_t count, void *data)
{
    for (uint64_t i = 0; i < count; i++) {
        int64_t all = input_of(of, 0, first + i);
        for (uint32_t r = 1; r < of->nranks; r++) {
            all = combine(of->op, all, input_of(of, r, first + i));
        }
        if (of->op == RONDO_AVG) {
            put_average(of, all, i, data);
        } else if (model_is_float(of->dtype)) {
            model_put(of->dtype, (double)all, i, data);
        } else {
            put_whole(of->dtype, (uint64_t)all, i, data);
        }
    }
}
