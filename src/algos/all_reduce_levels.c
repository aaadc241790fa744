/*
 * all_reduce_levels.c - all-reduce over levels: inside hosts, then between them.
 *
 * Shape    Inside each host (and first inside each part of it, if coll->levels tells of
 *          parts) the vectors are summed by coll->inner: into one column per rank where
 *          all groups are equal, at the lowest rank of each otherwise. Then columns, or
 *          the lowest ranks, are all-reduced between hosts by coll->outer, all columns
 *          at once. The results are spread inside on the way back. With segments, one
 *          is between the hosts while the next is summed and the last one spread.
 * Cost     The turns of each phase one behind the other. Between hosts exactly what
 *          coll->outer sends with one rank per host and the whole vector: with a ring
 *          2(hosts-1)/hosts of the vector per host.
 * Use it   whenever several ranks of a host meet those of another.
 * Needs    a commutative operator, unless inner is a tree or one shot, outer is too and
 *          hosts are runs of ranks. A value is rounded as often as in the phases it
 *          goes through together. Each column is summed once on each host, and its
 *          result has the same bits everywhere because that of coll->outer has. An
 *          average divides in the last reduction between hosts, before it rounds, and
 *          nowhere else.
 * Proof    tests/verify/levels.c: 1..64 ranks in many groupings, all inner with all
 *          outer, count 0 included.
 *
 * With one rank per host, or one host without parts, it is coll->outer alone.
 * After the two-level schemes of cluster MPIs; see A. Mamidala, R. Kumar, D. De, D. K.
 * Panda, "MPI collectives on modern multicore clusters", CCGRID 2008.
 */
#include "algos/algos.h"

#include "algos/halves.h"
#include "algos/stages.h"
#include "algos/walks.h"

#define PHASES_MAX (2 * RONDO_STAGES_MAX - 1)

struct run {
    const rondo_coll *coll;
    rondo_schedule *schedule;
    rondo_stages stages;
    uint64_t segments;
    /* What each phase takes, to be used again by the segment after the next. */
    rondo_slice scratch[PHASES_MAX][RONDO_LANES];
};

static void
between(const rondo_coll *coll, rondo_schedule *schedule)
{
    switch (coll->outer) {
    case RONDO_SHAPE_ONE_SHOT:
        rondo_all_reduce_one_shot(coll, schedule);
        break;
    case RONDO_SHAPE_TREE:
        rondo_all_reduce_tree(coll, schedule);
        break;
    case RONDO_SHAPE_HALVING_DOUBLING:
        rondo_all_reduce_halving_doubling(coll, schedule);
        break;
    default:
        rondo_all_reduce_ring(coll, schedule);
        break;
    }
}

/* Partial sums live in OUT; until somebody has been met there is none. */
static rondo_buffer
source_of(const rondo_stages *stages, uint32_t stage)
{
    for (uint32_t at = 0; at < stage; at++) {
        if (stages->at[at].nranks > 1) {
            return RONDO_BUF_OUT;
        }
    }
    return RONDO_BUF_IN;
}

/* Sums go up through the stages, the last of which completes them; then they come down
 * again. */
static void
run_phase(struct run *run, uint32_t phase, uint64_t segment)
{
    const uint32_t last = run->stages.count - 1;
    const uint32_t number = phase <= last ? phase : 2 * last - phase;
    const rondo_stage *const stage = &run->stages.at[number];
    rondo_slice *const scratch = &run->scratch[phase][segment % RONDO_LANES];
    rondo_slice vector = rondo_slice_make(RONDO_BUF_OUT, 0, run->coll->count);

    if (!stage->takes_part || stage->nranks == 1) {
        return;
    }
    /* Between hosts even one segment goes in two, whose turns alternate: there a turn
     * is long. A column may not be cut: it would be one of each piece. */
    const bool cut = phase == last && run->segments > 1;
    vector = rondo_segment(run->coll, vector, segment);
    vector = rondo_stages_extent(&run->stages, number, vector);
    rondo_coll coll = {.kind = RONDO_COLL_ALL_REDUCE,
                       .rank = stage->place,
                       .nranks = stage->nranks,
                       .count = vector.count,
                       .segment = cut ? vector.count / RONDO_LANES + 1 : 0,
                       .inner = run->coll->inner,
                       .outer = run->coll->outer};
    rondo_frame frame = {.ranks = stage->ranks,
                         .stride = stage->stride,
                         .nranks = stage->nranks,
                         .partial = phase < last,
                         .in = vector,
                         .out = vector,
                         .scratch = *scratch};
    if (phase <= last) {
        frame.in.buffer = source_of(&run->stages, number);
    }
    rondo_schedule_enter(run->schedule, &frame);
    if (phase < last) {
        rondo_columns_sum(&coll, run->schedule, stage->columns);
    } else if (phase == last) {
        between(&coll, run->schedule);
    } else {
        rondo_columns_spread(&coll, run->schedule, stage->columns);
    }
    *scratch = rondo_schedule_leave(run->schedule);
}

void
rondo_all_reduce_levels(const rondo_coll *coll, rondo_schedule *schedule)
{
    struct run run = {.coll = coll,
                      .schedule = schedule,
                      .stages = rondo_stages_make(coll),
                      .segments = rondo_segments(coll)};
    const uint32_t phases = 2 * run.stages.count - 1;

    if (phases == 1) {
        between(coll, schedule);
        return;
    }
    /* Messages of a channel go in program order. So what a segment does inside must
     * stand in front of what an earlier one does when it is back, or it would wait for
     * that one's way between the hosts. */
    for (uint64_t turn = 0; turn < run.segments + phases - 1; turn++) {
        for (uint32_t phase = 0; phase < phases; phase++) {
            if (turn >= phase && turn - phase < run.segments) {
                run_phase(&run, phase, turn - phase);
            }
        }
    }
}
