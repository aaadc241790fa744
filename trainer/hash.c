/* hash.c - 64-bit hashes, wide enough for vector units (see hash.h). */
#include "hash.h"

#include "clones.h"

#include <string.h>

#define LANES       64u
#define BLOCK_BYTES (LANES * sizeof(uint32_t))

/* One word into one lane; for a given lane no two words give the same result, and for a
 * given word no two lanes do. */
static inline uint32_t
mix(uint32_t lane, uint32_t word)
{
    lane ^= word;
    /* Without the turn, two flips of the highest bit (a float's sign) would cancel. */
    lane = lane << 13 | lane >> 19;
    return lane * UINT32_C(0x9e3779b1);
}

TRAINER_CLONES static void
mix_blocks(const uint8_t *bytes, uint64_t blocks, uint32_t lane[LANES])
{
    for (uint64_t block = 0; block < blocks; block++) {
        uint32_t word[LANES];
        memcpy(word, bytes + block * BLOCK_BYTES, sizeof word);
        for (uint32_t i = 0; i < LANES; i++) {
            lane[i] = mix(lane[i], word[i]);
        }
    }
}

uint64_t
hash_pair(uint64_t a, uint64_t b)
{
    uint64_t bits = (a ^ (a >> 31)) * UINT64_C(0xa0761d6478bd642f) ^ b;
    bits = (bits ^ (bits >> 29)) * UINT64_C(0xd6e8feb86659fd93);
    return bits ^ (bits >> 32);
}

uint64_t
hash_bytes(const void *bytes, uint64_t count)
{
    uint32_t lane[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        lane[i] = i + 1;
    }
    const uint64_t blocks = count / BLOCK_BYTES;
    const uint8_t *start = bytes;
    mix_blocks(start, blocks, lane);

    uint8_t rest[BLOCK_BYTES] = {0}; /* The last bytes, filled up with zeros. */
    memcpy(rest, start + blocks * BLOCK_BYTES, count - blocks * BLOCK_BYTES);
    mix_blocks(rest, 1, lane);

    uint64_t hash = count;
    for (uint32_t i = 0; i < LANES; i += 2) {
        hash = hash_pair(hash, (uint64_t)lane[i] << 32 | lane[i + 1]);
    }
    return hash;
}
