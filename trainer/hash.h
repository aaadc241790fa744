/* hash.h - 64-bit hashes that tell whether ranks hold the same bits. Not for
 * adversaries. Vectors that differ in a single 32-bit word always differ in their
 * hash. */
#ifndef TRAINER_HASH_H
#define TRAINER_HASH_H

#include <stdint.h>

uint64_t
hash_bytes(const void *bytes, uint64_t count);
uint64_t
hash_pair(uint64_t a, uint64_t b);

#endif
