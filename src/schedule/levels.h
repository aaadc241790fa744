/*
 * levels.h - where the ranks are: all of them, in hosts, in parts of hosts.
 *
 * Plain data, the same on every rank, made once per communicator. Groups are numbered
 * in the order of their lowest ranks, within the group around them; they need be
 * neither equal nor of neighbouring ranks.
 */
#ifndef SCHEDULE_LEVELS_H
#define SCHEDULE_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/status.h>

/* All ranks, hosts, parts of hosts, and each rank by itself. */
#define RONDO_LEVELS_MAX 4

/* One way of putting the ranks into groups, each inside a group of the level before. */
typedef struct rondo_level {
    uint32_t ngroups;
    const uint32_t *group_of; /* by rank: which group */
    const uint32_t *leaders;  /* by group: its lowest rank */
    const uint32_t *first;    /* by group, and one past: where its ranks begin in
                               * rondo_levels.order */
} rondo_level;

typedef struct rondo_levels {
    uint32_t nranks;
    uint32_t depth;                   /* 2: hosts alone; 3: parts of hosts too */
    rondo_level at[RONDO_LEVELS_MAX]; /* 0: one group of all; 1: hosts; 2: parts, if
                                       * depth is 3; depth: single ranks */
    const uint32_t *order; /* the ranks, those of a group side by side and rising */
} rondo_levels;

/* rondo_levels_create - from any numbers that are equal where ranks share a host, and
 * where they share a part of their host (null: no parts). RONDO_ERR_ARG: no ranks. */
RONDO_MUST_USE rondo_status
rondo_levels_create(uint32_t nranks, const uint32_t *host_of, const uint32_t *part_of,
                    const rondo_levels **levels);

/* rondo_levels_destroy - null is allowed. */
void
rondo_levels_destroy(const rondo_levels *levels);

/* rondo_levels_hosts - how many hosts; 1 where `levels` is null. */
uint32_t
rondo_levels_hosts(const rondo_levels *levels);

/* rondo_levels_even - whether all groups of level `at` have equally many ranks. */
bool
rondo_levels_even(const rondo_levels *levels, uint32_t at);

/* rondo_levels_same - whether both put the ranks into the same groups; null is flat. */
bool
rondo_levels_same(const rondo_levels *one, const rondo_levels *other);

#endif /* SCHEDULE_LEVELS_H */
