/* compile.c - from a schedule to a plan: compact steps, their successors, channels. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "exec/plan.h"

/* Steps of one of these kinds follow one another: sends to a peer, receives from a
 * peer, waits, signals. */
enum { SENDS, RECEIVES, DIRECTIONS };

/* One such row. */
struct chain {
    uint32_t channel; /* 1 + index; 0: none yet */
    uint32_t last;    /* the latest step, 1 + index; 0: none yet */
};

/* What is known while a schedule is compiled. */
struct draft {
    const rondo_schedule *schedule;
    struct chain *pairs; /* by direction and peer */
    struct chain waits;
    struct chain signals;
    uint32_t nchannels;
    bool maps_peers;
};

static struct chain *
chain_of(struct draft *draft, const rondo_step *step)
{
    const uint64_t nranks = draft->schedule->coll.nranks;

    switch (step->kind) {
    case RONDO_STEP_SEND:
        return &draft->pairs[SENDS * nranks + step->peer];
    case RONDO_STEP_RECV:
        return &draft->pairs[RECEIVES * nranks + step->peer];
    case RONDO_STEP_WAIT:
        return &draft->waits;
    case RONDO_STEP_SIGNAL:
        return &draft->signals;
    default:
        return NULL;
    }
}

/* Channels and memories there must be. Signals are given at once, on no channel. */
static void
survey(struct draft *draft)
{
    for (uint64_t index = 0; index < draft->schedule->nsteps; index++) {
        const rondo_step *const step = &draft->schedule->steps[index];
        struct chain *const chain = chain_of(draft, step);

        if (chain != NULL && step->kind != RONDO_STEP_SIGNAL && chain->channel == 0) {
            chain->channel = ++draft->nchannels;
        }
        draft->maps_peers = draft->maps_peers ||
                            (step->to.count > 0 && step->to.owner != RONDO_OWN) ||
                            (step->a.count > 0 && step->a.owner != RONDO_OWN) ||
                            (step->b.count > 0 && step->b.owner != RONDO_OWN);
    }
}

/* --- one block of memory ---------------------------------------------------------- */

static uintptr_t
take(uintptr_t *next, uint64_t count, uint64_t width)
{
    const uintptr_t at = *next;

    /* No overflow: the schedule is in memory with more bytes for each. */
    *next += (count * width + 63) / 64 * 64;
    return at;
}

/* Point the plan's arrays into the block that begins at `next`; returns its end. */
static uintptr_t
carve(rondo_plan *plan, uint64_t nsuccessors, uintptr_t next)
{
    const uint64_t nsteps = plan->nsteps;

    (void)take(&next, 1, sizeof *plan);
    plan->steps = (rondo_plan_step *)take(&next, nsteps + 1, sizeof *plan->steps);
    plan->unmet = (uint32_t *)take(&next, nsteps, sizeof *plan->unmet);
    plan->active = (uint32_t *)take(&next, plan->nchannels, sizeof *plan->active);
    plan->successors = (uint32_t *)take(&next, nsuccessors, sizeof *plan->successors);
    plan->needs = (uint32_t *)take(&next, nsteps, sizeof *plan->needs);
    plan->roots = (uint32_t *)take(&next, nsteps, sizeof *plan->roots);
    plan->channels =
        (rondo_plan_channel *)take(&next, plan->nchannels, sizeof *plan->channels);
    plan->memories = (uintptr_t *)take(&next, plan->nmemories, sizeof *plan->memories);
    plan->ready_words =
        (uint64_t *)take(&next, plan->nready_words, sizeof *plan->ready_words);
    return next;
}

