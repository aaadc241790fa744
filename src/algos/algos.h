/* algos.h - the table of algorithms: pure functions from a rondo_coll to steps. */
#ifndef ALGOS_ALGOS_H
#define ALGOS_ALGOS_H

#include "schedule/schedule.h"

/* What an algorithm needs, or gives, beyond channels. */
typedef enum rondo_algo_needs {
    RONDO_NEEDS_NOTHING = 0,
    RONDO_NEEDS_MAPPED = 1 /* every rank's IN and OUT are mapped by all ranks */
} rondo_algo_needs;

/* The place of each row in the table: RONDO_ALGO_all_reduce_ring, ... */
typedef enum rondo_algo_index {
#define ALGO(coll, shape, needs, good_for) RONDO_ALGO_##coll##_##shape,
#include "algos/table.def"
#undef ALGO
    RONDO_ALGOS
} rondo_algo_index;

/* One row of table.def. */
typedef struct rondo_algo {
    rondo_coll_kind kind; /* the collective it is for */
    const char *shape;    /* "ring" */
    uint32_t needs;       /* of rondo_algo_needs */
    const char *good_for; /* a phrase for people */
    void (*build)(const rondo_coll *coll, rondo_schedule *schedule);
} rondo_algo;

/* rondo_algo_count, rondo_algo_at - walk over the table. */
uint32_t
rondo_algo_count(void);
const rondo_algo *
rondo_algo_at(uint32_t index);

/* rondo_algo_find - by collective and shape; null if there is none. */
const rondo_algo *
rondo_algo_find(rondo_coll_kind kind, const char *shape);

/* rondo_algo_build - create, build and seal. RONDO_ERR_ARG for a root out of range. */
RONDO_MUST_USE rondo_status
rondo_algo_build(const rondo_algo *algo, const rondo_coll *coll,
                 rondo_schedule **schedule);

/* The build functions, declared from the table. */
#define ALGO(coll, shape, needs, good_for) \
    void rondo_##coll##_##shape(const rondo_coll *coll, rondo_schedule *schedule);
#include "algos/table.def"
#undef ALGO

#endif /* ALGOS_ALGOS_H */
