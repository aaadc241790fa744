/* cache.c - plans by key: a hash table whose entries are also a row by age. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "exec/plan.h"

/* No entry. */
#define NONE UINT32_MAX

struct entry {
    rondo_plan_key key;
    rondo_plan *plan; /* null: the entry is free */
    uint32_t next;    /* in its bucket, or among the free ones */
    uint32_t newer;   /* used next after this one */
    uint32_t older;   /* used last before this one */
};

struct rondo_plan_cache {
    struct entry *entries; /* plans_max of them */
    uint32_t *buckets;     /* first entry of each */
    uint32_t bucket_bits;
    uint32_t plans_max;
    uint64_t bytes_max;
    uint32_t newest;
    uint32_t oldest;
    uint32_t free;
};

rondo_status
rondo_plan_cache_create(uint32_t plans_max, uint64_t bytes_max,
                        rondo_plan_cache **cache)
{
    uint32_t bucket_bits = 1;
    void *memory = NULL;

    if (plans_max == 0 || plans_max > UINT32_MAX / 4) {
        return rondo_error(RONDO_ERR_ARG, "a cache of %u plans", plans_max);
    }
    while ((UINT32_C(1) << bucket_bits) < plans_max) {
        bucket_bits++;
    }
    const uint64_t nbuckets = UINT64_C(1) << bucket_bits;
    const rondo_status status =
        rondo_alloc_zero(sizeof(rondo_plan_cache) + plans_max * sizeof(struct entry) +
                             nbuckets * sizeof(uint32_t),
                         &memory);
    if (status != RONDO_OK) {
        return status;
    }
    rondo_plan_cache *const made = memory;
    made->entries = (struct entry *)(void *)(made + 1);
    made->buckets = (uint32_t *)(void *)(made->entries + plans_max);
    made->bucket_bits = bucket_bits;
    made->plans_max = plans_max;
    made->bytes_max = bytes_max;
    made->newest = NONE;
    made->oldest = NONE;
    for (uint64_t bucket = 0; bucket < nbuckets; bucket++) {
        made->buckets[bucket] = NONE;
    }
    for (uint32_t at = 0; at < plans_max; at++) {
        made->entries[at].next = at + 1 < plans_max ? at + 1 : NONE;
    }
    *cache = made;
    return RONDO_OK;
}

void
rondo_plan_cache_destroy(rondo_plan_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (uint32_t at = 0; at < cache->plans_max; at++) {
        rondo_plan_destroy(cache->entries[at].plan);
    }
    rondo_free(cache);
}

/* Field by field: what lies between the fields is nobody's. */
static bool
same_key(const rondo_plan_key *one, const rondo_plan_key *other)
{
    return one->coll.count == other->coll.count && one->coll.kind == other->coll.kind &&
           one->coll.segment == other->coll.segment &&
           one->coll.root == other->coll.root &&
           one->coll.in_place == other->coll.in_place && one->algo == other->algo &&
           one->coll.inner == other->coll.inner &&
           one->coll.outer == other->coll.outer &&
           one->coll.levels == other->coll.levels &&
           one->coll.rank == other->coll.rank && one->coll.nranks == other->coll.nranks;
}

static uint32_t *
bucket_of(const rondo_plan_cache *cache, const rondo_plan_key *key)
{
    const rondo_coll *const coll = &key->coll;
    const uint64_t shapes = (uint64_t)coll->inner << 8 | (uint64_t)coll->outer;
    const uint64_t small =
        shapes << 40 | (uint64_t)coll->kind << 33 | (uint64_t)coll->in_place << 32;
    uint64_t hash = rondo_hash_add(coll->count, small | key->algo);

    hash = rondo_hash_add(hash, coll->segment);
    hash = rondo_hash_add(hash, (uint64_t)coll->root << 32 | coll->rank);
    hash = rondo_hash_add(hash, coll->nranks);
    return &cache->buckets[hash >> (64 - cache->bucket_bits)];
}

/* --- the row by age --------------------------------------------------------------- */

static void
leave_row(rondo_plan_cache *cache, uint32_t at)
{
    const uint32_t newer = cache->entries[at].newer;
    const uint32_t older = cache->entries[at].older;

    if (newer == NONE) {
        cache->newest = older;
    } else {
        cache->entries[newer].older = older;
    }
    if (older == NONE) {
        cache->oldest = newer;
    } else {
        cache->entries[older].newer = newer;
    }
}

static void
join_row(rondo_plan_cache *cache, uint32_t at)
{
    cache->entries[at].newer = NONE;
    cache->entries[at].older = cache->newest;
    if (cache->newest == NONE) {
        cache->oldest = at;
    } else {
        cache->entries[cache->newest].newer = at;
    }
    cache->newest = at;
}

rondo_plan *
rondo_plan_cache_find(rondo_plan_cache *cache, const rondo_plan_key *key)
{
    /* Most calls are like the one before. */
    if (cache->newest != NONE && same_key(&cache->entries[cache->newest].key, key)) {
        return cache->entries[cache->newest].plan;
    }
    uint32_t at = *bucket_of(cache, key);
    while (at != NONE && !same_key(&cache->entries[at].key, key)) {
        at = cache->entries[at].next;
    }
    if (at == NONE) {
        return NULL;
    }
    leave_row(cache, at);
    join_row(cache, at);
    return cache->entries[at].plan;
}

/* --- dropping --------------------------------------------------------------------- */

static void
drop(rondo_plan_cache *cache, uint32_t at)
{
    struct entry *const old = &cache->entries[at];
    uint32_t *link = bucket_of(cache, &old->key);

    while (*link != at) {
        link = &cache->entries[*link].next;
    }
    *link = old->next;
    leave_row(cache, at);
    rondo_plan_destroy(old->plan);
    old->plan = NULL;
    old->next = cache->free;
    cache->free = at;
}

/* Drop the oldest plan whose run has ended, `keep` excepted; false if there is none. */
static bool
drop_oldest(rondo_plan_cache *cache, const rondo_plan *keep)
{
    for (uint32_t at = cache->oldest; at != NONE; at = cache->entries[at].newer) {
        const rondo_plan *const plan = cache->entries[at].plan;

        if (plan->status != RONDO_BUSY && plan != keep) {
            drop(cache, at);
            return true;
        }
    }
    return false;
}

/* Counted anew each time: a plan grows when it first runs on a wider type. */
static uint64_t
bytes_held(const rondo_plan_cache *cache)
{
    uint64_t bytes = 0;

    for (uint32_t at = cache->newest; at != NONE; at = cache->entries[at].older) {
        bytes += rondo_plan_bytes(cache->entries[at].plan);
    }
    return bytes;
}

rondo_status
rondo_plan_cache_insert(rondo_plan_cache *cache, const rondo_plan_key *key,
                        rondo_plan *plan)
{
    if (cache->free == NONE && !drop_oldest(cache, NULL)) {
        return rondo_error(RONDO_ERR_STATE, "all %u plans of the cache are running",
                           cache->plans_max);
    }
    const uint32_t at = cache->free;
    struct entry *const fresh = &cache->entries[at];
    uint32_t *const bucket = bucket_of(cache, key);

    cache->free = fresh->next;
    fresh->key = *key;
    fresh->plan = plan;
    fresh->next = *bucket;
    *bucket = at;
    join_row(cache, at);
    while (bytes_held(cache) > cache->bytes_max && drop_oldest(cache, plan)) {
        continue;
    }
    return RONDO_OK;
}
