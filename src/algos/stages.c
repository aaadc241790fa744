/* stages.c - who works with whom, stage by stage, in a collective over levels. */
#include "algos/stages.h"

#include "algos/halves.h"
#include "base/check.h"
#include "schedule/blocks.h"

/* The levels that are used, from all ranks down to single ones. */
struct used {
    uint32_t level[RONDO_LEVELS_MAX];
    uint32_t count;
};

static struct used
used_levels(const rondo_levels *levels)
{
    struct used used = {.count = 1};

    for (uint32_t at = 1; at <= levels->depth; at++) {
        const uint32_t around = levels->at[used.level[used.count - 1]].ngroups;
        const uint32_t ngroups = levels->at[at].ngroups;

        if (ngroups > around && (ngroups < levels->nranks || at == levels->depth)) {
            used.level[used.count++] = at;
        }
    }
    return used;
}

/* Whether every place can have a column; parts of hosts that are in the way of that are
 * left out. */
static bool
has_columns(const rondo_coll *coll, struct used *used)
{
    if (coll->inner == RONDO_SHAPE_TREE || used->count < 3 ||
        !rondo_levels_even(coll->levels, used->level[1])) {
        return false;
    }
    if (used->count == 4 && !rondo_levels_even(coll->levels, used->level[2])) {
        used->level[2] = used->level[3];
        used->count = 3;
    }
    return true;
}

/* Between the groups of level `fine` in my group of level `coarse`, all groups of each
 * being equal: those at my place in theirs. */
static rondo_stage
place_stage(const rondo_coll *coll, uint32_t coarse, uint32_t fine)
{
    const rondo_levels *const levels = coll->levels;
    const uint32_t index = levels->at[levels->depth].group_of[coll->rank];
    const uint32_t whole = levels->nranks / levels->at[coarse].ngroups;
    const uint32_t unit = levels->nranks / levels->at[fine].ngroups;

    return (rondo_stage){.ranks = levels->order + index / whole * whole + index % unit,
                         .stride = unit,
                         .nranks = whole / unit,
                         .place = index % whole / unit};
}

/* The same for any groups: their lowest ranks. */
static rondo_stage
leader_stage(const rondo_coll *coll, uint32_t coarse, uint32_t fine)
{
    const rondo_level *const around = &coll->levels->at[coarse];
    const rondo_level *const inside = &coll->levels->at[fine];
    const uint32_t group = around->group_of[coll->rank];
    const uint32_t first = inside->group_of[around->leaders[group]];
    const uint32_t end = group + 1 < around->ngroups
                             ? inside->group_of[around->leaders[group + 1]]
                             : inside->ngroups;

    return (rondo_stage){.ranks = inside->leaders + first,
                         .stride = 1,
                         .nranks = end - first,
                         .place = inside->group_of[coll->rank] - first};
}

rondo_stages
rondo_stages_make(const rondo_coll *coll)
{
    rondo_stages stages = {.count = 1};
    bool goes_on = true;

    if (coll->levels == NULL || coll->nranks == 1) {
        return stages;
    }
    struct used used = used_levels(coll->levels);
    const bool columns = has_columns(coll, &used);
    stages.count = used.count - 1;
    for (uint32_t at = 0; at < stages.count; at++) {
        const uint32_t fine = used.level[stages.count - at];
        const uint32_t coarse = used.level[stages.count - at - 1];
        rondo_stage *const stage = &stages.at[at];

        *stage = columns ? place_stage(coll, coarse, fine)
                         : leader_stage(coll, coarse, fine);
        stage->columns = columns ? rondo_columns(coll->inner, stage->nranks) : 1;
        stage->takes_part = goes_on;
        goes_on = goes_on && stage->place < stage->columns;
    }
    return stages;
}

rondo_slice
rondo_stages_extent(const rondo_stages *stages, uint32_t stage, rondo_slice vector)
{
    RONDO_ASSERT(stages->at[stage].takes_part);
    for (uint32_t at = 0; at < stage; at++) {
        const uint32_t columns = stages->at[at].columns;
        const uint32_t place = stages->at[at].place;

        vector =
            rondo_slice_part(vector, rondo_block_first(vector.count, columns, place),
                             rondo_block_count(vector.count, columns, place));
    }
    return vector;
}