static rondo_status
lay_out(const struct draft *draft, rondo_plan **plan)
{
    const rondo_schedule *const schedule = draft->schedule;
    const uint64_t nsuccessors = schedule->nneeds + schedule->nsteps;
    const uint32_t peer_memories = draft->maps_peers ? 2 * schedule->coll.nranks : 0;
    rondo_plan sizes = {.status = RONDO_OK,
                        .current = RONDO_PLAN_NONE,
                        .failed = RONDO_PLAN_NONE,
                        .nsteps = schedule->nsteps,
                        .nchannels = draft->nchannels,
                        .nmemories = RONDO_PLAN_OWN_MEMORIES + peer_memories,
                        .nready_words = rondo_ready_words(schedule->nsteps + 1),
                        .nranks = schedule->coll.nranks,
                        .rank = schedule->coll.rank,
                        .scratch_count = schedule->scratch_count};
    void *memory = NULL;

    sizes.block_bytes = carve(&sizes, nsuccessors, 0);
    const rondo_status status = rondo_alloc_lines(sizes.block_bytes, 64, &memory);
    if (status != RONDO_OK) {
        return status;
    }
    memset(memory, 0, sizes.block_bytes);
    (void)carve(&sizes, nsuccessors, (uintptr_t)memory);
    rondo_plan *const made = memory;
    *made = sizes;
    rondo_ready_init(&made->ready, made->nsteps + 1, made->ready_words);
    *plan = made;
    return RONDO_OK;
}

/* --- steps ------------------------------------------------------------------------ */

static void
place_slice(rondo_plan *plan, uint64_t index, uint32_t which, const rondo_slice *slice)
{
    rondo_plan_step *const step = &plan->steps[index];
    uint32_t memory = (uint32_t)slice->buffer;

    if (slice->count == 0) {
        return;
    }
    if (slice->owner != RONDO_OWN) {
        memory += RONDO_PLAN_OWN_MEMORIES + 2 * slice->owner;
    }
    plan->uses_in = plan->uses_in || memory == RONDO_BUF_IN;
    plan->uses_out = plan->uses_out || memory == RONDO_BUF_OUT;
    step->first[which] = slice->first;
    step->memory[which] = memory;
    step->count = slice->count;
    if (plan->count_max < slice->first + slice->count) {
        plan->count_max = slice->first + slice->count;
    }
}

static bool
same_slice(const rondo_slice *one, const rondo_slice *other)
{
    return one->buffer == other->buffer && one->owner == other->owner &&
           one->first == other->first && one->count == other->count;
}

static bool
needs_directly(const rondo_schedule *schedule, uint64_t index, uint64_t earlier)
{
    const rondo_step *const step = &schedule->steps[index];

    for (uint64_t at = 0; at < step->needs; at++) {
        if (schedule->needs[step->needs_at + at] == earlier) {
            return true;
        }
    }
    return false;
}

/* The step a receive may be fused with. It must count the receive among its needs:
 * when that is the only one left, everything else it needs is there. */
static uint32_t
reader_of(const rondo_schedule *schedule, uint64_t index)
{
    const rondo_step *const step = &schedule->steps[index];
    const uint64_t reader = step->reader;

    if (step->kind != RONDO_STEP_RECV || reader <= index ||
        reader >= schedule->nsteps || !needs_directly(schedule, reader, index)) {
        return RONDO_PLAN_NONE;
    }
    const rondo_step *const by = &schedule->steps[reader];
    const bool as_a = same_slice(&by->a, &step->to);
    const bool as_b = by->kind == RONDO_STEP_REDUCE && same_slice(&by->b, &step->to);
    if ((by->kind != RONDO_STEP_COPY && by->kind != RONDO_STEP_REDUCE) ||
        as_a == as_b) {
        return RONDO_PLAN_NONE;
    }
    return (uint32_t)reader;
}

static void
compact_step(rondo_plan *plan, struct draft *draft, uint64_t index)
{
    const rondo_step *const from = &draft->schedule->steps[index];
    const struct chain *const chain = chain_of(draft, from);
    rondo_plan_step *const step = &plan->steps[index];

    step->kind = (uint8_t)from->kind;
    step->final = from->final ? RONDO_KERNEL_FINAL : RONDO_KERNEL_PARTIAL;
    step->peer = chain == NULL ? RONDO_PLAN_NONE : from->peer;
    step->count = from->signal;
    place_slice(plan, index, RONDO_PLAN_TO, &from->to);
    place_slice(plan, index, RONDO_PLAN_A, &from->a);
    place_slice(plan, index, RONDO_PLAN_B, &from->b);
    step->reader = reader_of(draft->schedule, index);
    if (step->reader != RONDO_PLAN_NONE) {
        const rondo_step *const reader = &draft->schedule->steps[step->reader];
        step->reader_left = same_slice(&reader->a, &from->to);
    }
    if (chain != NULL && chain->channel != 0) {
        step->channel = chain->channel - 1;
        plan->channels[step->channel].peer = from->peer;
    }
    plan->waits = plan->waits || from->kind == RONDO_STEP_WAIT;
    plan->reduces = plan->reduces || from->kind == RONDO_STEP_REDUCE;
}

