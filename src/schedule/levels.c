/* levels.c - puts the ranks into groups, numbered alike on every rank. */
#include "schedule/levels.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* Numbers one level while it is made. */
struct draft {
    rondo_levels *levels;
    uint32_t *next; /* where the next array begins */
};

static uint32_t *
take(struct draft *draft, uint64_t count)
{
    uint32_t *const array = draft->next;

    draft->next += count;
    return array;
}

/* Whether two ranks share the group of `label` inside their group of `around`. */
static bool
together(const rondo_level *around, const uint32_t *label, uint32_t one, uint32_t other)
{
    return around->group_of[one] == around->group_of[other] &&
           (label == NULL || label[one] == label[other]);
}

/*
 * The next finer level: inside each group of `around`, ranks with one label are one
 * group; with `single` each rank is. `order` has the ranks of each outer group side by
 * side and is put into the finer order.
 */
static void
refine(struct draft *draft, const rondo_level *around, const uint32_t *label,
       bool single, rondo_level *finer)
{
    const uint32_t nranks = draft->levels->nranks;
    uint32_t *const group_of = take(draft, nranks);
    uint32_t *const leaders = take(draft, nranks);
    uint32_t *const first = take(draft, (uint64_t)nranks + 1);
    uint32_t *const order = take(draft, nranks);
    const uint32_t *const before = draft->levels->order;
    uint32_t ngroups = 0;
    uint32_t placed = 0;

    memset(group_of, 0xff, nranks * sizeof *group_of);
    for (uint32_t at = 0; at < nranks; at++) {
        const uint32_t leader = before[at];

        if (group_of[leader] != UINT32_MAX) {
            continue;
        }
        leaders[ngroups] = leader;
        first[ngroups] = placed;
        for (uint32_t i = at; i < nranks; i++) {
            const uint32_t rank = before[i];
            const bool joins = single ? rank == leader
                                      : group_of[rank] == UINT32_MAX &&
                                            together(around, label, leader, rank);

            if (joins) {
                group_of[rank] = ngroups;
                order[placed++] = rank;
            }
        }
        ngroups++;
    }
    first[ngroups] = placed;
    *finer = (rondo_level){ngroups, group_of, leaders, first};
    draft->levels->order = order;
}

rondo_status
rondo_levels_create(uint32_t nranks, const uint32_t *host_of, const uint32_t *part_of,
                    const rondo_levels **levels)
{
    void *memory = NULL;

    if (nranks == 0 || nranks >= UINT32_MAX / 64 || host_of == NULL) {
        return rondo_error(RONDO_ERR_ARG, "%u ranks cannot be put on hosts", nranks);
    }
    const uint64_t numbers =
        2 * (uint64_t)nranks + 2 + RONDO_LEVELS_MAX * (4 * (uint64_t)nranks + 1);
    const rondo_status status =
        rondo_alloc_zero(sizeof(rondo_levels) + numbers * sizeof(uint32_t), &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_levels *const made = memory;
    struct draft draft = {.levels = made, .next = (uint32_t *)(void *)(made + 1)};
    made->nranks = nranks;
    made->depth = part_of == NULL ? 2 : 3;
    uint32_t *const group_of = take(&draft, nranks);
    uint32_t *const first = take(&draft, 2);
    uint32_t *const order = take(&draft, nranks);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        order[rank] = rank;
    }
    first[1] = nranks;
    made->order = order;
    made->at[0] = (rondo_level){1, group_of, order, first};
    refine(&draft, &made->at[0], host_of, false, &made->at[1]);
    if (part_of != NULL) {
        refine(&draft, &made->at[1], part_of, false, &made->at[2]);
    }
    refine(&draft, &made->at[made->depth - 1], NULL, true, &made->at[made->depth]);
    *levels = made;
    return RONDO_OK;
}

void
rondo_levels_destroy(const rondo_levels *levels)
{
    rondo_free((void *)(uintptr_t)levels);
}

uint32_t
rondo_levels_hosts(const rondo_levels *levels)
{
    return levels == NULL ? 1 : levels->at[1].ngroups;
}

bool
rondo_levels_even(const rondo_levels *levels, uint32_t at)
{
    const rondo_level *const level = &levels->at[at];

    RONDO_ASSERT(at <= levels->depth);
    for (uint32_t group = 0; group < level->ngroups; group++) {
        if (level->first[group + 1] - level->first[group] != level->first[1]) {
            return false;
        }
    }
    return true;
}

bool
rondo_levels_same(const rondo_levels *one, const rondo_levels *other)
{
    if (one == other || one == NULL || other == NULL) {
        return one == other;
    }
    bool same = one->nranks == other->nranks && one->depth == other->depth;
    for (uint32_t at = 1; same && at < one->depth; at++) {
        same = memcmp(one->at[at].group_of, other->at[at].group_of,
                      one->nranks * sizeof(uint32_t)) == 0;
    }
    return same;
}
