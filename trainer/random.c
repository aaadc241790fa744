/* random.c - random numbers by counter (see random.h). */
#include "random.h"

#include <math.h>

/* 2^64 divided by the golden ratio, made odd: consecutive counters land far apart. */
#define STRIDE UINT64_C(0x9e3779b97f4a7c15)

/* A bijection of 64 bits in which every input bit reaches every output bit. */
static uint64_t
scramble(uint64_t bits)
{
    bits = (bits ^ (bits >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    bits = (bits ^ (bits >> 29)) * UINT64_C(0xa0761d6478bd642f);
    bits = (bits ^ (bits >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return bits ^ (bits >> 31);
}

random_stream
random_open(uint64_t seed, random_use use, uint32_t index)
{
    const uint64_t name = (uint64_t)use << 32 | index;
    return (random_stream){.key = scramble(scramble(seed + STRIDE) ^ name)};
}

uint64_t
random_bits(random_stream stream, uint64_t i)
{
    return scramble(stream.key + (i + 1) * STRIDE);
}

uint32_t
random_below(random_stream stream, uint64_t i, uint32_t bound)
{
    /* The upper 32 bits as a fraction of bound: off from uniform by bound / 2^32. */
    const uint64_t fraction = random_bits(stream, i) >> 32;
    return (uint32_t)(fraction * bound >> 32);
}

float
random_normal(random_stream stream, uint64_t i)
{
    /* Box and Muller: a radius from one number and an angle from another. The radius
     * comes from (0, 1], since log(0) is infinite. */
    const double unit = 0x1p-53;
    const double u = (double)((random_bits(stream, 2 * i) >> 11) + 1) * unit;
    const double v = (double)(random_bits(stream, 2 * i + 1) >> 11) * unit;
    return (float)(sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v));
}