/* --- who comes after whom --------------------------------------------------------- */

/* The step before `index` on its chain, 1 + index, unless the schedule says so
 * itself. */
static uint32_t
unsaid_need(struct draft *draft, uint64_t index)
{
    struct chain *const chain = chain_of(draft, &draft->schedule->steps[index]);

    if (chain == NULL) {
        return 0;
    }
    const uint32_t before = chain->last;
    chain->last = (uint32_t)index + 1;
    return before != 0 && needs_directly(draft->schedule, index, before - 1) ? 0
                                                                             : before;
}

static void
count_need(rondo_plan *plan, uint64_t index, uint64_t earlier)
{
    plan->needs[index]++;
    plan->steps[earlier].successors_at++;
}

static void
link_need(rondo_plan *plan, uint64_t index, uint64_t earlier)
{
    plan->successors[--plan->steps[earlier].successors_at] = (uint32_t)index;
}

static void
each_need(rondo_plan *plan, struct draft *draft,
          void (*take_need)(rondo_plan *plan, uint64_t index, uint64_t earlier))
{
    const rondo_schedule *const schedule = draft->schedule;

    for (uint64_t index = schedule->nsteps; index-- > 0;) {
        const rondo_step *const step = &schedule->steps[index];

        for (uint64_t at = 0; at < step->needs; at++) {
            take_need(plan, index, schedule->needs[step->needs_at + at]);
        }
    }
    for (uint64_t index = 0; index < schedule->nsteps; index++) {
        const uint32_t before = unsaid_need(draft, index);

        if (before != 0) {
            take_need(plan, index, before - 1);
        }
    }
}

static void
forget_chains(struct draft *draft)
{
    draft->waits.last = 0;
    draft->signals.last = 0;
    for (uint64_t pair = 0; pair < DIRECTIONS * draft->schedule->coll.nranks; pair++) {
        draft->pairs[pair].last = 0;
    }
}

/* Count every step's successors, give each its part of the array, fill it from behind:
 * then `successors_at` has come down to where the part begins. */
static void
link_steps(rondo_plan *plan, struct draft *draft)
{
    uint32_t end = 0;

    each_need(plan, draft, count_need);
    forget_chains(draft);
    for (uint64_t index = 0; index <= plan->nsteps; index++) {
        end += plan->steps[index].successors_at;
        plan->steps[index].successors_at = end;
    }
    each_need(plan, draft, link_need);
    for (uint64_t index = 0; index < plan->nsteps; index++) {
        if (plan->needs[index] == 0) {
            plan->roots[plan->nroots++] = (uint32_t)index;
        }
    }
}

rondo_status
rondo_plan_compile(const rondo_schedule *schedule, rondo_plan **plan)
{
    struct draft draft = {.schedule = schedule};
    rondo_plan *made = NULL;
    void *pairs = NULL;
    rondo_status status = rondo_plan_check(schedule);

    if (status == RONDO_OK) {
        status = rondo_alloc_zero(DIRECTIONS * (uint64_t)schedule->coll.nranks *
                                      sizeof(struct chain),
                                  &pairs);
    }
    if (status != RONDO_OK) {
        return status;
    }
    draft.pairs = pairs;
    survey(&draft);
    status = lay_out(&draft, &made);
    if (status == RONDO_OK) {
        for (uint64_t index = 0; index < schedule->nsteps; index++) {
            compact_step(made, &draft, index);
        }
        made->steps[made->nsteps].peer = RONDO_PLAN_NONE;
        link_steps(made, &draft);
        *plan = made;
    }
    rondo_free(pairs);
    return status;
}
