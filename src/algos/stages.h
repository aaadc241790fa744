/* stages.h - who works with whom, stage by stage, in a collective over levels. */
#ifndef ALGOS_STAGES_H
#define ALGOS_STAGES_H

#include "schedule/schedule.h"

#define RONDO_STAGES_MAX (RONDO_LEVELS_MAX - 1)

/* One stage, seen by one rank: the ranks it meets there. */
typedef struct rondo_stage {
    const uint32_t *ranks; /* the rank at place p is ranks[p * stride] */
    uint32_t stride;
    uint32_t nranks;  /* places */
    uint32_t place;   /* mine */
    uint32_t columns; /* into how many columns the vector is cut behind this stage: the
                       * place of that number has it and goes on */
    bool takes_part;  /* I am here: no stage before has left me without a column */
} rondo_stage;

/*
 * The innermost stage first: inside the smallest groups, then between them inside the
 * larger ones; the last stage is between the outermost groups. Levels that separate
 * nobody, or everybody, are left out.
 *
 * Where all groups of a level are equal a column goes to each place, so that ranks of
 * one place meet across groups, all places at once. Otherwise there is one column, and
 * the lowest rank of a group goes on with it.
 */
typedef struct rondo_stages {
    uint32_t count; /* 1: nothing but one flat group */
    rondo_stage at[RONDO_STAGES_MAX];
} rondo_stages;

/* rondo_stages_make - for coll->levels and coll->inner. */
rondo_stages
rondo_stages_make(const rondo_coll *coll);

/* rondo_stages_extent - the part of `vector` that is mine at stage `stage`, in which I
 * take part. */
rondo_slice
rondo_stages_extent(const rondo_stages *stages, uint32_t stage, rondo_slice vector);

#endif /* ALGOS_STAGES_H */
