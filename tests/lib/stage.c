/* stage.c - sets the stage for one rank. */
#include "lib/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

rondo_slice
stage_in(uint64_t first, uint64_t count)
{
    return rondo_slice_make(RONDO_BUF_IN, first, count);
}

rondo_slice
stage_out(uint64_t first, uint64_t count)
{
    return rondo_slice_make(RONDO_BUF_OUT, first, count);
}

void
stage_set(struct stage *stage, bool in_place)
{
    const rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE,
                             .rank = 0,
                             .nranks = STAGE_RANKS,
                             .count = STAGE_COUNT,
                             .in_place = in_place};

    memset(stage, 0, sizeof *stage);
    puppet_init(&stage->puppet);
    assert_int_equal(rondo_schedule_create(&coll, &stage->schedule), RONDO_OK);
    for (uint32_t peer = 0; peer < STAGE_RANKS; peer++) {
        stage->routes[peer] = peer == 0 ? NULL : &stage->puppet.transport;
        stage->peer_in[peer] = stage->wire[0];
        stage->peers_out[peer] = stage->peer_out;
    }
    for (int32_t at = 0; at < STAGE_COUNT; at++) {
        stage->in[at] = at;
        stage->out[at] = -1;
        stage->wire[0][at] = 1000 + at;
        stage->wire[1][at] = 100000 + at;
    }
    stage->binding = (rondo_binding){.routes = stage->routes,
                                     .lane = RONDO_LANE_COLL,
                                     .token = STAGE_TOKEN,
                                     .dtype = RONDO_INT32,
                                     .op = RONDO_SUM,
                                     .in = in_place ? stage->out : stage->in,
                                     .out = stage->out,
                                     .peer_in = stage->peer_in,
                                     .peer_out = stage->peers_out,
                                     .signal_base = 50};
}

void
stage_plan(struct stage *stage)
{
    assert_int_equal(rondo_schedule_seal(stage->schedule), RONDO_OK);
    assert_int_equal(rondo_plan_create(stage->schedule, &stage->plan), RONDO_OK);
}

void
stage_start(struct stage *stage)
{
    if (stage->plan == NULL) {
        stage_plan(stage);
    }
    assert_int_equal(rondo_plan_start(stage->plan, &stage->binding), RONDO_OK);
    if (stage->plan->scratch != NULL) {
        memset(stage->plan->scratch, 0x5A, stage->plan->scratch_bytes);
    }
}

bool
stage_scratch_untouched(const struct stage *stage)
{
    const unsigned char *const scratch = stage->plan->scratch;

    for (uint64_t at = 0; at < stage->plan->scratch_bytes; at++) {
        if (scratch[at] != 0x5A) {
            return false;
        }
    }
    return true;
}

void
stage_give(struct stage *stage, uint32_t peer, uint64_t first, uint64_t count,
           bool last)
{
    puppet_give(&stage->puppet, peer,
                (rondo_incoming){.data = &stage->wire[peer - 1][first],
                                 .bytes = count * sizeof(int32_t),
                                 .token = STAGE_TOKEN,
                                 .last = last});
}

void
stage_receive_and_reduce(struct stage *stage, bool heard_first)
{
    const rondo_slice heard = rondo_schedule_scratch(stage->schedule, STAGE_COUNT);
    const rondo_slice mine = stage_in(0, STAGE_COUNT);

    rondo_schedule_recv(stage->schedule, 1, heard);
    rondo_schedule_reduce_final(stage->schedule, stage_out(0, STAGE_COUNT),
                                heard_first ? heard : mine, heard_first ? mine : heard);
}
