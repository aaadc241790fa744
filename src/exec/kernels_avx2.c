/* kernels_avx2.c - the same reductions, 32 bytes at a time. */
#include "exec/kernels_tables.h"

#if defined(__AVX2__) && defined(__F16C__)

#include <immintrin.h>

#include "exec/element.h"

/* --- between memory and lanes; floating types leave with one kind of NaN --------- */

static inline __m256i
load_bits(const char *at)
{
    __m256i bits;

    memcpy(&bits, at, sizeof bits);
    return bits;
}

static inline void
store_bits(char *at, __m256i bits)
{
    memcpy(at, &bits, sizeof bits);
}

static inline __m128i
load_half(const char *at)
{
    __m128i bits;

    memcpy(&bits, at, sizeof bits);
    return bits;
}

static inline void
store_half(char *at, __m128i bits)
{
    memcpy(at, &bits, sizeof bits);
}

static inline __m256
one_nan_ps(__m256 lanes)
{
    const __m256 unordered = _mm256_cmp_ps(lanes, lanes, _CMP_UNORD_Q);

    return _mm256_blendv_ps(lanes, _mm256_set1_ps(NAN), unordered);
}

static inline __m256
load_fp32(const char *at)
{
    return _mm256_castsi256_ps(load_bits(at));
}

static inline void
store_fp32(char *at, __m256 lanes)
{
    store_bits(at, _mm256_castps_si256(one_nan_ps(lanes)));
}

static inline __m256d
load_fp64(const char *at)
{
    return _mm256_castsi256_pd(load_bits(at));
}

static inline void
store_fp64(char *at, __m256d lanes)
{
    const __m256d unordered = _mm256_cmp_pd(lanes, lanes, _CMP_UNORD_Q);
    const __m256d nan = _mm256_set1_pd((double)NAN);

    store_bits(at, _mm256_castpd_si256(_mm256_blendv_pd(lanes, nan, unordered)));
}

static inline __m256
load_fp16(const char *at)
{
    return _mm256_cvtph_ps(load_half(at));
}

static inline void
store_fp16(char *at, __m256 lanes)
{
    const __m256 quiet = one_nan_ps(lanes);

    store_half(at, _mm256_cvtps_ph(quiet, _MM_FROUND_TO_NEAREST_INT));
}

static inline __m256
load_bf16(const char *at)
{
    const __m256i wide = _mm256_cvtepu16_epi32(load_half(at));

    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline void
store_bf16(char *at, __m256 lanes)
{
    const __m256i bits = _mm256_castps_si256(one_nan_ps(lanes));
    const __m256i last =
        _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i under_half = _mm256_set1_epi32(0x7fff);
    const __m256i carried = _mm256_add_epi32(bits, _mm256_add_epi32(under_half, last));
    const __m256i upper = _mm256_srli_epi32(carried, 16);

    store_half(at, _mm_packus_epi32(_mm256_castsi256_si128(upper),
                                    _mm256_extracti128_si256(upper, 1)));
}

/* --- what is not one instruction ------------------------------------------------- */

static inline __m256i
multiply_bytes(__m256i a, __m256i b)
{
    const __m256i low = _mm256_set1_epi16(0xff);
    const __m256i even = _mm256_mullo_epi16(a, b);
    const __m256i odd =
        _mm256_mullo_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));

    return _mm256_or_si256(_mm256_and_si256(even, low), _mm256_slli_epi16(odd, 8));
}

/* Modulo 2^64 the product of the upper halves does not matter. */
static inline __m256i
multiply_quads(__m256i a, __m256i b)
{
    const __m256i cross =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                         _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));

    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

/* Where a > b, all bits of the lane. Flipping the sign bit orders unsigned lanes. */
static inline __m256i
above_i64(__m256i a, __m256i b)
{
    return _mm256_cmpgt_epi64(a, b);
}

static inline __m256i
above_u64(__m256i a, __m256i b)
{
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);

    return _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign));
}

