/*
 * values.h - inputs whose combination over all ranks is exact in every order.
 *
 * Element i of rank r is m * scale, m a small whole number. For each i one whole number
 * T is drawn; the ranks' numbers are made so that they combine to T (sum, product) or
 * so that T is the extreme (min, max), while every partial result, whichever ranks it
 * covers, is representable in the type. So an algorithm may group and order as it
 * likes: only one bit pattern is right. What must come out is found without looking at
 * the ranks again, which keeps the check fast for many ranks.
 *
 *   sum   m = h(i, r) - h(i, r + 1), around the ring 0 in all; one rank, drawn for each
 *         i, adds T. h is so small that no partial sum leaves the exact range.
 *   prod  m = s(i, r) s(i, r + 1), signs, 1 in all; the drawn rank multiplies by T, the
 *         one after it by 2.
 *   min   the drawn rank has T, the others more. max: less.
 *   avg   T is a multiple of the number of ranks; the drawn rank has a part of it, the
 *         one after it the rest.
 *   copy  any bits at all.
 */
#ifndef PERF_VALUES_H
#define PERF_VALUES_H

#include <stdint.h>

#include <rondo/types.h>

/* Elements made at a time. Small enough to stay in the first cache. */
#define PERF_VALUES_BLOCK 1024u

typedef enum perf_rule {
    PERF_RULE_COPY,
    PERF_RULE_SUM,
    PERF_RULE_PROD,
    PERF_RULE_MIN,
    PERF_RULE_MAX,
    PERF_RULE_AVG
} perf_rule;

/* What to draw, fixed for one operation. Filled by perf_values_init. */
typedef struct perf_values {
    rondo_dtype dtype;
    perf_rule rule;
    uint32_t seed;
    uint32_t nranks;
    uint32_t spread; /* h is below it */
    uint32_t top;    /* |T| is below it, or T / nranks for avg */
    uint32_t is_signed;
    double scale;      /* of floating types */
    uint64_t multiple; /* of integers: spreads m over the type's bits */
} perf_values;

/* perf_rule_of - the rule for an operator. */
perf_rule
perf_rule_of(rondo_op op);

/* perf_values_init - inputs of `nranks` ranks; another seed gives others. */
void
perf_values_init(rondo_dtype dtype, perf_rule rule, uint32_t seed, uint32_t nranks,
                 perf_values *values);

/* perf_values_fill - elements first ... first + count - 1 of `rank` into `out`. For
 * copies `first` is a multiple of 4. */
void
perf_values_fill(const perf_values *values, uint32_t rank, uint64_t first,
                 uint64_t count, void *out);

/* perf_values_expect - the same elements of the result. */
void
perf_values_expect(const perf_values *values, uint64_t first, uint64_t count,
                   void *out);

#endif /* PERF_VALUES_H */
