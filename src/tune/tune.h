/*
 * tune.h - which algorithm, in segments of what size: a pure function of what all ranks
 * know, so that all of them choose alike.
 */
#ifndef TUNE_TUNE_H
#define TUNE_TUNE_H

#include <stdbool.h>

#include "algos/algos.h"

/* For rondo_tune_forced: choose freely. */
#define RONDO_TUNE_FREE UINT32_MAX

/* Algorithms that RONDO_ALGO asks for, by collective: index in the table or FREE. */
typedef struct rondo_tune_forced {
    uint32_t algo[RONDO_COLLS];
    bool shapes;       /* of an all-reduce over levels; else they are chosen */
    rondo_shape inner; /* inside hosts */
    rondo_shape outer; /* between hosts */
} rondo_tune_forced;

/* What a choice depends on. */
typedef struct rondo_tune_query {
    const rondo_coll *coll; /* its `segment` and shapes are ignored */
    uint64_t element_bytes;
    uint64_t segment_bytes; /* RONDO_SEGMENT; 0: by size */
    bool mapped;            /* all buffers of all ranks are mapped */
    const rondo_tune_forced *forced;
} rondo_tune_query;

/* What was chosen. */
typedef struct rondo_choice {
    uint32_t algo;     /* index in the table of algorithms */
    uint64_t segment;  /* elements; 0: none */
    rondo_shape inner; /* for levels; else 0 */
    rondo_shape outer;
} rondo_choice;

/* rondo_tune_forced_parse - read "all_reduce=ring,broadcast=tree"; "" forces nothing.
 * "all_reduce=levels:tree+ring" forces the shapes as well: inside hosts, between them.
 * RONDO_ERR_ARG names the part that is wrong and what there is. */
RONDO_MUST_USE rondo_status
rondo_tune_forced_parse(const char *text, rondo_tune_forced *forced);

/* rondo_tune_choose - never fails: every collective has an algorithm for every size. */
rondo_choice
rondo_tune_choose(const rondo_tune_query *query);

/* rondo_tune_coll - the collective as the algorithm is told of it, and the plan's key:
 * with what was chosen. */
rondo_coll
rondo_tune_coll(const rondo_coll *coll, rondo_choice choice);

/* rondo_tune_wants_mapped - whether this call would use mapped buffers if all ranks had
 * them: then it is worth asking. */
bool
rondo_tune_wants_mapped(const rondo_tune_query *query);

#endif /* TUNE_TUNE_H */
