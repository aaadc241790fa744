/* ranges.c - a sorted list of ranges, kept in small leaves. */
#include "schedule/ranges.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

/* Puts an empty leaf at `index` of the array. */
static rondo_status
insert_leaf(rondo_ranges *ranges, uint64_t index)
{
    void *memory = NULL;
    rondo_status status = rondo_alloc_grow((void **)&ranges->leaves, ranges->nleaves,
                                           &ranges->room, sizeof *ranges->leaves);

    if (status != RONDO_OK) {
        return status;
    }
    status = rondo_alloc_zero(sizeof(rondo_ranges_leaf), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    memmove(&ranges->leaves[index + 1], &ranges->leaves[index],
            (ranges->nleaves - index) * sizeof *ranges->leaves);
    ranges->leaves[index] = memory;
    ranges->nleaves++;
    return RONDO_OK;
}

/* The last leaf that begins at or before element `at`. */
static uint64_t
leaf_of(const rondo_ranges *ranges, uint64_t at)
{
    uint64_t low = 0;
    uint64_t high = ranges->nleaves;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        if (ranges->leaves[middle]->at[0].first <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t
slot_of(const rondo_ranges_leaf *leaf, uint64_t at)
{
    uint32_t slot = leaf->used - 1;

    while (leaf->at[slot].first > at) {
        slot--;
    }
    return slot;
}

/* Moves the upper half of a full leaf into a new one behind it. */
static rondo_status
split_leaf(rondo_ranges *ranges, uint64_t index)
{
    const uint32_t half = RONDO_RANGES_LEAF / 2;
    const rondo_status status = insert_leaf(ranges, index + 1);

    if (status != RONDO_OK) {
        return status;
    }
    rondo_ranges_leaf *const lower = ranges->leaves[index];
    rondo_ranges_leaf *const upper = ranges->leaves[index + 1];
    memcpy(upper->at, &lower->at[half], half * sizeof upper->at[0]);
    upper->used = half;
    lower->used = half;
    return RONDO_OK;
}

static rondo_status
begin(rondo_ranges *ranges)
{
    const rondo_status status = insert_leaf(ranges, 0);

    if (status == RONDO_OK) {
        ranges->leaves[0]->used = 1;
    }
    return status;
}

rondo_status
rondo_ranges_cut(rondo_ranges *ranges, uint64_t at, rondo_ranges_place *place)
{
    rondo_status status = ranges->nleaves == 0 ? begin(ranges) : RONDO_OK;

    if (status != RONDO_OK) {
        return status;
    }
    uint64_t index = leaf_of(ranges, at);
    if (ranges->leaves[index]->used == RONDO_RANGES_LEAF) {
        status = split_leaf(ranges, index);
        if (status != RONDO_OK) {
            return status;
        }
        index = leaf_of(ranges, at);
    }
    rondo_ranges_leaf *const leaf = ranges->leaves[index];
    uint32_t slot = slot_of(leaf, at);
    if (leaf->at[slot].first != at) {
        memmove(&leaf->at[slot + 1], &leaf->at[slot],
                (leaf->used - slot) * sizeof leaf->at[0]);
        leaf->used++;
        slot++;
        leaf->at[slot].first = at;
    }
    *place = (rondo_ranges_place){.leaf = index, .slot = slot};
    return RONDO_OK;
}

rondo_range *
rondo_ranges_at(const rondo_ranges *ranges, rondo_ranges_place place)
{
    return place.leaf < ranges->nleaves ? &ranges->leaves[place.leaf]->at[place.slot]
                                        : NULL;
}

rondo_ranges_place
rondo_ranges_next(const rondo_ranges *ranges, rondo_ranges_place place)
{
    RONDO_ASSERT(place.leaf < ranges->nleaves);
    if (place.slot + 1 < ranges->leaves[place.leaf]->used) {
        place.slot++;
    } else {
        place.leaf++;
        place.slot = 0;
    }
    return place;
}

/* Drops the ranges of a leaf from `slot` on that begin before `end`. */
static void
drop(rondo_ranges_leaf *leaf, uint32_t slot, uint64_t end)
{
    uint32_t kept = slot;

    while (kept < leaf->used && leaf->at[kept].first < end) {
        kept++;
    }
    memmove(&leaf->at[slot], &leaf->at[kept], (leaf->used - kept) * sizeof leaf->at[0]);
    leaf->used -= kept - slot;
}

void
rondo_ranges_join(rondo_ranges *ranges, rondo_ranges_place place, uint64_t end)
{
    uint64_t after = place.leaf + 1;

    drop(ranges->leaves[place.leaf], place.slot + 1, end);
    while (after < ranges->nleaves) {
        drop(ranges->leaves[after], 0, end);
        if (ranges->leaves[after]->used > 0) {
            break;
        }
        rondo_free(ranges->leaves[after]);
        after++;
    }
    memmove(&ranges->leaves[place.leaf + 1], &ranges->leaves[after],
            (ranges->nleaves - after) * sizeof *ranges->leaves);
    ranges->nleaves -= after - place.leaf - 1;
}

void
rondo_ranges_clear(rondo_ranges *ranges)
{
    for (uint64_t index = 0; index < ranges->nleaves; index++) {
        rondo_free(ranges->leaves[index]);
    }
    rondo_free(ranges->leaves);
    *ranges = (rondo_ranges){0};
}
