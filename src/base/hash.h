/* hash.h - a 64-bit mixing hash for cache keys and signatures (not for secrets). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", OOPSLA 2014): every input bit reaches every output bit. */
static inline uint64_t
rondo_hash_mix(uint64_t word)
{
    word ^= word >> 30;
    word *= UINT64_C(0xbf58476d1ce4e5b9);
    word ^= word >> 27;
    word *= UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static inline uint64_t
rondo_hash_add(uint64_t hash, uint64_t word)
{
    return rondo_hash_mix(hash ^ (word + UINT64_C(0x9e3779b97f4a7c15)));
}

static inline uint64_t
rondo_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *const at = data;

    for (size_t i = 0; i < bytes; i++) {
        hash = rondo_hash_add(hash, at[i]);
    }
    return hash;
}

#endif /* BASE_HASH_H */
