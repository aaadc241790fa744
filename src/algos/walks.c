/* walks.c - what several algorithms share: segments, turns of a ring, trees. */
#include "algos/walks.h"

#include "schedule/blocks.h"

uint64_t
rondo_segments(const rondo_coll *coll)
{
    if (coll->segment == 0 || coll->count == 0) {
        return 1;
    }
    return (coll->count - 1) / coll->segment + 1;
}

rondo_slice
rondo_segment(const rondo_coll *coll, rondo_slice vector, uint64_t index)
{
    const uint64_t segments = rondo_segments(coll);

    return rondo_slice_part(vector, rondo_block_first(vector.count, segments, index),
                            rondo_block_count(vector.count, segments, index));
}

void
rondo_lanes_run(const rondo_coll *coll, uint32_t turns, rondo_take_turn take,
                void *context)
{
    const uint64_t segments = rondo_segments(coll);

    for (uint64_t first = 0; first < segments; first += RONDO_LANES) {
        const uint64_t left = segments - first;
        const uint32_t lanes = left < RONDO_LANES ? (uint32_t)left : RONDO_LANES;

        for (uint32_t turn = 0; turn < turns; turn++) {
            for (uint32_t lane = 0; lane < lanes; lane++) {
                take(context, lane, first + lane, turn);
            }
        }
    }
}

rondo_ring
rondo_ring_make(const rondo_coll *coll, rondo_schedule *schedule, uint64_t count,
                uint64_t pieces)
{
    const uint64_t block = rondo_block_count(count, coll->nranks, 0);
    const uint64_t room = coll->nranks > 1 ? rondo_block_count(block, pieces, 0) : 0;
    rondo_ring ring = {.coll = coll, .pieces = pieces};

    for (uint32_t parity = 0; parity < 2; parity++) {
        ring.slot[parity] = rondo_schedule_scratch(schedule, room);
    }
    return ring;
}

rondo_slice
rondo_ring_block(const rondo_ring *ring, rondo_slice vector, uint32_t index)
{
    const uint32_t blocks = ring->coll->nranks;
    const rondo_slice block =
        rondo_slice_part(vector, rondo_block_first(vector.count, blocks, index),
                         rondo_block_count(vector.count, blocks, index));

    return rondo_slice_part(block,
                            rondo_block_first(block.count, ring->pieces, ring->piece),
                            rondo_block_count(block.count, ring->pieces, ring->piece));
}

void
rondo_ring_reduce(const rondo_ring *ring, rondo_schedule *schedule, rondo_slice vector,
                  rondo_slice own, uint32_t turn)
{
    const uint32_t nranks = ring->coll->nranks;
    const uint32_t rank = ring->coll->rank;
    const uint32_t left = rondo_ring_back(rank, 1, nranks);
    const uint32_t right = rondo_ring_back(rank, nranks - 1, nranks);
    const rondo_slice gone =
        rondo_ring_block(ring, vector, rondo_ring_back(left, turn, nranks));
    const rondo_slice mine =
        rondo_ring_block(ring, vector, rondo_ring_back(left, turn + 1, nranks));
    const rondo_slice heard = rondo_slice_part(ring->slot[turn % 2], 0, mine.count);

    if (turn == 0) {
        rondo_schedule_send(schedule, right, gone);
    } else {
        rondo_schedule_send(
            schedule, right,
            rondo_slice_part(ring->slot[(turn - 1) % 2], 0, gone.count));
    }
    rondo_schedule_recv(schedule, left, heard);
    if (turn == nranks - 2) {
        rondo_schedule_reduce_final(schedule, own, heard, mine);
    } else {
        rondo_schedule_reduce(schedule, heard, heard, mine);
    }
}

void
rondo_ring_gather(const rondo_ring *ring, rondo_schedule *schedule, rondo_slice vector,
                  rondo_slice own, uint32_t turn)
{
    const uint32_t nranks = ring->coll->nranks;
    const uint32_t rank = ring->coll->rank;
    const uint32_t given = rondo_ring_back(rank, turn, nranks);
    const uint32_t heard = rondo_ring_back(given, 1, nranks);

    rondo_schedule_send(schedule, rondo_ring_back(rank, nranks - 1, nranks),
                        turn == 0 ? own : rondo_ring_block(ring, vector, given));
    rondo_schedule_recv(schedule, rondo_ring_back(rank, 1, nranks),
                        rondo_ring_block(ring, vector, heard));
}

