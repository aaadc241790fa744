/* plan.c - a plan's life, and what it tells about itself. */
#include "exec/plan.h"

#include "base/alloc.h"

rondo_status
rondo_plan_create(rondo_schedule *schedule, rondo_plan **plan)
{
    const rondo_status status = rondo_plan_compile(schedule, plan);

    /* The plan holds all there is to know, in less memory. */
    if (status == RONDO_OK) {
        rondo_schedule_destroy(schedule);
    }
    return status;
}

void
rondo_plan_destroy(rondo_plan *plan)
{
    if (plan != NULL) {
        rondo_free(plan->scratch);
        rondo_free(plan);
    }
}

uint64_t
rondo_plan_bytes(const rondo_plan *plan)
{
    return plan->block_bytes + plan->scratch_bytes;
}

uint64_t
rondo_plan_moves(const rondo_plan *plan)
{
    return plan->moves;
}

void
rondo_plan_standing(const rondo_plan *plan, rondo_standing *standing)
{
    uint64_t step = plan->failed;

    if (plan->failed == RONDO_PLAN_NONE) {
        step = plan->status == RONDO_OK ? plan->nsteps : 0;
        while (step < plan->nsteps && plan->unmet[step] == RONDO_PLAN_DONE) {
            step++;
        }
    }
    /* Behind the last step lies one that waits for nobody. */
    *standing = (rondo_standing){.step = step,
                                 .nsteps = plan->nsteps,
                                 .peer = plan->steps[step].peer,
                                 .kind = (rondo_step_kind)plan->steps[step].kind,
                                 .token_found = plan->token_found};
}
