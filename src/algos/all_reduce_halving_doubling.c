/*
 * all_reduce_halving_doubling.c - all-reduce by halving and doubling, any rank count.
 *
 * Shape    With p the largest power of two up to nranks, ranks p and above first give
 *          their vector to the rank p below. Then, log2 p times, each of the p ranks
 *          sends half of what it has to a partner, half as far away each time, and adds
 *          the other half it hears; so rank r completes block r of p. The blocks return
 *          the same way, doubling; ranks p and above get the result last. With segments
 *          two at a time take their turns alternately.
 * Cost     2 log2 p turns, 2 more unless nranks is p; every one of the p ranks sends
 *          2(p-1)/p of the vector, one more vector where it serves a rank above.
 * Use it   for middle sizes and many ranks; best for powers of two.
 * Needs    an operator that commutes. A value is rounded log2 p times, once more in
 *          front unless nranks is p: every element is summed by the same tree over the
 *          ranks, wherever it lies, and one rank computes it, so all have its bits. An
 *          average divides in the last halving, before it rounds.
 * Proof    tests/verify: every rank count 1..64, count 0 included.
 *
 * After R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
 */
#include "algos/algos.h"

#include "algos/walks.h"
#include "schedule/blocks.h"

/* One segment on its way. */
struct walk {
    const rondo_coll *coll;
    rondo_schedule *schedule;
    uint32_t power;     /* p */
    bool serves;        /* there is a rank p above me */
    rondo_slice in;     /* the segment of IN */
    rondo_slice out;    /* and of OUT */
    rondo_slice heard;  /* scratch: what partners send */
    rondo_slice folded; /* scratch: the vector of the rank p above */
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
        const rondo_slice heard = rondo_slice_part(walk->folded, 0, walk->in.count);

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
    const bool lower = (rank & away) == 0;

    rondo_schedule_send(walk->schedule, rank ^ away,
                        share(walk, have, rank ^ away, away));
    rondo_schedule_recv(walk->schedule, rank ^ away, heard);
    if (away == 1) {
        rondo_schedule_reduce_final(walk->schedule, sum, lower ? mine : heard,
                                    lower ? heard : mine);
    } else {
        rondo_schedule_reduce(walk->schedule, sum, lower ? mine : heard,
                              lower ? heard : mine);
    }
}

/* Turn 0 folds, then come the halvings, then the doublings, the last turn unfolds. */
static void
take_turn(const struct walk *walk, uint32_t halvings, uint32_t turn)
{
    const uint32_t rank = walk->coll->rank;

    if (turn == 0) {
        fold(walk);
    } else if (turn > 2 * halvings) {
        unfold(walk);
    } else if (rank < walk->power && turn <= halvings) {
        halve(walk, walk->power >> turn);
    } else if (rank < walk->power) {
        const uint32_t away = 1U << (turn - halvings - 1);

        rondo_schedule_send(walk->schedule, rank ^ away,
                            share(walk, walk->out, rank, away));
        rondo_schedule_recv(walk->schedule, rank ^ away,
                            share(walk, walk->out, rank ^ away, away));
    }
}

void
rondo_all_reduce_halving_doubling(const rondo_coll *coll, rondo_schedule *schedule)
{
    const rondo_slice in = rondo_slice_make(RONDO_BUF_IN, 0, coll->count);
    const rondo_slice out = rondo_slice_make(RONDO_BUF_OUT, 0, coll->count);
    const uint64_t segments = rondo_segments(coll);
    const uint64_t longest = rondo_segment(coll, in, 0).count;
    const uint32_t halvings = 31 - (uint32_t)__builtin_clz(coll->nranks);
    const uint32_t power = 1U << halvings;
    const uint64_t room = rondo_block_count(longest, power, 0) * (power - 1);
    struct walk lanes[RONDO_LANES] = {0};

    if (coll->nranks == 1) {
        rondo_schedule_copy(schedule, out, in);
        return;
    }
    for (uint32_t lane = 0; lane < RONDO_LANES && lane < segments; lane++) {
        struct walk *const walk = &lanes[lane];

        walk->coll = coll;
        walk->schedule = schedule;
        walk->power = power;
        walk->serves = coll->rank < coll->nranks - power;
        walk->heard = rondo_schedule_scratch(schedule, coll->rank < power ? room : 0);
        walk->folded = rondo_schedule_scratch(schedule, walk->serves ? longest : 0);
    }
    for (uint64_t first = 0; first < segments; first += RONDO_LANES) {
        for (uint32_t turn = 0; turn <= 2 * halvings + 1; turn++) {
            for (uint32_t lane = 0; lane < RONDO_LANES && first + lane < segments;
                 lane++) {
                lanes[lane].in = rondo_segment(coll, in, first + lane);
                lanes[lane].out = rondo_segment(coll, out, first + lane);
                take_turn(&lanes[lane], halvings, turn);
            }
        }
    }
}
