/*
 * ready.h - a set of step indexes from which the least is taken first: a tree of words
 * of 64 bits, where a bit says that the word below it is not empty.
 */
#ifndef EXEC_READY_H
#define EXEC_READY_H

#include <stdbool.h>
#include <stdint.h>

/* 64^6 indexes: more than an index has. */
#define RONDO_READY_LEVELS 6

typedef struct rondo_ready {
    uint64_t
        *words[RONDO_READY_LEVELS]; /* [0]: a bit per index; the last is one word */
    uint32_t levels;
} rondo_ready;

/* rondo_ready_words - words a set of `indexes` indexes needs. */
static inline uint64_t
rondo_ready_words(uint64_t indexes)
{
    uint64_t words = 0;

    do {
        indexes = (indexes + 63) / 64;
        words += indexes;
    } while (indexes > 1);
    return words;
}

/* rondo_ready_init - an empty set in `words`, which are zero and enough. */
static inline void
rondo_ready_init(rondo_ready *ready, uint64_t indexes, uint64_t *words)
{
    ready->levels = 0;
    do {
        indexes = (indexes + 63) / 64;
        ready->words[ready->levels++] = words;
        words += indexes;
    } while (indexes > 1);
}

static inline bool
rondo_ready_any(const rondo_ready *ready)
{
    return ready->words[ready->levels - 1][0] != 0;
}

static inline void
rondo_ready_add(rondo_ready *ready, uint64_t index)
{
    for (uint32_t level = 0; level < ready->levels; level++) {
        ready->words[level][index / 64] |= UINT64_C(1) << index % 64;
        index /= 64;
    }
}

/* rondo_ready_take - remove the least index; the set is not empty. */
static inline uint64_t
rondo_ready_take(rondo_ready *ready)
{
    uint64_t least = 0;

    for (uint32_t level = ready->levels; level-- > 0;) {
        const uint64_t word = ready->words[level][least];
        least = least * 64 + (uint64_t)__builtin_ctzll(word);
    }
    uint64_t index = least;
    for (uint32_t level = 0; level < ready->levels; level++) {
        uint64_t *const word = &ready->words[level][index / 64];
        *word &= ~(UINT64_C(1) << index % 64);
        if (*word != 0) {
            break;
        }
        index /= 64;
    }
    return least;
}

#endif /* EXEC_READY_H */
