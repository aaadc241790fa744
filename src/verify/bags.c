/* bags.c - sets of ranks, each kept once, named by a number. */
#include "verify/bags.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#define WORD_BITS 64

static const uint64_t *
bits_of(const rondo_bags *bags, uint64_t bag)
{
    return &bags->bits[bag * bags->words];
}

static uint64_t
hash_of(const rondo_bags *bags, const uint64_t *bits)
{
    uint64_t hash = 0;

    for (uint32_t word = 0; word < bags->words; word++) {
        hash = rondo_hash_add(hash, bits[word]);
    }
    return hash;
}

/* The slot that holds an equal bag, or the free one where it belongs. */
static uint64_t
slot_of(const rondo_bags *bags, const uint64_t *bits)
{
    uint64_t slot = hash_of(bags, bits) & (bags->nslots - 1);

    while (bags->slots[slot] != 0 && memcmp(bits_of(bags, bags->slots[slot] - 1), bits,
                                            bags->words * sizeof *bits) != 0) {
        slot = (slot + 1) & (bags->nslots - 1);
    }
    return slot;
}

static rondo_status
widen(rondo_bags *bags)
{
    void *memory = NULL;

    if (bags->nslots >= 2 * (bags->nbags + 1)) {
        return RONDO_OK;
    }
    const uint64_t nslots = bags->nslots == 0 ? 64 : bags->nslots * 2;
    const rondo_status status = rondo_alloc_zero(nslots * sizeof(uint64_t), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_free(bags->slots);
    bags->slots = memory;
    bags->nslots = nslots;
    for (uint64_t bag = 0; bag < bags->nbags; bag++) {
        bags->slots[slot_of(bags, bits_of(bags, bag))] = bag + 1;
    }
    return RONDO_OK;
}

/* Room for one more bag, zeroed: candidates are formed there before they are looked
 * for. */
static rondo_status
spare(rondo_bags *bags, uint64_t **bits)
{
    rondo_status status = RONDO_OK;

    while (status == RONDO_OK && bags->bits_room < (bags->nbags + 1) * bags->words) {
        status = rondo_alloc_grow((void **)&bags->bits, bags->bits_room,
                                  &bags->bits_room, sizeof *bags->bits);
    }
    if (status != RONDO_OK) {
        return status;
    }
    *bits = &bags->bits[bags->nbags * bags->words];
    memset(*bits, 0, bags->words * sizeof **bits);
    return RONDO_OK;
}

/* The number of the bag formed in the spare room. */
static rondo_status
intern(rondo_bags *bags, const uint64_t *bits, uint64_t *bag)
{
    const uint64_t found = bags->nslots == 0 ? 0 : bags->slots[slot_of(bags, bits)];

    if (found != 0) {
        *bag = found - 1;
        return RONDO_OK;
    }
    const rondo_status status = widen(bags);
    if (status != RONDO_OK) {
        return status;
    }
    *bag = bags->nbags;
    bags->slots[slot_of(bags, bits)] = bags->nbags + 1;
    bags->nbags++;
    return RONDO_OK;
}

/* Makes the bag of ranks [first, end). */
static rondo_status
make_run(rondo_bags *bags, uint32_t first, uint32_t end, uint64_t *bag)
{
    uint64_t *bits = NULL;
    const rondo_status status = spare(bags, &bits);

    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t rank = first; rank < end; rank++) {
        bits[rank / WORD_BITS] |= UINT64_C(1) << (rank % WORD_BITS);
    }
    return intern(bags, bits, bag);
}

rondo_status
rondo_bags_make(uint32_t nranks, rondo_bags *bags)
{
    uint64_t bag = 0;
    *bags =
        (rondo_bags){.nranks = nranks, .words = (nranks + WORD_BITS - 1) / WORD_BITS};
    rondo_status status = make_run(bags, 0, 0, &bag);

    for (uint32_t rank = 0; status == RONDO_OK && rank < nranks; rank++) {
        status = make_run(bags, rank, rank + 1, &bag);
    }
    return status == RONDO_OK ? make_run(bags, 0, nranks, &bags->all) : status;
}

void
rondo_bags_clear(rondo_bags *bags)
{
    rondo_free(bags->bits);
    rondo_free(bags->slots);
    *bags = (rondo_bags){0};
}

rondo_status
rondo_bags_union(rondo_bags *bags, uint64_t one, uint64_t other, uint64_t *both)
{
    uint64_t *bits = NULL;
    const rondo_status status = spare(bags, &bits);

    if (status != RONDO_OK) {
        return status;
    }
    for (uint32_t word = 0; word < bags->words; word++) {
        const uint64_t left = bits_of(bags, one)[word];
        const uint64_t right = bits_of(bags, other)[word];

        if ((left & right) != 0) {
            *both = RONDO_BAG_NONE;
            return RONDO_OK;
        }
        bits[word] = left | right;
    }
    return intern(bags, bits, both);
}

uint32_t
rondo_bags_shared(const rondo_bags *bags, uint64_t one, uint64_t other)
{
    uint32_t word = 0;

    while ((bits_of(bags, one)[word] & bits_of(bags, other)[word]) == 0) {
        word++;
        RONDO_ASSERT(word < bags->words);
    }
    return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits_of(bags, one)[word] &
                                                        bits_of(bags, other)[word]);
}

uint32_t
rondo_bags_missing(const rondo_bags *bags, uint64_t bag)
{
    uint32_t word = 0;

    while (bits_of(bags, bag)[word] == bits_of(bags, bags->all)[word]) {
        word++;
        RONDO_ASSERT(word < bags->words);
    }
    return word * WORD_BITS + (uint32_t)__builtin_ctzll(~bits_of(bags, bag)[word] &
                                                        bits_of(bags, bags->all)[word]);
}
