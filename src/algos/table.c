/* table.c - the table of algorithms, and how a schedule is built from a row. */
#include "algos/algos.h"

#include <string.h>

#include "base/check.h"

/* The kinds again, by the word that table.def uses. */
enum {
#define KIND(name, text) KIND_##text = RONDO_COLL_##name,
    RONDO_COLL_ROWS(KIND)
#undef KIND
};

static const rondo_algo algos[] = {
#define ALGO(coll, shape, needs, good_for) \
    {(rondo_coll_kind)KIND_##coll, #shape, needs, good_for, rondo_##coll##_##shape},
#include "algos/table.def"
#undef ALGO
};

uint32_t
rondo_algo_count(void)
{
    return (uint32_t)(sizeof algos / sizeof algos[0]);
}

const rondo_algo *
rondo_algo_at(uint32_t index)
{
    RONDO_ASSERT(index < rondo_algo_count());
    return &algos[index];
}

const rondo_algo *
rondo_algo_find(rondo_coll_kind kind, const char *shape)
{
    for (uint32_t index = 0; index < rondo_algo_count(); index++) {
        if (algos[index].kind == kind && strcmp(algos[index].shape, shape) == 0) {
            return &algos[index];
        }
    }
    return NULL;
}

rondo_status
rondo_algo_build(const rondo_algo *algo, const rondo_coll *coll,
                 rondo_schedule **schedule)
{
    rondo_schedule *made = NULL;
    rondo_status status = rondo_schedule_create(coll, &made);

    if (status != RONDO_OK) {
        return status;
    }
    RONDO_ASSERT(algo->kind == coll->kind);
    algo->build(coll, made);
    status = rondo_schedule_seal(made);
    if (status != RONDO_OK) {
        rondo_schedule_destroy(made);
        return status;
    }
    *schedule = made;
    return RONDO_OK;
}
