/* halving.c - halving and doubling: its turns, in two halves. */
#include "algos/halves.h"

#include "algos/walks.h"
#include "schedule/blocks.h"

/* One segment on its way. */
struct walk {
    const rondo_coll *coll;
    rondo_schedule *schedule;
    uint32_t halvings, power; /* log2 p, and p */
    uint32_t first;           /* turn: those before are another's */
    bool serves;              /* there is a rank p above me */
    rondo_slice in, out;      /* the segment of both */
    rondo_slice heard;        /* scratch: what others send */
};

/* What `rank` has of `vector` when `width` neighbours have all of it between them. */
static rondo_slice
share(const struct walk *walk, rondo_slice vector, uint32_t rank, uint32_t width)
{
    const uint32_t block = rank & ~(width - 1);
    const uint64_t first = rondo_block_first(vector.count, walk->power, block);
    const uint64_t end = rondo_block_first(vector.count, walk->power, block + width);

    return rondo_slice_part(vector, first, end - first);
}

static void
fold(const struct walk *walk)
{
    const uint32_t rank = walk->coll->rank;

    if (walk->serves) {
        const rondo_slice heard = rondo_slice_part(walk->heard, 0, walk->in.count);

        rondo_schedule_recv(walk->schedule, rank + walk->power, heard);
        rondo_schedule_reduce(walk->schedule, walk->out, walk->in, heard);
    } else if (rank >= walk->power) {
        rondo_schedule_send(walk->schedule, rank - walk->power, walk->in);
    }
}

static void
unfold(const struct walk *walk)
{
    const uint32_t rank = walk->coll->rank;

    if (walk->serves) {
        rondo_schedule_send(walk->schedule, rank + walk->power, walk->out);
    } else if (rank >= walk->power) {
        rondo_schedule_recv(walk->schedule, rank - walk->power, walk->out);
    }
}

/* Exchange halves with the partner `away`, and add. */
static void
halve(const struct walk *walk, uint32_t away)
{
    const uint32_t rank = walk->coll->rank;
    const bool untouched = away == walk->power / 2 && !walk->serves;
    const rondo_slice have = untouched ? walk->in : walk->out;
    const rondo_slice sum = share(walk, walk->out, rank, away);
    const rondo_slice mine = share(walk, have, rank, away);
    const uint64_t longest = rondo_block_count(have.count, walk->power, 0);
    const rondo_slice heard =
        rondo_slice_part(walk->heard, (walk->power - 2 * away) * longest, mine.count);
    /* The lower rank's operand is the left one, whoever computes. */
    const rondo_slice left = (rank & away) == 0 ? mine : heard;
    const rondo_slice right = (rank & away) == 0 ? heard : mine;

    rondo_schedule_send(walk->schedule, rank ^ away,
                        share(walk, have, rank ^ away, away));
    rondo_schedule_recv(walk->schedule, rank ^ away, heard);
    if (away == 1) {
        rondo_schedule_reduce_final(walk->schedule, sum, left, right);
    } else {
        rondo_schedule_reduce(walk->schedule, sum, left, right);
    }
}

/* Turn 0 folds, then come the halvings, then the doublings, the last turn unfolds. */
static void
take_turn(void *context, uint32_t lane, uint64_t segment, uint32_t turn)
{
    struct walk *const walk = (struct walk *)context + lane;
    const uint32_t rank = walk->coll->rank;

    turn += walk->first;
    walk->in = rondo_slice_make(RONDO_BUF_IN, 0, walk->coll->count);
    walk->in = rondo_segment(walk->coll, walk->in, segment);
    walk->out = rondo_slice_make(RONDO_BUF_OUT, walk->in.first, walk->in.count);
    if (turn == 0) {
        fold(walk);
    } else if (turn > 2 * walk->halvings) {
        unfold(walk);
    } else if (rank < walk->power && turn <= walk->halvings) {
        halve(walk, walk->power >> turn);
    } else if (rank < walk->power) {
        const uint32_t away = 1U << (turn - walk->halvings - 1);
        const rondo_slice mine = share(walk, walk->out, rank, away);
        const rondo_slice theirs = share(walk, walk->out, rank ^ away, away);

        rondo_schedule_send(walk->schedule, rank ^ away, mine);
        rondo_schedule_recv(walk->schedule, rank ^ away, theirs);
    }
}

void
rondo_halving_halves(const rondo_coll *coll, rondo_schedule *schedule,
                     rondo_halves halves)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const uint64_t longest = rondo_segment(coll, in, 0).count;
    const uint32_t halvings = 31 - (uint32_t)__builtin_clz(coll->nranks);
    const uint32_t power = 1U << halvings;
    const bool sums = halves != RONDO_HALVES_SPREAD;
    const bool hears = sums && coll->rank < power;
    const uint64_t room = hears ? power * rondo_block_count(longest, power, 0) : 0;
    struct walk lanes[RONDO_LANES];

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, rondo_slice_make(RONDO_BUF_OUT, 0, coll->count),
                            in);
        return;
    }
    for (uint32_t lane = 0; lane < RONDO_LANES && lane < rondo_segments(coll); lane++) {
        lanes[lane] = (struct walk){.coll = coll,
                                    .schedule = schedule,
                                    .halvings = halvings,
                                    .power = power,
                                    .first = sums ? 0 : halvings + 1,
                                    .serves = coll->rank < coll->nranks - power,
                                    .heard = rondo_schedule_scratch(schedule, room)};
    }
    rondo_lanes_run(coll, (halves == RONDO_HALVES_BOTH ? 2 : 1) * (halvings + 1),
                    take_turn, lanes);
}
