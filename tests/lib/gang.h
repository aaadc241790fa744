/*
 * gang.h - one collective on many ranks in one thread, over loopback: buffers between
 * guards, schedules from the table, polls in an order that a seed decides, and a naive
 * reference for the result.
 */
#ifndef LIB_GANG_H
#define LIB_GANG_H

#include <stdbool.h>
#include <stdint.h>

#include <rondo/types.h>

#include "algos/algos.h"
#include "exec/exec.h"

/* Which ranks are in place. */
typedef enum gang_place {
    GANG_APART, /* nobody */
    GANG_IN_PLACE,
    GANG_MIXED, /* every other rank */
    GANG_PLACES
} gang_place;

/* What is run, and how the loopback behaves. */
typedef struct gang_job {
    const rondo_algo *algo;
    uint32_t nranks;
    uint32_t root;
    uint64_t count;
    uint64_t segment;
    const rondo_levels *levels; /* of all-reduces over levels; null: flat */
    rondo_shape inner;
    rondo_shape outer;
    gang_place place;
    rondo_dtype dtype;
    rondo_op op;
    uint64_t seed;         /* order of polls and deliveries, alignment of buffers */
    uint32_t busy_percent; /* of the loopback */
    uint64_t piece_bytes;  /* of the loopback */
    bool unbuffered;       /* of the loopback */
    bool null_spare;       /* buffers that a rank neither gives nor gets are null */
    uint32_t
        delay_percent;  /* not 0: every rank's calls go through the fault transport */
    uint32_t kill_rank; /* with kill_at: the rank that dies */
    uint64_t kill_at;   /* not 0: calls each rank makes before it sees the death */
} gang_job;

/* The bits of element `at` of the input of `rank`. */
typedef uint64_t (*gang_value)(rondo_dtype dtype, uint32_t rank, uint64_t at);

struct gang;

/* gang_create - RONDO_ERR_MEMORY and what rondo_algo_build and rondo_plan_create
 * say. */
RONDO_MUST_USE rondo_status
gang_create(const gang_job *job, struct gang **made);

/* gang_destroy - null is allowed. */
void
gang_destroy(struct gang *gang);

/* gang_fill - give every rank its input; the rest of the buffers is a pattern. */
void
gang_fill(struct gang *gang, gang_value value);

/* gang_run - start all and poll until all have ended. RONDO_OK: all are done;
 * RONDO_ERR_TIMEOUT: some never end; else the first error. May be called again. */
RONDO_MUST_USE rondo_status
gang_run(struct gang *gang);

/* gang_right - whether every result is the naive one, every input unchanged and no byte
 * around the buffers touched; what is wrong is printed. */
bool
gang_right(const struct gang *gang);

/* gang_out, gang_out_bytes - the result of a rank, as the collective defines it. */
void *
gang_out(const struct gang *gang, uint32_t rank);
uint64_t
gang_out_bytes(const struct gang *gang, uint32_t rank);

/* gang_status - how the run of one rank ended; gang_plan - its plan. */
rondo_status
gang_status(const struct gang *gang, uint32_t rank);
const rondo_plan *
gang_plan(const struct gang *gang, uint32_t rank);

/* gang_whole - small whole numbers, so that no order of operations rounds anything; any
 * bits for integers, which wrap alike in any order. gang_any - numbers that round. */
uint64_t
gang_whole(rondo_dtype dtype, uint32_t rank, uint64_t at);
uint64_t
gang_any(rondo_dtype dtype, uint32_t rank, uint64_t at);

#endif /* LIB_GANG_H */
