/* draw.c - hashes of (seed, element, rank); all loops are plain so that they can be
 * turned into vector code. */
#include "common/draw.h"

#include <stdbool.h>

/* A multiply and xorshift mix: every input bit reaches every output bit. */
static inline uint32_t
mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x9e3779b1u;
    x = (x ^ (x >> 15)) * 0x85ebca77u;
    return x ^ (x >> 16);
}

/* Drawn below `limit`: the high half of a product, no division. */
static inline uint32_t
below(uint32_t hash, uint32_t limit)
{
    return (uint32_t)(((uint64_t)hash * limit) >> 32);
}

/* Starting value for one (seed, rank); the element is added and mixed. */
static uint32_t
stream(const perf_values *values, uint32_t rank, uint64_t first)
{
    const uint32_t high = (uint32_t)(first >> 32);
    return mix(values->seed * 0xc2b2ae3du + rank * 0x27d4eb2fu + high * 0x165667b1u);
}

/* The stream that all ranks share: which rank is drawn, and T. */
static uint32_t
shared_stream(const perf_values *values, uint64_t first)
{
    return stream(values, UINT32_MAX, first);
}

static inline uint32_t
drawn_rank(uint32_t hash, uint32_t nranks)
{
    return below(hash, nranks);
}

/* T: another mix of the same hash, with a sign where the type has one. */
static inline int32_t
drawn_number(uint32_t hash, uint32_t top, uint32_t is_signed)
{
    const uint32_t again = hash * 0x9e3779b1u + 0x7f4a7c15u;
    const uint32_t mixed = again ^ (again >> 15);
    const int32_t number = (int32_t)below(mixed, top);
    return (is_signed & (mixed >> 3) & 1u) != 0 ? -number : number;
}

/* T of products: never 0, which would hide everything else. */
static inline int32_t
drawn_factor(uint32_t hash, uint32_t top)
{
    return 1 + drawn_number(hash, top, 0);
}

static void
draw_sum(const perf_values *v, uint32_t rank, uint64_t first, uint32_t count,
         int32_t *m)
{
    const uint32_t next = rank + 1 == v->nranks ? 0 : rank + 1;
    const uint32_t shared = shared_stream(v, first);
    const uint32_t own = stream(v, rank, first);
    const uint32_t after = stream(v, next, first);
    const uint32_t low = (uint32_t)first;
    const uint32_t top = v->top, spread = v->spread;
    const uint32_t nranks = v->nranks, is_signed = v->is_signed;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t common = mix(shared + low + i);
        const int32_t plus = (int32_t)below(mix(own + low + i), spread);
        const int32_t minus = (int32_t)below(mix(after + low + i), spread);
        const int32_t total = drawn_number(common, top, is_signed);
        const int32_t part = drawn_rank(common, nranks) == rank ? total : 0;
        m[i] = plus - minus + part;
    }
}

static void
draw_prod(const perf_values *v, uint32_t rank, uint64_t first, uint32_t count,
          int32_t *m)
{
    const uint32_t next = rank + 1 == v->nranks ? 0 : rank + 1;
    const uint32_t before = rank == 0 ? v->nranks - 1 : rank - 1;
    const uint32_t shared = shared_stream(v, first);
    const uint32_t own = stream(v, rank, first);
    const uint32_t after = stream(v, next, first);
    const uint32_t low = (uint32_t)first;
    const uint32_t top = v->top, nranks = v->nranks;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t common = mix(shared + low + i);
        const uint32_t signs = mix(own + low + i) ^ mix(after + low + i);
        const uint32_t drawn = drawn_rank(common, nranks);
        const int32_t total = drawn_factor(common, top);
        const int32_t number = drawn == rank ? total : drawn == before ? 2 : 1;
        m[i] = (signs & 1u) != 0 ? -number : number;
    }
}

/* The extreme is T; for the maximum of unsigned types all is moved up, so that what is
 * below stays at or above 0. */
static int32_t
extreme_shift(const perf_values *v)
{
    return v->rule == PERF_RULE_MAX && v->is_signed == 0 ? (int32_t)v->top : 0;
}

static void
draw_extreme(const perf_values *v, uint32_t rank, uint64_t first, uint32_t count,
             int32_t *m)
{
    const uint32_t shared = shared_stream(v, first);
    const uint32_t own = stream(v, rank, first);
    const uint32_t low = (uint32_t)first;
    const int32_t direction = v->rule == PERF_RULE_MIN ? 1 : -1;
    const int32_t shift = extreme_shift(v);
    const uint32_t top = v->top, nranks = v->nranks, is_signed = v->is_signed;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t common = mix(shared + low + i);
        const int32_t away = 1 + (int32_t)below(mix(own + low + i), top);
        const int32_t extreme = shift + drawn_number(common, top, is_signed);
        const int32_t further = drawn_rank(common, nranks) == rank ? 0 : away;
        m[i] = extreme + direction * further;
    }
}

static void
draw_avg(const perf_values *v, uint32_t rank, uint64_t first, uint32_t count,
         int32_t *m)
{
    const uint32_t before = rank == 0 ? v->nranks - 1 : rank - 1;
    const uint32_t shared = shared_stream(v, first);
    const uint32_t low = (uint32_t)first;
    const uint32_t top = v->top, nranks = v->nranks, is_signed = v->is_signed;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t common = mix(shared + low + i);
        const uint32_t drawn = drawn_rank(common, nranks);
        const int32_t total = drawn_number(common, top, is_signed) * (int32_t)nranks;
        const int32_t half = total / 2;
        const int32_t part = drawn == rank ? total - half : 0;
        m[i] = part + (drawn == before ? half : 0);
    }
}

void
perf_draw_rank(const perf_values *values, uint32_t rank, uint64_t first, uint32_t count,
               int32_t *m)
{
    switch (values->rule) {
    case PERF_RULE_SUM:
        draw_sum(values, rank, first, count, m);
        break;
    case PERF_RULE_PROD:
        draw_prod(values, rank, first, count, m);
        break;
    case PERF_RULE_AVG:
        draw_avg(values, rank, first, count, m);
        break;
    case PERF_RULE_MIN:
    case PERF_RULE_MAX:
        draw_extreme(values, rank, first, count, m);
        break;
    case PERF_RULE_COPY:
        break;
    }
}

void
perf_draw_result(const perf_values *values, uint64_t first, uint32_t count, int32_t *m)
{
    const uint32_t shared = shared_stream(values, first);
    const uint32_t low = (uint32_t)first;
    const uint32_t top = values->top, is_signed = values->is_signed;
    if (values->rule == PERF_RULE_PROD) {
        const int32_t doubled = values->nranks > 1 ? 2 : 1;
        for (uint32_t i = 0; i < count; i++) {
            m[i] = doubled * drawn_factor(mix(shared + low + i), top);
        }
        return;
    }
    const bool extreme = values->rule == PERF_RULE_MIN || values->rule == PERF_RULE_MAX;
    const int32_t shift = extreme ? extreme_shift(values) : 0;
    for (uint32_t i = 0; i < count; i++) {
        m[i] = shift + drawn_number(mix(shared + low + i), top, is_signed);
    }
}

void
perf_draw_bits(const perf_values *values, uint32_t rank, uint64_t first, uint32_t count,
               uint32_t *words)
{
    const uint32_t own = stream(values, rank, first);
    const uint32_t low = (uint32_t)first;
    for (uint32_t i = 0; i < count; i++) {
        words[i] = mix(own + low + i);
    }
}