/* The place of my child number `child`, or nranks if there is none. */
static uint32_t
child_place(const rondo_tree *tree, uint32_t child)
{
    const uint32_t nranks = tree->coll->nranks;
    const uint64_t bit = UINT64_C(1) << child;

    if (tree->place != 0 && bit >= (tree->place & -tree->place)) {
        return nranks;
    }
    return bit < nranks - tree->place ? tree->place + (uint32_t)bit : nranks;
}

static uint32_t
rank_at(const rondo_tree *tree, uint32_t place)
{
    return (uint32_t)(((uint64_t)tree->root + place) % tree->coll->nranks);
}

rondo_tree
rondo_tree_make(const rondo_coll *coll, uint32_t root)
{
    rondo_tree tree = {.coll = coll,
                       .root = root,
                       .place = rondo_ring_back(coll->rank, root, coll->nranks)};

    while (child_place(&tree, tree.children) < coll->nranks) {
        tree.children++;
    }
    return tree;
}

void
rondo_tree_hear(rondo_tree *tree, rondo_schedule *schedule)
{
    const rondo_slice whole = rondo_slice_make(RONDO_BUF_IN, 0, tree->coll->count);
    const uint64_t segments = rondo_segments(tree->coll);

    tree->room = rondo_segment(tree->coll, whole, 0).count;
    for (uint32_t lane = 0; lane < RONDO_LANES && lane < segments; lane++) {
        tree->heard[lane] =
            rondo_schedule_scratch(schedule, tree->children * tree->room);
    }
}

void
rondo_tree_reduce(const rondo_tree *tree, rondo_schedule *schedule, rondo_slice mine,
                  rondo_slice own, uint64_t index)
{
    const bool is_root = tree->place == 0;
    const rondo_slice heard = tree->heard[index % RONDO_LANES];
    /* OUT is the root's alone; elsewhere the first thing heard becomes the sum. */
    const rondo_slice sum =
        is_root ? own : rondo_slice_part(heard, 0, tree->children ? mine.count : 0);

    for (uint32_t child = 0; child < tree->children; child++) {
        const rondo_slice part =
            rondo_slice_part(heard, child * tree->room, mine.count);
        const uint32_t place = child_place(tree, child);

        rondo_schedule_recv(schedule, rank_at(tree, place), part);
        if (is_root && child == tree->children - 1) {
            rondo_schedule_reduce_final(schedule, sum, mine, part);
        } else {
            rondo_schedule_reduce(schedule, sum, mine, part);
        }
        mine = sum;
    }
    if (!is_root) {
        const uint32_t parent = tree->place & (tree->place - 1);

        rondo_schedule_send(schedule, rank_at(tree, parent), mine);
    }
}

void
rondo_tree_spread(const rondo_tree *tree, rondo_schedule *schedule, rondo_slice mine,
                  rondo_slice own)
{
    if (tree->place != 0) {
        const uint32_t parent = tree->place & (tree->place - 1);

        rondo_schedule_recv(schedule, rank_at(tree, parent), own);
        mine = own;
    }
    /* The largest subtree first: it has the longest way to go. */
    for (uint32_t child = tree->children; child-- > 0;) {
        rondo_schedule_send(schedule, rank_at(tree, child_place(tree, child)), mine);
    }
}

rondo_parts
rondo_parts_make(const rondo_coll *coll, rondo_schedule *schedule, rondo_slice mine)
{
    return (rondo_parts){
        .coll = coll,
        .mine = mine,
        .heard = rondo_schedule_scratch(schedule, (coll->nranks - 1) * mine.count)};
}

rondo_slice
rondo_parts_of(const rondo_parts *parts, uint32_t rank)
{
    const uint32_t place = rank < parts->coll->rank ? rank : rank - 1;

    return rank == parts->coll->rank
               ? parts->mine
               : rondo_slice_part(parts->heard, place * parts->mine.count,
                                  parts->mine.count);
}

void
rondo_parts_add(const rondo_parts *parts, rondo_schedule *schedule, rondo_slice out)
{
    const uint32_t last = parts->coll->nranks - 1;
    rondo_slice before = rondo_parts_of(parts, 0);

    if (last == 0) {
        rondo_schedule_copy(schedule, out, before);
        return;
    }
    /* In place OUT holds our own part until its turn has come, so the sum grows in
     * scratch: where rank 0's part, or rank 1's, was heard. */
    const rondo_slice sum = rondo_parts_of(parts, parts->coll->rank == 0 ? 1 : 0);
    for (uint32_t rank = 1; rank < last; rank++) {
        rondo_schedule_reduce(schedule, sum, before, rondo_parts_of(parts, rank));
        before = sum;
    }
    rondo_schedule_reduce_final(schedule, out, before, rondo_parts_of(parts, last));
}
