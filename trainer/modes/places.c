/* places.c - who serves and who works (see places.h). */
#include "modes/places.h"

#include <stdlib.h>

bool
places_create(const trainer *t, places *result, problem *why)
{
    places p = {.served = false};
    rondo_placement_init(&p.placement);
    p.owner = calloc(t->o->servers, sizeof *p.owner);
    p.rank_of = calloc(t->workers, sizeof *p.rank_of);
    p.placement.count = t->net.parameters;
    p.placement.nshards = (uint32_t)t->o->servers;
    p.placement.nworkers = t->workers;
    p.placement.owner = p.owner;
    p.placement.rank_of = p.rank_of;
    *result = p;
    return (p.owner != NULL && p.rank_of != NULL) ||
           problem_fail(why, "no memory for the places of %u workers", t->workers);
}

void
places_free(places *p)
{
    free(p->owner);
    free(p->rank_of);
    p->owner = NULL;
    p->rank_of = NULL;
}

static void
place_shards(const group *g, places *p)
{
    const uint32_t servers = p->placement.nshards;
    uint32_t lowest = 0;
    while (lowest < servers && g->rank_of[lowest] == UINT32_MAX) {
        lowest++;
    }
    p->served = lowest < servers;
    for (uint32_t s = 0; s < servers && p->served; s++) {
        const uint32_t own = g->rank_of[s];
        p->owner[s] = own != UINT32_MAX ? own : g->rank_of[lowest];
    }
}

static void
place_workers(const group *g, const uint8_t *done, places *p)
{
    p->working = 0;
    p->done = 0;
    for (uint32_t w = 0; w < p->placement.nworkers; w++) {
        const uint32_t rank = g->rank_of[p->placement.nshards + w];
        const bool lives = rank != UINT32_MAX;
        const bool works = lives && done[rank] == 0;
        p->rank_of[w] = works ? rank : UINT32_MAX;
        p->working += works ? 1 : 0;
        p->done += lives && !works ? 1 : 0;
    }
}

bool
places_find(const trainer *t, bool done, places *p, problem *why)
{
    const uint8_t mine = done ? 1 : 0;
    uint8_t *all = calloc(t->all->count, sizeof *all);
    if (all == NULL) {
        return problem_fail(why, "no memory for the places of %u ranks", t->all->count);
    }
    const bool good = ranks_gather(t->all, &mine, sizeof mine, all, why);
    if (good) {
        place_shards(t->group, p);
        place_workers(t->group, all, p);
    }
    free(all);
    return good;
}

uint64_t
places_begin(const places *p, uint32_t shard)
{
    return p->placement.count * shard / p->placement.nshards;
}