/* Of two equal operands the instruction returns the second: asked both ways round it
 * returns both zeros, of which AND keeps +0 and OR keeps -0. */
#define MAX_OF(suffix, a, b)                                               \
    _mm256_or_##suffix(_mm256_and_##suffix(_mm256_max_##suffix((a), (b)),  \
                                           _mm256_max_##suffix((b), (a))), \
                       _mm256_cmp_##suffix((a), (b), _CMP_UNORD_Q))
#define MIN_OF(suffix, a, b)                                              \
    _mm256_or_##suffix(_mm256_or_##suffix(_mm256_min_##suffix((a), (b)),  \
                                          _mm256_min_##suffix((b), (a))), \
                       _mm256_cmp_##suffix((a), (b), _CMP_UNORD_Q))

/* --- what the kernels below ask of a type: its lanes, its bytes, its divisor ------ */

typedef __m256i lanes_bits;
typedef __m256 lanes_fp16;
typedef __m256 lanes_bf16;
typedef __m256 lanes_fp32;
typedef __m256d lanes_fp64;

enum {
    BYTES_bits = 32,
    BYTES_fp16 = 16,
    BYTES_bf16 = 16,
    BYTES_fp32 = 32,
    BYTES_fp64 = 32
};

#define SPREAD_bits(divisor) _mm256_setzero_si256()
#define SPREAD_fp16(divisor) _mm256_set1_ps((float)(divisor))
#define SPREAD_bf16(divisor) _mm256_set1_ps((float)(divisor))
#define SPREAD_fp32(divisor) _mm256_set1_ps((float)(divisor))
#define SPREAD_fp64(divisor) _mm256_set1_pd((double)(divisor))

/* --- one kernel: up to a boundary of `to`, vectors, then what is left over -------- */

/* Shorter runs are not worth a head. */
#define HEAD_PAYS_BYTES 512

/* Bytes up to where stores no longer cross lines; 0 if no element begins there. */
static inline uint64_t
head_bytes(const char *out, uint64_t width, uint64_t vector, uint64_t bytes)
{
    const uint64_t head = (0 - (uintptr_t)out) & (vector - 1);

    return bytes < HEAD_PAYS_BYTES || head % width != 0 ? 0 : head;
}

