/* stage.h - one rank of three with a schedule made by the test and a puppet for
 * peers. */
#ifndef LIB_STAGE_H
#define LIB_STAGE_H

#include "exec/plan.h"
#include "lib/puppet.h"

#define STAGE_TOKEN 4711
#define STAGE_COUNT 48
#define STAGE_RANKS 3

/* IN holds 0, 1, 2, ...; OUT -1; peer 1 sends 1000, 1001, ..., peer 2 from 100000
 * on. */
struct stage {
    struct puppet puppet;
    rondo_schedule *schedule;
    rondo_plan *plan;
    rondo_transport *routes[STAGE_RANKS];
    rondo_binding binding;
    int32_t in[STAGE_COUNT];
    int32_t out[STAGE_COUNT];
    int32_t peer_out[STAGE_COUNT];
    const void *peer_in[STAGE_RANKS];
    void *peers_out[STAGE_RANKS];
    int32_t wire[2][STAGE_COUNT]; /* what peers send */
};

/* stage_set - an all-reduce of STAGE_COUNT int32 whose schedule is empty so far. */
void
stage_set(struct stage *stage, bool in_place);

/* stage_plan - seal the schedule and make it the plan. */
void
stage_plan(struct stage *stage);

/* stage_start - start the plan; scratch is filled with a pattern. */
void
stage_start(struct stage *stage);

/* stage_scratch_untouched - nothing was written to scratch since then. */
bool
stage_scratch_untouched(const struct stage *stage);

/* stage_give - a piece of `count` elements, from element `first` on, from `peer`. */
void
stage_give(struct stage *stage, uint32_t peer, uint64_t first, uint64_t count,
           bool last);

/* stage_receive_and_reduce - appends: OUT = IN + what peer 1 sends, or the other way
 * round. */
void
stage_receive_and_reduce(struct stage *stage, bool heard_first);

/* stage_in, stage_out - a slice of a buffer. */
rondo_slice
stage_in(uint64_t first, uint64_t count);
rondo_slice
stage_out(uint64_t first, uint64_t count);

#endif /* LIB_STAGE_H */
