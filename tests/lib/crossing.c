/* crossing.c - what ranks of one host send to those of others. */
#include "lib/crossing.h"

struct crossed
crossing_count(const schedules *set, const rondo_levels *levels)
{
    struct crossed crossed = {.total = 0};
    const uint32_t *const host_of = levels->at[1].group_of;

    for (uint32_t rank = 0; rank < set->nranks; rank++) {
        for (uint64_t at = 0; at < set->of[rank]->nsteps; at++) {
            const rondo_step *const step = &set->of[rank]->steps[at];

            if (step->kind == RONDO_STEP_SEND && host_of[step->peer] != host_of[rank]) {
                crossed.by_host[host_of[rank]] += step->a.count;
                crossed.total += step->a.count;
            }
        }
    }
    for (uint32_t host = 0; host < levels->at[1].ngroups; host++) {
        const uint64_t sent = crossed.by_host[host];

        crossed.most = sent > crossed.most ? sent : crossed.most;
    }
    return crossed;
}

uint64_t
crossing_promise(const rondo_coll *coll)
{
    const uint64_t hosts = rondo_levels_hosts(coll->levels);
    const uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(hosts));

    switch (coll->outer) {
    case RONDO_SHAPE_ONE_SHOT:
        return hosts * (hosts - 1) * coll->count;
    case RONDO_SHAPE_HALVING_DOUBLING:
        return 2 * (power - 1) * coll->count + 2 * (hosts - power) * coll->count;
    default:
        return 2 * (hosts - 1) * coll->count;
    }
}