/* `result` is an expression of the vectors x and y, and of d, all lanes the divisor. */
#define KERNEL(name, stored, kind, op, result)                                    \
    static inline void name##_##op##_each(char *out, const char *left,            \
                                          const char *right, uint64_t bytes,      \
                                          uint32_t divisor)                       \
    {                                                                             \
        for (uint64_t at = 0; at < bytes; at += sizeof(stored)) {                 \
            stored one;                                                           \
            stored other;                                                         \
            memcpy(&one, left + at, sizeof one);                                  \
            memcpy(&other, right + at, sizeof other);                             \
            one = name##_##op(one, other, divisor);                               \
            memcpy(out + at, &one, sizeof one);                                   \
        }                                                                         \
    }                                                                             \
    static void name##_##op##_run(void *to, const void *a, const void *b,         \
                                  uint64_t count, uint32_t divisor)               \
    {                                                                             \
        const lanes_##kind d = SPREAD_##kind(divisor);                            \
        const char *const left = a;                                               \
        const char *const right = b;                                              \
        char *const out = to;                                                     \
        const uint64_t bytes = count * sizeof(stored);                            \
        uint64_t at = head_bytes(out, sizeof(stored), BYTES_##kind, bytes);       \
        (void)d;                                                                  \
        name##_##op##_each(out, left, right, at, divisor);                        \
        for (; bytes - at >= BYTES_##kind; at += BYTES_##kind) {                  \
            const lanes_##kind x = load_##kind(left + at);                        \
            const lanes_##kind y = load_##kind(right + at);                       \
            store_##kind(out + at, (result));                                     \
        }                                                                         \
        name##_##op##_each(out + at, left + at, right + at, bytes - at, divisor); \
    }

#define BITS_KERNELS(name, stored, sum_result, prod_result, max_result, min_result) \
    KERNEL(name, stored, bits, sum, sum_result)                                     \
    KERNEL(name, stored, bits, prod, prod_result)                                   \
    KERNEL(name, stored, bits, max, max_result)                                     \
    KERNEL(name, stored, bits, min, min_result)

#define LANES_KERNELS(name, stored, suffix)                     \
    KERNEL(name, stored, name, sum, _mm256_add_##suffix(x, y))  \
    KERNEL(name, stored, name, prod, _mm256_mul_##suffix(x, y)) \
    KERNEL(name, stored, name, max, MAX_OF(suffix, x, y))       \
    KERNEL(name, stored, name, min, MIN_OF(suffix, x, y))       \
    KERNEL(name, stored, name, avg, _mm256_div_##suffix(_mm256_add_##suffix(x, y), d))

BITS_KERNELS(int8, int8_t, _mm256_add_epi8(x, y), multiply_bytes(x, y),
             _mm256_max_epi8(x, y), _mm256_min_epi8(x, y))
BITS_KERNELS(uint8, uint8_t, _mm256_add_epi8(x, y), multiply_bytes(x, y),
             _mm256_max_epu8(x, y), _mm256_min_epu8(x, y))
BITS_KERNELS(int32, int32_t, _mm256_add_epi32(x, y), _mm256_mullo_epi32(x, y),
             _mm256_max_epi32(x, y), _mm256_min_epi32(x, y))
BITS_KERNELS(uint32, uint32_t, _mm256_add_epi32(x, y), _mm256_mullo_epi32(x, y),
             _mm256_max_epu32(x, y), _mm256_min_epu32(x, y))
BITS_KERNELS(int64, int64_t, _mm256_add_epi64(x, y), multiply_quads(x, y),
             _mm256_blendv_epi8(y, x, above_i64(x, y)),
             _mm256_blendv_epi8(x, y, above_i64(x, y)))
BITS_KERNELS(uint64, uint64_t, _mm256_add_epi64(x, y), multiply_quads(x, y),
             _mm256_blendv_epi8(y, x, above_u64(x, y)),
             _mm256_blendv_epi8(x, y, above_u64(x, y)))
LANES_KERNELS(fp16, uint16_t, ps)
LANES_KERNELS(bf16, uint16_t, ps)
LANES_KERNELS(fp32, float, ps)
LANES_KERNELS(fp64, double, pd)

#define FOUR(name)                                                \
    [RONDO_SUM] = name##_sum_run, [RONDO_PROD] = name##_prod_run, \
    [RONDO_MAX] = name##_max_run, [RONDO_MIN] = name##_min_run

/* An average of integers is a division per element, with or without vectors. */
const rondo_kernel rondo_kernels_avx2[RONDO_DTYPES][RONDO_OPS] = {
    [RONDO_INT8] = {FOUR(int8)},
    [RONDO_UINT8] = {FOUR(uint8)},
    [RONDO_INT32] = {FOUR(int32)},
    [RONDO_UINT32] = {FOUR(uint32)},
    [RONDO_INT64] = {FOUR(int64)},
    [RONDO_UINT64] = {FOUR(uint64)},
    [RONDO_FP16] = {FOUR(fp16), [RONDO_AVG] = fp16_avg_run},
    [RONDO_FP32] = {FOUR(fp32), [RONDO_AVG] = fp32_avg_run},
    [RONDO_FP64] = {FOUR(fp64), [RONDO_AVG] = fp64_avg_run},
    [RONDO_BF16] = {FOUR(bf16), [RONDO_AVG] = bf16_avg_run},
};

#else

const rondo_kernel rondo_kernels_avx2[RONDO_DTYPES][RONDO_OPS];

#endif
