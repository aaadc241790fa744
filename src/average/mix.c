/* mix.c - the weighted sum of a few vectors, term by term. */
#include <string.h>

#include <rondo/average.h>

/* Elements taken at a time: the sum stays in the first cache, and `out` may be one of
 * the vectors. */
#define BLOCK_COUNT 1024

static void
scale(float weight, const float *restrict term, uint64_t count, float *restrict sum)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] = weight * term[i];
    }
}

static void
add_scaled(float weight, const float *restrict term, uint64_t count,
           float *restrict sum)
{
    for (uint64_t i = 0; i < count; i++) {
        sum[i] += weight * term[i];
    }
}

void
rondo_gossip_mix(const rondo_gossip_term *terms, uint32_t nterms,
                 const float *const *vectors, uint64_t count, float *out)
{
    float sum[BLOCK_COUNT];

    if (nterms == 0) {
        return;
    }
    for (uint64_t at = 0; at < count; at += BLOCK_COUNT) {
        const uint64_t block = count - at < BLOCK_COUNT ? count - at : BLOCK_COUNT;
        scale(terms[0].weight, vectors[0] + at, block, sum);
        for (uint32_t t = 1; t < nterms; t++) {
            add_scaled(terms[t].weight, vectors[t] + at, block, sum);
        }
        memcpy(out + at, sum, block * sizeof *out);
    }
}
