/* places.h - who serves and who works, in the modes with servers: shard s is at the
 * server of that name, or at the lowest living one if that is gone; worker w is the
 * rank with the name servers + w. */
#ifndef TRAINER_MODES_PLACES_H
#define TRAINER_MODES_PLACES_H

#include "trainer.h"

typedef struct places {
    rondo_placement placement; /* Its owner and rank_of are the next two. */
    uint32_t *owner;           /* By shard. */
    uint32_t *rank_of;         /* By worker; UINT32_MAX: it is gone, or done. */
    uint32_t working;          /* Workers that are neither. */
    uint32_t done;             /* Living workers that make no more steps. */
    bool served;               /* A server lives. */
} places;

TRAINER_MUST_USE bool
places_create(const trainer *t, places *result, problem *why);
void
places_free(places *p);

/* As it is in t->group now. Collective: each rank says whether it is a worker that is
 * done. */
TRAINER_MUST_USE bool
places_find(const trainer *t, bool done, places *p, problem *why);

/* The elements of shard s: from places_begin(s) up to places_begin(s + 1). */
uint64_t
places_begin(const places *p, uint32_t shard);

#endif
